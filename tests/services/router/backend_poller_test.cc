#include "services/router/backend_poller.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch.hpp"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Keeps every call until the test answers it.
class HeldAdmin : public AdminClient {
 public:
  using AdminClient::GetStatus;
  void GetStatus(const CallContext& call, StatusRequest, Done<ServerStatus> done) override {
    std::lock_guard<std::mutex> lock(mutex_);
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
  std::vector<absl::Time> deadlines() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return deadlines_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Done<ServerStatus>> held_;  // guarded by mutex_
  std::vector<absl::Time> deadlines_;     // guarded by mutex_
};

// Reports come in the thread that answers, so the tests need no lock.
struct Rig {
  Rig() {
    poller = std::make_unique<BackendPoller>(
        std::map<std::string, std::shared_ptr<AdminClient>>{{"a", a}, {"b", b}},
        absl::Milliseconds(500), absl::Milliseconds(200), &clock,
        [this](const std::string& address, absl::StatusOr<ServerStatus> status) {
          reports.emplace_back(address, status.ok() ? status->service : "failed");
        });
  }

  FakeClock clock;
  const std::shared_ptr<HeldAdmin> a = std::make_shared<HeldAdmin>();
  const std::shared_ptr<HeldAdmin> b = std::make_shared<HeldAdmin>();
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
