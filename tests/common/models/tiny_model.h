// A model so small that a test can afford many, and inputs for it.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TINY_MODEL_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TINY_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bundle/model_bundle.h"
#include "common/image/image_input.h"
#include "common/models/model.h"

namespace sightline {

// Joint OSCAR: 2 layers of width 16, 9 cells of 24 x 24 pictures, 10 + 6 numbers a
// region, 12 tokens, at most 9 regions.  vocabulary_size is 0, for InitModel to fill.
bundle::v1::ModelBundleManifest TinyManifest();

// The special tokens, the letters, a few words.
std::string TinyVocabulary();

// The bundle of these below `store`, weights in float32.  Fails the test if it cannot.
ModelBundle MakeBundle(const std::string& store, const bundle::v1::ModelBundleManifest& manifest,
                       uint64_t seed = 1);

// Loads a tiny model from a folder of its own.
std::shared_ptr<const Model> MakeModel(const bundle::v1::ModelBundleManifest& manifest,
                                       const ModelOptions& options = {});

// `count` regions of 10 numbers and a box each, random but the same for a seed.
ImageInput RandomImage(int64_t count, uint32_t seed);

// Random pixels, the same for a seed.
Pixels RandomPixels(int width, int height, uint32_t seed);

// [CLS] and [SEP] around `count` random words, the same for a seed.
Tokens RandomText(int count, uint32_t seed);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TINY_MODEL_H_
