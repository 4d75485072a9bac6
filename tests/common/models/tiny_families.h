// A tiny model of every family, and inputs for it.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bundle/model_bundle.h"
#include "common/image/image_input.h"
#include "common/models/model.h"

namespace sightline {

// How to make one: for MakeTinyBundle.
struct TinyFamily {
  std::string name;  // for people
  bundle::v1::ModelBundleManifest manifest;
  std::string vocabulary;
  // Regions that an image must have; 0: any number.
  int64_t region_count = 0;
  // Whether regions in another order are another image.
  bool region_order_matters = false;
};

// Bi-encoder and cross-encoder, with tags.
TinyFamily TinyOscar();
TinyFamily TinyUniter();
TinyFamily TinyLightningDot();
// With projections to 12 numbers, and the text in pictures.
TinyFamily TinySceneText();
TinyFamily TinyVlDeformer();
// Bi-encoder and cross-encoder.
TinyFamily TinyM3p();
TinyFamily TinySaf();
TinyFamily TinySgr();
// SAF with T-EMDE in the place of the global node.
TinyFamily TinyTemde();
// What tiny_scripts.h makes.
TinyFamily TinyTorchScript();
// Of a SAF and an SGR.
TinyFamily TinyEnsemble();

// All of these: every family of the registry.
std::vector<TinyFamily> TinyFamilies();

// Below `store`, weights in float32, larger than InitModel's so that results differ clearly;
// scripts have the weights that they have.  Throws if it cannot.
ModelBundle MakeTinyBundle(const std::string& store, const TinyFamily& family, uint64_t seed = 1);

// An ensemble of bundles that lie in `store`.
ModelBundle MakeEnsemble(const std::string& store, const std::vector<ModelBundle>& members);

// Number `i` of some images: regions of 10 numbers with boxes, as many as the family needs or
// 1 to 9, tags and words.
ImageInput TinyImage(const TinyFamily& family, int i);

// Number `i` of some texts, for people.
std::string TinyText(int i);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_
