// A tiny model of a family, as <family>/tiny.cc describes it, and inputs for it.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bundle/model_bundle.h"
#include "common/image/image_input.h"

namespace sightline {

struct TinyFamily {
  std::string name;  // for people
  bundle::v1::ModelBundleManifest manifest;
  std::string vocabulary;
  // Regions that an image must have; 0: any number.
  int64_t region_count = 0;
  // Whether regions in another order are another image.
  bool region_order_matters = false;
  // For a family that is not made of random weights; throws if it cannot.
  ModelBundle (*make)(const std::string& store, const TinyFamily& family, uint64_t seed) = nullptr;
};

// <family>::TinyOnes(), of every family in families.bzl: in <family>/tiny.cc.
#define SIGHTLINE_FAMILY(family)      \
  namespace family {                  \
  std::vector<TinyFamily> TinyOnes(); \
  }
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY

// Below `store`, weights in float32, larger than InitModel's so that results differ clearly;
// scripts have the weights that they have.  Throws if it cannot.
ModelBundle MakeTinyBundle(const std::string& store, const TinyFamily& family, uint64_t seed = 1);

// Number `i` of some images: regions of 10 numbers with boxes, as many as the family needs or
// 1 to 9, tags and words.
ImageInput TinyImage(const TinyFamily& family, int i);

// Number `i` of some texts, for people.
std::string TinyText(int i);

// --- for those who describe one ---

// The words that all of them know.
const std::vector<std::string>& TinyWords();
// Their files for WordPiece, and for a list of words.
std::string TinyWordPieces();
std::string TinyWordList();

// Parts of a manifest.
bundle::v1::ModelBundleManifest TinyManifest(const std::string& family,
                                             bundle::v1::TokenizerSpec::Kind kind);
void AddTinyTransformer(int region_feature_size, bundle::v1::ModelBundleManifest* manifest);
void AddTinyEmbedding(int dimension, bundle::v1::EmbeddingSpec::Metric metric,
                      bundle::v1::ModelBundleManifest* manifest);
void AddTinyCrossEncoder(const std::string& score_kind, bundle::v1::ModelBundleManifest* manifest);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILY_H_
