#include "loadtest/faults/fault_schedule.h"
#include "common/base/mutex.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Catch::Contains;

// Writes down what is asked for and when; says no to what begins with `refused`.
class FakeActions : public FaultActions {
 public:
  FakeActions(Clock* clock, absl::Time start) : clock_(clock), start_(start) {}

  absl::Status Do(const FaultSpec& fault) override {
    return Take({"kill", "pause", "delay", "publish"}, fault, fault.delay);
  }
  absl::Status Undo(const FaultSpec& fault) override {
    return Take({"start", "continue", "delay", "served"}, fault, absl::ZeroDuration());
  }
  absl::Status Check(const std::string& target) override { return Take("check " + target); }

  void Refuse(const std::string& refused) {
    MutexLock lock(mutex_);
    refused_ = refused;
  }

  // Blocks until so many things were asked for; returns them all.
  std::vector<std::string> Await(size_t count) {
    MutexLock lock(mutex_);
    while (taken_.size() < count) changed_.Wait(mutex_);
    return taken_;
  }

 private:
  // `words` are those of each kind.
  absl::Status Take(const std::vector<std::string>& words, const FaultSpec& fault,
                    absl::Duration delay) {
    const std::string what = words[static_cast<int>(fault.kind)] + " " + fault.target;
    if (fault.kind != FaultKind::kDelay) return Take(what);
    return Take(absl::StrCat(what, " ", absl::FormatDuration(delay)));
  }
  absl::Status Take(const std::string& what) {
    MutexLock lock(mutex_);
    taken_.push_back(absl::StrCat(absl::FormatDuration(clock_->Now() - start_), " ", what));
    changed_.NotifyAll();
    if (refused_.empty() || !absl::StartsWith(what, refused_)) return absl::OkStatus();
    return absl::UnavailableError("not today");
  }

  Clock* const clock_;
  const absl::Time start_;
  Mutex mutex_;
  CondVar changed_;
  std::string refused_ GUARDED_BY(mutex_);
  std::vector<std::string> taken_ GUARDED_BY(mutex_);
};

FaultSpec Fault(FaultKind kind, const std::string& target, int at, int lasting) {
  FaultSpec fault;
  fault.kind = kind;
  fault.target = target;
  fault.at = absl::Seconds(at);
  fault.lasting = absl::Seconds(lasting);
  return fault;
}

constexpr absl::Duration kWarmUp = absl::Seconds(5);

// A schedule on a clock that the test moves.
struct Rig {
  explicit Rig(std::vector<FaultSpec> faults, const std::string& refused = "") {
    actions.Refuse(refused);
    schedule.emplace(std::move(faults), start, kWarmUp, &actions, &clock);
  }
  // Moves the clock once the schedule waits.
  void AdvanceTo(int seconds) {
    clock.AwaitSleepers(1);
    clock.SetTime(start + absl::Seconds(seconds));
  }

