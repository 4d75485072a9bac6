// What a family's model computes, for tests that compare two of them.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_FAMILY_RESULTS_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_FAMILY_RESULTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/models/model.h"
#include "tests/common/models/tiny_family.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Items of a batch.
inline constexpr int kTinyItems = 23;

inline std::shared_ptr<const Model> MustLoad(const ModelBundle& bundle,
                                             const ModelOptions& options = {}) {
  auto model = LoadModel(bundle, options);
  INFO(model.status().ToString());
  REQUIRE(model.ok());
  return *model;
}

inline std::shared_ptr<const Model> MakeTinyModel(const TinyFamily& family,
                                                  const ModelOptions& options = {}) {
  const TempDir store;
  return MustLoad(MakeTinyBundle(store.path(), family), options);
}

inline std::vector<ImageInput> Images(const TinyFamily& family) {
  std::vector<ImageInput> images;
  for (int i = 0; i < kTinyItems; ++i) images.push_back(TinyImage(family, i));
  return images;
}

// Everything that a model computes, as one row of numbers; all at once or one by one.
inline std::vector<float> Everything(const Model& model, const TinyFamily& family, bool at_once) {
  std::vector<float> values;
  const auto add = [&](const absl::StatusOr<EmbeddingMatrix>& rows) {
    INFO(rows.status().ToString());
    REQUIRE(rows.ok());
    values.insert(values.end(), rows->values().begin(), rows->values().end());
  };
  const std::vector<ImageInput> images = Images(family);
  if (model.text_encoder() != nullptr) {
    std::vector<Tokens> texts;
    for (int i = 0; i < kTinyItems; ++i) {
      texts.push_back(*model.Tokenize(TinyText(i)));
      if (!at_once) add(model.text_encoder()->Encode({texts[i]}, CallContext::Unbounded()));
      if (!at_once) add(model.image_encoder()->Encode({images[i]}, CallContext::Unbounded()));
    }
    if (at_once) {
      const auto text_rows = *model.text_encoder()->Encode(texts, CallContext::Unbounded());
      const auto image_rows = *model.image_encoder()->Encode(images, CallContext::Unbounded());
      for (int i = 0; i < kTinyItems; ++i) {
        values.insert(values.end(), text_rows.row(i).begin(), text_rows.row(i).end());
        values.insert(values.end(), image_rows.row(i).begin(), image_rows.row(i).end());
      }
    }
  }
  if (model.cross_encoder() == nullptr) return values;
  const auto image_features =
      *model.cross_encoder()->PrepareImages(images, CallContext::Unbounded());
  std::vector<ItemFeatures> text_features;
  for (int i = 0; i < kTinyItems; ++i) {
    text_features.push_back(*TextFeatures(model, TinyText(i)));
  }
  std::vector<ScoringPair> pairs;
  for (int i = 0; i < 3 * kTinyItems; ++i) {
    pairs.push_back({&text_features[i % kTinyItems], &image_features[i * 7 % kTinyItems]});
  }
  std::vector<float> scores;
  if (at_once) {
    const auto result = model.cross_encoder()->Score(pairs, CallContext::Unbounded());
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    scores = *result;
  } else {
    for (const ScoringPair& pair : pairs) {
      scores.push_back((*model.cross_encoder()->Score({pair}, CallContext::Unbounded()))[0]);
    }
  }
  values.insert(values.end(), scores.begin(), scores.end());
  return values;
}

// The largest difference, as a part of the largest number where that is above one.
inline float Farthest(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float farthest = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    farthest = std::max(farthest, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(a[i]));
  }
  return farthest / largest;
}

// Of one text and one image: the image's embedding and the pair's score, whichever there are.
inline std::vector<float> Seen(const Model& model, const std::string& text,
                               const ImageInput& image) {
  std::vector<float> values;
  if (model.image_encoder() != nullptr) {
    const auto rows = *model.image_encoder()->Encode({image}, CallContext::Unbounded());
    values.assign(rows.values().begin(), rows.values().end());
    const auto words =
        *model.text_encoder()->Encode({*model.Tokenize(text)}, CallContext::Unbounded());
    values.insert(values.end(), words.values().begin(), words.values().end());
  }
  if (model.cross_encoder() != nullptr) {
    const auto features = *model.cross_encoder()->PrepareImages({image}, CallContext::Unbounded());
    const auto words = *TextFeatures(model, text);
    values.push_back(
        (*model.cross_encoder()->Score({{&words, &features[0]}}, CallContext::Unbounded()))[0]);
  }
  return values;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_FAMILY_RESULTS_H_
