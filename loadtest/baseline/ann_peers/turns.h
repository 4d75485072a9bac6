// Contenders take turns at the same queries, so that what the machine does meanwhile hits all.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_TURNS_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_TURNS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "loadtest/baseline/ann_peers/ann_corpus.h"
#include "loadtest/baseline/ann_peers/contender.h"
#include "loadtest/baseline/ann_peers/recall_rates.h"

namespace sightline {

struct MeasuredEffort {
  Effort effort;
  double recall = 0;                  // of the k that are asked for
  double recall_100 = 0;              // of a hundred, asked with the same effort
  std::vector<double> round_seconds;  // a query, of each round
  std::vector<float> seconds;         // of each query of each round
};

struct MeasuredContender {
  std::unique_ptr<Contender> contender;
  double build_seconds = 0;
  int64_t bytes = 0;  // that it takes in memory, the items too if it reads them
  std::vector<MeasuredEffort> efforts;

  // At `recall`, in round `round`; of the medians of all rounds without one.
  absl::optional<double> SecondsAtRecall(double recall, absl::optional<int> round) const;
  // The fastest effort, by the median of its rounds, that finds as much; null if none does.
  const MeasuredEffort* FastestAt(double recall) const;
};

// Tries the efforts of a contender that is loaded, with every query, and keeps those that tell of
// a recall of `least` or more: the others are far slower than some that find as much.
absl::Status ChooseEfforts(const AnnCorpus& corpus, int k, double least,
                           MeasuredContender* contender);

// Of efforts that were tried once each, those that tell of a recall of `least` or more and are not
// far slower than others that find as much.  Their times are forgotten.
std::vector<MeasuredEffort> EffortsWorthTurns(std::vector<MeasuredEffort> tried, double least);

struct TurnOptions {
  int k = 10;
  int rounds = 5;
  // Rounds count the thread's processor time, for a machine that has other work; latencies are of
  // the clock on the wall in any case.
  bool processor_time = false;
};

// In each round every effort of every contender answers every query, one at a time, in this
// thread; whose turn it is is drawn.  `told` is called after each round.
absl::Status TakeTurns(const AnnCorpus& corpus, const TurnOptions& options,
                       const std::function<void(int round)>& told,
                       std::vector<MeasuredContender>* contenders);

// Of the process, by /proc/self/status: memory that no file stands behind.
int64_t ResidentBytes();

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_TURNS_H_
