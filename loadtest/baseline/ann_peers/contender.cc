#include "loadtest/baseline/ann_peers/contender.h"

namespace sightline {

std::vector<int> EffortLadder(int least, int most) {
  std::vector<int> ladder;
  for (int power = 1; power <= most; power *= 2) {
    for (const int step : {power, power + power / 2}) {
      if (step < least || step > most) continue;
      if (ladder.empty() || step > ladder.back()) ladder.push_back(step);
    }
  }
  return ladder;
}

}  // namespace sightline
