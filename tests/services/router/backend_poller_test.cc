#include "services/router/backend_poller.h"
#include "common/base/mutex.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Keeps every call until the test answers it.
class HeldAdmin : public AdminClient {
 public:
  using AdminClient::GetStatus;
  void GetStatus(const CallContext& call, StatusRequest request, Done<ServerStatus> done) override {
    MutexLock lock(mutex_);
    routers_.push_back(request.router);
    deadlines_.push_back(call.deadline());
    held_.push_back(std::move(done));
    changed_.NotifyAll();
  }

  // Blocks until call number `count` has come.
  void AwaitCalls(size_t count) {
    MutexLock lock(mutex_);
    while (deadlines_.size() < count) changed_.Wait(mutex_);
  }
  void AnswerOldest(absl::StatusOr<ServerStatus> status) { Answer(0, std::move(status)); }
  // Answers the one that came after `older` others which are not answered yet.
  void Answer(size_t older, absl::StatusOr<ServerStatus> status) {
    Done<ServerStatus> done;
    {
      MutexLock lock(mutex_);
      done = std::move(held_.at(older));
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(older));
    }
    done(std::move(status));
  }
  std::vector<std::string> routers() const {
    MutexLock lock(mutex_);
    return routers_;
  }
  std::vector<absl::Time> deadlines() const {
    MutexLock lock(mutex_);
    return deadlines_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Done<ServerStatus>> held_ GUARDED_BY(mutex_);
  std::vector<absl::Time> deadlines_ GUARDED_BY(mutex_);
  std::vector<std::string> routers_ GUARDED_BY(mutex_);
};

// Reports come in the thread that answers, so the tests need no lock.
struct Rig {
  explicit Rig(const std::vector<std::string>& addresses = {"a", "b"}) {
    BackendPollerOptions options;
    options.interval = absl::Milliseconds(500);
    options.timeout = absl::Milliseconds(200);
    options.make_client = [this](const std::string& address) {
      ++made;
      return address == "a" ? a : b;
    };
    options.request = [this](const std::string& address) {
      if (while_asked) while_asked();
      StatusRequest request;
      request.router = "asks " + address;
      return request;
    };
    options.report = [this](const std::string& address, absl::StatusOr<ServerStatus> status) {
      reports.emplace_back(address, status.ok() ? status->service : "failed");
    };
    poller = std::make_unique<BackendPoller>(addresses, std::move(options), &clock);
  }

  FakeClock clock;
  const std::shared_ptr<HeldAdmin> a = std::make_shared<HeldAdmin>();
  const std::shared_ptr<HeldAdmin> b = std::make_shared<HeldAdmin>();
  int made = 0;                       // clients
  std::function<void()> while_asked;  // set while the poller sleeps
  std::vector<std::pair<std::string, std::string>> reports;
  std::unique_ptr<BackendPoller> poller;
};

ServerStatus Named(const std::string& service) {
  ServerStatus status;
  status.service = service;
  return status;
}

TEST_CASE("all backends are asked at once, without waiting for one another") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  CHECK(rig.b->deadlines()[0] == rig.clock.Now() + absl::Milliseconds(200));
  rig.b->AnswerOldest(Named("reranker"));
  rig.a->AnswerOldest(absl::UnavailableError("down"));
  CHECK(rig.reports ==
        std::vector<std::pair<std::string, std::string>>{{"b", "reranker"}, {"a", "failed"}});
}

TEST_CASE("each backend is asked every interval, give or take a tenth") {
  Rig rig;
  for (size_t poll = 1; poll < 20; ++poll) {
    rig.a->AwaitCalls(poll);
    rig.b->AwaitCalls(poll);
    rig.a->AnswerOldest(Named("reranker"));
    rig.b->AnswerOldest(Named("reranker"));
    rig.clock.Advance(absl::Milliseconds(449));
    CHECK(rig.a->deadlines().size() == poll);
    rig.clock.Advance(absl::Milliseconds(102));
  }
}

TEST_CASE("backends that began together are not asked together for ever") {
  Rig rig;
  size_t apart = 0;
  for (size_t poll = 1; poll < 20; ++poll) {
    rig.a->AwaitCalls(poll);
    rig.b->AwaitCalls(poll);
    apart += rig.a->deadlines()[poll - 1] != rig.b->deadlines()[poll - 1] ? 1 : 0;
    rig.a->AnswerOldest(Named("reranker"));
    rig.b->AnswerOldest(Named("reranker"));
    rig.clock.AwaitSleepers(1);
    const size_t seen = poll + 1;
    while (rig.a->deadlines().size() < seen || rig.b->deadlines().size() < seen) {
      rig.clock.Advance(absl::Milliseconds(1));
      std::this_thread::yield();
    }
  }
  CHECK(apart > 10);
}

