// What a golden case expects from inside a network, beside embeddings and scores.
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_NETWORK_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_NETWORK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/models/model.h"
#include "tests/parity/golden_model.h"

namespace sightline {

// The cross-encoder head's outputs for text i with image i, pair after pair.
absl::StatusOr<std::vector<float>> HeadOutputs(const Model& model, const GoldenInputs& inputs);

// Tensor `index` of each image's item features, image after image.
absl::StatusOr<std::vector<float>> ImageFeatureRows(const Model& model,
                                                    const std::vector<ImageInput>& images,
                                                    size_t index);

// Tensor `index` of each text as a pair reads it, each padded with zeros to `width` rows.
absl::StatusOr<std::vector<float>> PreparedTextRows(const Model& model,
                                                    const std::vector<Tokens>& texts, size_t index,
                                                    int64_t width);

// Of UNITER and M3P: the last layer's row 0 of text i with image i, and what the pooler makes
// of it; pair after pair.
struct JointRows {
  std::vector<float> first;
  std::vector<float> pooled;
};
absl::StatusOr<JointRows> UniterJointRows(const GoldenModel& model, const GoldenInputs& inputs);
absl::StatusOr<JointRows> M3pJointRows(const GoldenModel& model, const GoldenInputs& inputs);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_NETWORK_H_
