// What a look at development pictures says.
#ifndef SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_REPORT_H_
#define SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_REPORT_H_

#include <array>
#include <cstdint>
#include <vector>

namespace sightline {

// Shares of queries, in percent, with a right answer among the first 1, 5 and 10.
struct DirectionRecall {
  std::array<double, 3> at = {};
};

// By embeddings, or by the score of every pair.
enum class DevelopmentWay { kTowers, kPairs };

struct DevelopmentFinding {
  DevelopmentWay way = DevelopmentWay::kTowers;
  DirectionRecall text_to_image;
  DirectionRecall image_to_text;
  // Mean of the six (AR of "LightningDOT").
  double score = 0;
};

struct DevelopmentReport {
  int64_t step = 0;
  int64_t pictures = 0;
  int64_t captions = 0;
  std::vector<DevelopmentFinding> findings;  // one of each way that was looked at
  double score = 0;                          // mean of theirs
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_REPORT_H_