TEST_CASE("the time that one takes to answer is not taken from another") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.b->AnswerOldest(Named("reranker"));
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Milliseconds(551));
  // a hangs, and b is asked all the same, with all the time it may take.
  rig.b->AwaitCalls(2);
  CHECK(rig.b->deadlines()[1] == rig.clock.Now() + absl::Milliseconds(200));
  CHECK(rig.a->deadlines().size() == 1);
  // As soon as it has failed it is asked again, for its next poll is due.
  rig.a->AnswerOldest(absl::DeadlineExceededError("late"));
  rig.a->AwaitCalls(2);
  CHECK(rig.a->deadlines()[1] == rig.clock.Now() + absl::Milliseconds(200));
}

TEST_CASE("each deadline begins when its own backend is asked") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.a->AnswerOldest(Named("reranker"));
  rig.b->AnswerOldest(Named("reranker"));
  rig.clock.AwaitSleepers(1);
  rig.while_asked = [&] { rig.clock.Advance(absl::Milliseconds(150)); };
  rig.clock.Advance(absl::Milliseconds(551));
  rig.a->AwaitCalls(2);
  rig.b->AwaitCalls(2);
  CHECK(absl::AbsDuration(rig.a->deadlines()[1] - rig.b->deadlines()[1]) ==
        absl::Milliseconds(150));
}

TEST_CASE("each backend gets the request that is meant for it") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  CHECK(rig.a->routers() == std::vector<std::string>{"asks a"});
  CHECK(rig.b->routers() == std::vector<std::string>{"asks b"});
}

TEST_CASE("new backends are asked at once, those that stay when it is time, others are not heard") {
  Rig rig({"a"});
  rig.a->AwaitCalls(1);
  rig.poller->SetAddresses({"a", "b"});
  rig.b->AwaitCalls(1);
  CHECK(rig.a->deadlines().size() == 1);
  CHECK(rig.made == 2);  // the client of one that stays is kept
  rig.poller->SetAddresses({"b"});
  rig.a->AnswerOldest(Named("gone"));
  CHECK(rig.reports.empty());
  rig.b->AnswerOldest(Named("from before"));
  CHECK(rig.reports == std::vector<std::pair<std::string, std::string>>{{"b", "from before"}});
  // One that is back is another: what it was asked before it left is not heard.
  rig.poller->SetAddresses({"a", "b"});
  rig.a->AwaitCalls(2);
  CHECK(rig.made == 3);
}

TEST_CASE("who is known to have changed is asked before its time, but not again and again") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.poller->PollSoon("a");  // it is being asked
  rig.poller->PollSoon("nobody");
  rig.a->AnswerOldest(Named("reranker"));
  rig.b->AnswerOldest(Named("reranker"));
  rig.clock.AwaitSleepers(1);
  rig.poller->PollSoon("a");  // it has just been asked
  rig.clock.Advance(BackendPoller::kSoonest);
  CHECK(rig.a->deadlines().size() == 1);
  rig.poller->PollSoon("a");
  rig.a->AwaitCalls(2);
  CHECK(rig.b->deadlines().size() == 1);
  rig.a->AnswerOldest(Named("reranker"));
  CHECK(rig.reports.size() == 3);
}

TEST_CASE("what a backend was asked before it left is not heard when it is back") {
  Rig rig({"a"});
  rig.a->AwaitCalls(1);
  rig.poller->SetAddresses({});
  rig.poller->SetAddresses({"a"});
  rig.a->AwaitCalls(2);
  rig.a->AnswerOldest(Named("before"));
  CHECK(rig.reports.empty());
  rig.a->AnswerOldest(Named("after"));
  CHECK(rig.reports == std::vector<std::pair<std::string, std::string>>{{"a", "after"}});
}

TEST_CASE("answers that come when the poller is gone find nobody") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.a->AnswerOldest(Named("reranker"));
  rig.poller.reset();
  rig.b->AnswerOldest(Named("late"));
  CHECK(rig.reports.size() == 1);
}

}  // namespace
}  // namespace sightline
