#include "loadtest/measure/recorder.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"

namespace sightline {
namespace {

constexpr int kCodeCount = static_cast<int>(absl::StatusCode::kUnauthenticated) + 1;

constexpr struct {
  const char* name;
  absl::Duration StageTimes::*time;
} kStages[] = {
    {"encode", &StageTimes::encode}, {"search", &StageTimes::search},
    {"rerank", &StageTimes::rerank}, {"fetch", &StageTimes::fetch},
    {"total", &StageTimes::total},
};
constexpr int kStageCount = sizeof(kStages) / sizeof(kStages[0]);

constexpr double kMostLateShare = 0.01;
constexpr int64_t kFewLate = 3;

// Codes and reasons are numbered from zero; whatever is not is left out.
void CountAt(int number, int64_t* counts, int size) {
  if (number >= 0 && number < size) ++counts[number];
}

// Names what was counted.
template <typename NameOf>
std::map<std::string, int64_t> Named(const int64_t* counts, int size, const NameOf& name_of) {
  std::map<std::string, int64_t> named;
  for (int i = 0; i < size; ++i) {
    if (counts[i] > 0) named[std::string(name_of(i))] = counts[i];
  }
  return named;
}

}  // namespace

bool IsTooManyLate(int64_t late, int64_t requests) {
  return late > kFewLate &&
         static_cast<double>(late) > kMostLateShare * static_cast<double>(requests);
}

// Counts by number: names are looked up once, in the end.
struct Recorder::Sums {
  void Add(const Observation& observation);
  Tally ToTally() const;

  Tally tally;  // what has no number
  int64_t codes[kCodeCount] = {};
  int64_t reasons[kDegradedReasonCount] = {};
  int64_t failures[kCheckFailureCount] = {};
  LatencyHistogram stages[kStageCount];
};

struct Recorder::SecondSums {
  Second second;  // without its tally
  Sums sums;
};

void Recorder::Sums::Add(const Observation& observation) {
  ++tally.count;
  CountAt(static_cast<int>(observation.code), codes, kCodeCount);
  tally.latency.Record(observation.latency());
  if (observation.code != absl::StatusCode::kOk) return;
  ++tally.ok;
  if (!observation.degraded.empty()) ++tally.degraded;
  for (const DegradedReason reason : observation.degraded) {
    CountAt(static_cast<int>(reason), reasons, kDegradedReasonCount);
  }
  for (const CheckFailure failure : observation.failures) {
    CountAt(static_cast<int>(failure), failures, kCheckFailureCount);
  }
  ++tally.generations[observation.generation];
  for (const std::string& precision : observation.precisions) ++tally.precisions[precision];
  if (!observation.effort.empty()) ++tally.efforts[observation.effort];
  if (observation.filtered) {
    if (!tally.filtered.has_value()) tally.filtered.emplace();
    tally.filtered->Merge({1, observation.matched_items});
  }
  if (observation.exact_answer_known) {
    const bool compared = observation.nearest_items > 0;
    if (!tally.measured_recall.has_value()) tally.measured_recall.emplace();
    tally.measured_recall->Merge(
        {compared, !compared, observation.nearest_items, observation.nearest_found});
  }
  tally.shards_asked += observation.shard_count;
  tally.shards_answered += observation.answered_shard_count;
  if (observation.asked_depth > 0) {
    if (!tally.reranked.has_value()) tally.reranked.emplace();
    tally.reranked->Merge({1, observation.in_time, observation.asked_depth,
                           observation.scored_depth, observation.first_judged,
                           observation.first_right, observation.first_retrieved_right});
  }
  if (observation.known_item_asked) {
    ++tally.known_items_asked;
    if (observation.known_item_found) ++tally.known_items_found;
  }
  for (int i = 0; i < kStageCount; ++i) stages[i].Record(observation.times.*kStages[i].time);
}

Tally Recorder::Sums::ToTally() const {
  Tally named = tally;
  named.codes = Named(codes, kCodeCount, [](int code) {
    return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  });
  named.degraded_reasons = Named(reasons, kDegradedReasonCount, [](int reason) {
    return DegradedReasonName(static_cast<DegradedReason>(reason));
  });
  named.check_failures = Named(failures, kCheckFailureCount, [](int failure) {
    return CheckFailureName(static_cast<CheckFailure>(failure));
  });
  if (tally.ok > 0) {
    for (int i = 0; i < kStageCount; ++i) named.stages[kStages[i].name] = stages[i];
  }
  return named;
}

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)),
      last_(options_.warm_up + options_.length + LatencyHistogram::kLongest),
      kinds_(options_.kinds.size()) {}

