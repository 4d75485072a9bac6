// What came out, for people and for programs.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_REPORT_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/baseline/ann_peers/turns.h"

namespace sightline {

struct AnnReport {
  std::string items_are;  // "1 000 000 x 768, seed 1, ..."
  int64_t items = 0;
  int64_t queries = 0;
  int top_k = 0;
  int rounds = 0;
  std::string cpu;
  double load = 0;              // of the machine before it began
  bool processor_time = false;  // of rates
  std::vector<double> recalls;
  std::vector<MeasuredContender> contenders;
};

// A table of the contenders at each recall, then of ours against each of the others: rates of the
// same round, median and quartiles, above 1 where ours is faster.
std::string TextOf(const AnnReport& report);
std::string JsonOf(const AnnReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_REPORT_H_
