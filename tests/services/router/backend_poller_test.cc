#include "services/router/backend_poller.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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
    std::lock_guard<std::mutex> lock(mutex_);
    routers_.push_back(request.router);
    deadlines_.push_back(call.deadline());
    held_.push_back(std::move(done));
    changed_.notify_all();
  }

  // Blocks until call number `count` has come.
  void AwaitCalls(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return deadlines_.size() >= count; });
  }
  void AnswerOldest(absl::StatusOr<ServerStatus> status) { Answer(0, std::move(status)); }
  // Answers the one that came after `older` others which are not answered yet.
  void Answer(size_t older, absl::StatusOr<ServerStatus> status) {
    Done<ServerStatus> done;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done = std::move(held_.at(older));
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(older));
    }
    done(std::move(status));
  }
  std::vector<std::string> routers() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return routers_;
  }
  std::vector<absl::Time> deadlines() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return deadlines_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Done<ServerStatus>> held_;  // guarded by mutex_
  std::vector<absl::Time> deadlines_;     // guarded by mutex_
  std::vector<std::string> routers_;      // guarded by mutex_
};

// Reports come in the thread that answers, so the tests need no lock.
struct Rig {
  Rig() {
    BackendPollerOptions options;
    options.interval = absl::Milliseconds(500);
    options.timeout = absl::Milliseconds(200);
    options.make_client = [this](const std::string& address) {
      ++made;
      return address == "a" ? a : b;
    };
    options.request = [](const std::string& address) {
      StatusRequest request;
      request.router = "asks " + address;
      return request;
    };
    options.report = [this](const std::string& address, absl::StatusOr<ServerStatus> status) {
      reports.emplace_back(address, status.ok() ? status->service : "failed");
    };
    poller = std::make_unique<BackendPoller>(std::vector<std::string>{"a", "b"}, std::move(options),
                                             &clock);
  }

  FakeClock clock;
  const std::shared_ptr<HeldAdmin> a = std::make_shared<HeldAdmin>();
  const std::shared_ptr<HeldAdmin> b = std::make_shared<HeldAdmin>();
  int made = 0;  // clients
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

TEST_CASE("a round begins every interval, even if nobody has answered the last") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Milliseconds(499));
  rig.clock.AwaitSleepers(1);
  CHECK(rig.a->deadlines().size() == 1);
  rig.clock.Advance(absl::Milliseconds(1));
  rig.a->AwaitCalls(2);
  rig.b->AwaitCalls(2);
  CHECK(rig.a->deadlines()[1] == rig.clock.Now() + absl::Milliseconds(200));
}

TEST_CASE("an answer that a newer one has overtaken is dropped") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Milliseconds(500));
  rig.a->AwaitCalls(2);
  rig.a->Answer(1, Named("newer"));
  rig.a->AnswerOldest(Named("older"));
  CHECK(rig.reports == std::vector<std::pair<std::string, std::string>>{{"a", "newer"}});
}

TEST_CASE("each backend gets the request that is meant for it") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  CHECK(rig.a->routers() == std::vector<std::string>{"asks a"});
  CHECK(rig.b->routers() == std::vector<std::string>{"asks b"});
}

TEST_CASE("new backends are asked at once, and those that are gone not heard") {
  Rig rig;
  rig.a->AwaitCalls(1);
  rig.b->AwaitCalls(1);
  rig.clock.AwaitSleepers(1);
  rig.poller->SetAddresses({"b"});
  rig.b->AwaitCalls(2);
  rig.a->AnswerOldest(Named("gone"));
  CHECK(rig.reports.empty());
  rig.b->AnswerOldest(Named("from before"));
  CHECK(rig.reports == std::vector<std::pair<std::string, std::string>>{{"b", "from before"}});
  CHECK(rig.a->deadlines().size() == 1);
  CHECK(rig.made == 2);  // the client of one that stays is kept
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