Recorder::~Recorder() = default;

Recorder::SecondSums& Recorder::At(int64_t second) {
  if (seconds_.size() <= static_cast<size_t>(second)) seconds_.resize(second + 1);
  return seconds_[second];
}

void Recorder::CountFlight(absl::Duration sent, absl::Duration ended) {
  const size_t from = static_cast<size_t>(absl::ToInt64Milliseconds(sent));
  const size_t to = static_cast<size_t>(absl::ToInt64Milliseconds(ended));
  if (flight_changes_.size() <= std::max(from, to)) {
    flight_changes_.resize(std::max(from, to) + 1, 0);
  }
  ++flight_changes_[from];
  --flight_changes_[to];
}

void Recorder::Record(const Observation& observation) {
  const auto within = [this](absl::Duration moment) {
    return std::clamp(moment, absl::ZeroDuration(), last_);
  };
  const absl::Duration intended = within(observation.intended);
  const absl::Duration sent = within(observation.sent);
  const absl::Duration ended = within(observation.ended);
  const absl::Duration lag = observation.sent - observation.intended;

  MutexLock lock(mutex_);
  ++At(absl::ToInt64Seconds(sent)).second.sent;
  ++At(absl::ToInt64Seconds(ended)).second.ended;
  SecondSums& second = At(absl::ToInt64Seconds(intended));
  ++second.second.intended;
  second.sums.Add(observation);
  CountFlight(sent, ended);
  if (intended < options_.warm_up) return;
  kinds_.at(observation.kind).Add(observation);
  lag_.Record(lag);
  if (lag > options_.late_after) ++late_;
}

std::vector<Second> Recorder::Seconds() const {
  const absl::Duration run = absl::Ceil(options_.warm_up + options_.length, absl::Seconds(1));
  const size_t count = std::max(seconds_.size(), static_cast<size_t>(absl::ToInt64Seconds(run)));
  std::vector<Second> seconds(count);
  int64_t outstanding = 0;
  for (size_t i = 0; i < count; ++i) {
    Second& second = seconds[i];
    if (i < seconds_.size()) {
      second = seconds_[i].second;
      second.tally = seconds_[i].sums.ToTally();
    }
    second.second = static_cast<int64_t>(i);
    second.outstanding = outstanding;
    for (size_t ms = i * 1000; ms < std::min((i + 1) * 1000, flight_changes_.size()); ++ms) {
      outstanding += flight_changes_[ms];
      second.outstanding = std::max(second.outstanding, outstanding);
    }
  }
  return seconds;
}

LoadResult Recorder::Result() const {
  LoadResult result;
  result.warm_up = options_.warm_up;
  result.length = options_.length;
  MutexLock lock(mutex_);
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const Tally tally = kinds_[i].ToTally();
    result.by_kind[options_.kinds[i]].Merge(tally);
    result.total.Merge(tally);
  }
  result.seconds = Seconds();
  if (options_.length > absl::ZeroDuration()) {
    result.intended_rate =
        static_cast<double>(result.total.count) / absl::ToDoubleSeconds(options_.length);
  }
  GeneratorHealth& generator = result.generator;
  generator.lag = lag_;
  generator.late = late_;
  generator.late_after = options_.late_after;
  generator.kept_schedule = !IsTooManyLate(late_, result.total.count);
  return result;
}

}  // namespace sightline
