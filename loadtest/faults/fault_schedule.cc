#include "loadtest/faults/fault_schedule.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sightline {

std::string DescribeFault(const FaultSpec& fault) {
  const std::string text = absl::StrCat(FaultKindName(fault.kind), " ", fault.target);
  if (fault.kind != FaultKind::kDelay) return text;
  return absl::StrCat(text, " by ", absl::FormatDuration(fault.delay));
}

FaultSchedule::FaultSchedule(std::vector<FaultSpec> faults, absl::Time start,
                             absl::Duration warm_up, FaultActions* actions, Clock* clock)
    : faults_(std::move(faults)),
      start_(start),
      actions_(actions),
      clock_(clock),
      states_(faults_.size(), State::kWaiting) {
  for (size_t i = 0; i < faults_.size(); ++i) {
    const FaultSpec& fault = faults_[i];
    const absl::Duration at = warm_up + fault.at;
    marks_.push_back({DescribeFault(fault), at, at, absl::InfiniteDuration(), {}});
    steps_.push_back({start + at, i, /*undo=*/false});
    if (!fault.for_good()) steps_.push_back({start + at + fault.lasting, i, /*undo=*/true});
  }
  // What ends as something else begins ends first.
  std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    return std::make_tuple(a.when, !a.undo) < std::make_tuple(b.when, !b.undo);
  });
  thread_ = std::thread([this] { Loop(); });
}

FaultSchedule::~FaultSchedule() {
  if (thread_.joinable()) Finish();
}

void FaultSchedule::Loop() {
  for (const Step& step : steps_) {
    {
      MutexLock lock(mutex_);
      while (!stopping_ && clock_->Now() < step.when) clock_->WaitUntil(wake_, mutex_, step.when);
      if (stopping_) return;
    }
    if (step.undo) {
      Undo(step.fault);
    } else {
      Do(step.fault);
    }
  }
}

void FaultSchedule::Do(size_t fault) {
  FaultMark& mark = marks_[fault];
  mark.at = Now();
  const absl::Status done = actions_->Do(faults_[fault]);
  mark.ended = mark.at;
  states_[fault] = done.ok() ? State::kDone : State::kFailed;
  if (done.ok()) return;
  mark.failed_expectations.push_back(absl::StrCat("could not be done: ", done.message()));
}

void FaultSchedule::Undo(size_t fault) {
  if (states_[fault] != State::kDone) return;
  FaultMark& mark = marks_[fault];
  const absl::Status undone = actions_->Undo(faults_[fault]);
  mark.ended = Now();
  states_[fault] = undone.ok() ? State::kUndone : State::kFailed;
  if (undone.ok()) return;
  mark.failed_expectations.push_back(absl::StrCat("could not be undone: ", undone.message()));
}

std::vector<FaultMark> FaultSchedule::Finish() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
  for (size_t i = 0; i < faults_.size(); ++i) {
    if (states_[i] == State::kWaiting) {
      marks_[i].failed_expectations.push_back("was not done: the run ended before");
    }
    if (!faults_[i].for_good()) Undo(i);
    if (states_[i] != State::kUndone || faults_[i].kind == FaultKind::kPublish) continue;
    const absl::Status lives = actions_->Check(faults_[i].target);
    if (lives.ok()) continue;
    marks_[i].failed_expectations.push_back(
        absl::StrCat("it did not come back: ", lives.message()));
  }
  return std::move(marks_);
}

}  // namespace sightline
