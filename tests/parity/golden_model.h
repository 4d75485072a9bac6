// From a golden folder to the production model and the inputs of its case: the weights pass
// the converter as anybody's checkpoint does, and the model is loaded as a server loads it.
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_MODEL_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/models/convert/convert.h"
#include "common/models/model.h"
#include "tests/parity/golden_case.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// The reference's inputs, unpadded.
struct GoldenInputs {
  std::vector<Tokens> texts;
  std::vector<ImageInput> images;
};

// Texts from `ids_name` and `lengths_name`.
absl::StatusOr<std::vector<Tokens>> ReadGoldenTexts(const GoldenCase& golden,
                                                    absl::string_view ids_name,
                                                    absl::string_view lengths_name);

// Images from region_features and region_count; with `with_boxes` the corners of
// region_boxes too.
absl::StatusOr<std::vector<ImageInput>> ReadGoldenImages(const GoldenCase& golden, bool with_boxes);

// Both, under their usual names.
absl::StatusOr<GoldenInputs> ReadGoldenInputs(const GoldenCase& golden, bool with_boxes);

// How a token of GoldenVocabulary is spelt.
std::string GoldenWord(int64_t id);

// A vocabulary of the right length: the case has ids and no words, but a model looks its
// special tokens up.  [CLS] and [SEP] at these ids, [PAD] at 0.
std::string GoldenVocabulary(int size, int cls_id, int sep_id);

// A converted and loaded model.  Its bundle is removed with it.
class GoldenModel {
 public:
  // `options`: without checkpoint, config and vocabulary, which are the folder's and
  // `vocabulary`, the content of that file.
  static absl::StatusOr<std::unique_ptr<GoldenModel>> Convert(const GoldenCase& golden,
                                                              ConvertOptions options,
                                                              const std::string& vocabulary);

  const Model& model() const { return *model_; }
  const ModelBundle& bundle() const { return bundle_; }

 private:
  GoldenModel() : pool_(/*threads=*/2) {}

  const TempDir store_;
  ComputePool pool_;
  ModelBundle bundle_;
  std::shared_ptr<const Model> model_;
};

// A folder's model and the inputs of its case.
struct GoldenSubject {
  GoldenInputs inputs;
  std::unique_ptr<GoldenModel> model;
};

// Compares text_embedding, image_embedding and all pairs' inner products, as `products`.
absl::Status CompareEmbeddings(const GoldenCase& golden, const Model& model,
                               const GoldenInputs& inputs, absl::string_view products,
                               GoldenComparison* comparison);

// The same embeddings under other names.
absl::Status CompareEmbeddings(const GoldenCase& golden, const Model& model,
                               const GoldenInputs& inputs, absl::string_view texts,
                               absl::string_view images, absl::string_view products,
                               GoldenComparison* comparison);

// The case's texts as item features.
std::vector<ItemFeatures> GoldenTextFeatures(const std::vector<Tokens>& texts);

// The images' item features as the model makes them; and as they come back from a feature
// store that holds them as `dtype`, which is where a reranker has them from.
absl::StatusOr<std::vector<ItemFeatures>> PreparedFeatures(const Model& model,
                                                           const GoldenInputs& inputs);
absl::StatusOr<std::vector<ItemFeatures>> StoredFeatures(const Model& model,
                                                         const GoldenInputs& inputs, Dtype dtype);

// Scores of text i with image i.
absl::StatusOr<std::vector<float>> ScoreGoldenPairs(const Model& model,
                                                    const std::vector<Tokens>& texts,
                                                    const std::vector<ItemFeatures>& images);
// Scores of every text with the first image, then with the second, and so on.
absl::StatusOr<std::vector<float>> ScoreAllGoldenPairs(const Model& model,
                                                       const std::vector<Tokens>& texts,
                                                       const std::vector<ItemFeatures>& images);

// Compares the scores of text i with stored image i, of a model whose score is the logit of a
// match, with the second of the two logits of `tensor`.
absl::Status CompareStoredLogits(const GoldenCase& golden, const GoldenModel& model,
                                 const GoldenInputs& inputs, absl::string_view tensor, Dtype dtype,
                                 GoldenComparison* comparison);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_MODEL_H_
