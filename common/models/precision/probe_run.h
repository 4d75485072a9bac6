// A model's probes, scored by the model in one precision.  For calibrate.cc.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_PROBE_RUN_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_PROBE_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/bundle/item_features.h"
#include "common/models/model.h"
#include "sightline/bundle/v1/model_probes.pb.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

// How much of the probes is scored: what float32 came to, and then all others too.
struct ProbeExtent {
  int items = 0;
  int pair_texts = 0;
  int texts = 0;  // that are encoded alone
};

// Refers to its arguments.  For one thread.
class ProbeRun {
 public:
  ProbeRun(const Model& model, const bundle::v1::ModelProbes& probes, Clock* clock,
           const CallContext& call);

  bool scores_pairs() const;
  bool encodes_texts() const;

  // As many items as let the cross-encoder score a few texts within `budget`: all, or fewer, but no
  // fewer than kLeastProbeItems.
  absl::StatusOr<int> ItemsWithin(absl::Duration budget);

  // Scores so many texts, or those that it begins before `budget` is spent, at least
  // kLeastProbeTexts; `text_count` then tells how many those were.
  absl::StatusOr<bundle::v1::PrecisionScores> ScorePairs(int item_count, absl::Duration budget,
                                                         int* text_count);
  absl::StatusOr<bundle::v1::PrecisionScores> EncodeTexts(int item_count, absl::Duration budget,
                                                          int* text_count);

 private:
  absl::StatusOr<std::vector<float>> ScoresOfPairs(const std::string& text, int item_count) const;
  absl::StatusOr<std::vector<float>> ScoresOfText(const std::string& text, int item_count) const;
  // `score` gives a text's scores of all items, and is called once before it counts, since the
  // first pass allocates.
  template <typename Score>
  absl::StatusOr<bundle::v1::PrecisionScores> Run(const Score& score, absl::Duration budget,
                                                  int* text_count) const;

  const Model& model_;
  const bundle::v1::ModelProbes& probes_;
  Clock* const clock_;
  const CallContext& call_;
  std::vector<ItemFeatures> items_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_PROBE_RUN_H_