  FakeClock clock;
  const absl::Time start = clock.Now();
  FakeActions actions{&clock, start};
  absl::optional<FaultSchedule> schedule;
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("each fault is done and undone at its time after the warm-up") {
  FaultSpec delay = Fault(FaultKind::kDelay, "query_encoder/1", 30, 5);
  delay.delay = absl::Milliseconds(50);
  Rig rig({delay, Fault(FaultKind::kKill, "reranker", 10, 4),
           Fault(FaultKind::kPause, "index_search/0", 20, 2)});
  Strings expected;
  const std::vector<std::pair<int, std::string>> steps = {{15, "15s kill reranker"},
                                                          {19, "19s start reranker"},
                                                          {25, "25s pause index_search/0"},
                                                          {27, "27s continue index_search/0"},
                                                          {35, "35s delay query_encoder/1 50ms"},
                                                          {40, "40s delay query_encoder/1 0"}};
  for (const auto& [second, what] : steps) {
    rig.AdvanceTo(second - 1);  // nothing is early
    rig.AdvanceTo(second);
    expected.push_back(what);
    REQUIRE(rig.actions.Await(expected.size()) == expected);
  }
  const std::vector<FaultMark> marks = rig.schedule->Finish();
  REQUIRE(marks.size() == 3);
  REQUIRE(marks[0].name == "delay query_encoder/1 by 50ms");
  REQUIRE(marks[0].at == absl::Seconds(35));
  REQUIRE(marks[0].ended == absl::Seconds(40));
  REQUIRE(marks[1].name == "kill reranker");
  REQUIRE(marks[1].at == absl::Seconds(15));
  REQUIRE(marks[1].ended == absl::Seconds(19));
  REQUIRE(marks[2].name == "pause index_search/0");
  for (const FaultMark& mark : marks) {
    REQUIRE(mark.failed_expectations.empty());
    REQUIRE(mark.whole_again == absl::InfiniteDuration());
  }
}

TEST_CASE("a fault for good ends when it is done") {
  Rig rig({Fault(FaultKind::kKill, "reranker", 10, 0)});
  rig.AdvanceTo(16);  // a second late: what was measured counts
  rig.actions.Await(1);
  const std::vector<FaultMark> marks = rig.schedule->Finish();
  REQUIRE(rig.actions.Await(1) == Strings{"16s kill reranker"});
  REQUIRE(marks[0].at == absl::Seconds(16));
  REQUIRE(marks[0].ended == absl::Seconds(16));
  REQUIRE(marks[0].failed_expectations.empty());
}

TEST_CASE("what is still to be undone at the end is undone, what is still to be done is not") {
  Rig rig(
      {Fault(FaultKind::kPause, "reranker", 10, 100), Fault(FaultKind::kKill, "router", 50, 1)});
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(20);
  const std::vector<FaultMark> marks = rig.schedule->Finish();
  REQUIRE(rig.actions.Await(3) ==
          Strings{"15s pause reranker", "20s continue reranker", "20s check reranker"});
  REQUIRE(marks[0].ended == absl::Seconds(20));
  REQUIRE(marks[0].failed_expectations.empty());
  REQUIRE(marks[1].failed_expectations == Strings{"was not done: the run ended before"});
}

TEST_CASE("a schedule that is dropped leaves nothing paused") {
  Rig rig({Fault(FaultKind::kPause, "reranker", 10, 100)});
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.schedule.reset();
  REQUIRE(rig.actions.Await(2)[1] == "15s continue reranker");
}

TEST_CASE("what cannot be done is told and not undone") {
  Rig rig({Fault(FaultKind::kKill, "reranker", 10, 2)}, "kill");
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(30);
  const std::vector<FaultMark> marks = rig.schedule->Finish();
  REQUIRE(rig.actions.Await(1).size() == 1);
  REQUIRE(marks[0].failed_expectations == Strings{"could not be done: not today"});
}

TEST_CASE("what cannot be undone is told") {
  Rig rig({Fault(FaultKind::kKill, "reranker", 10, 2)}, "start");
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(17);
  rig.actions.Await(2);
  REQUIRE(rig.schedule->Finish()[0].failed_expectations ==
          Strings{"could not be undone: not today"});
}

TEST_CASE("a process that did not survive its return is told") {
  Rig rig({Fault(FaultKind::kKill, "reranker", 10, 2)}, "check");
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(17);
  rig.actions.Await(2);
  REQUIRE(rig.schedule->Finish()[0].failed_expectations ==
          Strings{"it did not come back: not today"});
}

TEST_CASE("what ends as another fault begins ends first") {
  Rig rig({Fault(FaultKind::kPause, "reranker", 12, 1), Fault(FaultKind::kPause, "router", 10, 2)});
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(17);
  REQUIRE(rig.actions.Await(3) ==
          Strings{"15s pause router", "17s continue router", "17s pause reranker"});
}

TEST_CASE("no faults make no marks") {
  Rig rig({});
  REQUIRE(rig.schedule->Finish().empty());
}

TEST_CASE("a generation is published at its time and must be served at the end of it") {
  Rig rig({Fault(FaultKind::kPublish, "images", 10, 20)}, "served");
  rig.AdvanceTo(15);
  rig.actions.Await(1);
  rig.AdvanceTo(35);
  CHECK(rig.actions.Await(2) == Strings{"15s publish images", "35s served images"});
  const std::vector<FaultMark> marks = rig.schedule->Finish();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].name == "publish images");
  CHECK(marks[0].at == absl::Seconds(15));
  REQUIRE(marks[0].failed_expectations.size() == 1);
  CHECK_THAT(marks[0].failed_expectations[0], Contains("not today"));
}

}  // namespace sightline
