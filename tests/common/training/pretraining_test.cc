#include "common/training/pretraining.h"

#include <ATen/ATen.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/convert/convert.h"
#include "common/models/trainable.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

Recipe RecipeOf(const std::vector<std::string>& objectives) {
  Recipe recipe;
  for (const std::string& objective : objectives) {
    recipe.tasks.emplace_back();
    recipe.tasks.back().objective = objective;
  }
  return recipe;
}

std::map<std::string, at::Tensor> Parameters(const PretrainingHeads& heads) {
  std::map<std::string, at::Tensor> parameters;
  for (const auto& item : heads->named_parameters()) parameters[item.key()] = item.value();
  return parameters;
}

// The tiny bundle's weights with these beside them, each of numbers that are all alike.
ModelBundle WithHeads(const std::string& store,
                      const std::map<std::string, std::vector<int64_t>>& shapes,
                      const TinyFamily& family = TinyLightningDot()) {
  const ModelBundle bundle = MakeTinyBundle(store, family);
  const std::string bytes = *ReadFile(bundle.FilePath(kWeightsFile));
  const auto file = *Safetensors::FromBytes(bytes);
  std::map<std::string, TensorView> tensors = file->tensors();
  std::map<std::string, std::string> values;
  for (const auto& [name, shape] : shapes) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    const std::vector<float> numbers(count, 0.75f);
    values[name].assign(reinterpret_cast<const char*>(numbers.data()), count * sizeof(float));
    tensors[name] = {TensorDtype::kF32, shape, values[name]};
  }
  return *WriteModelBundle(store, bundle.manifest,
                           {{std::string(kWeightsFile), SerializeSafetensors(tensors)},
                            {"vocabulary", TinyWordPieces()}});
}

// The head of words of 16 numbers and 14 tokens, but for one tensor.
std::map<std::string, std::vector<int64_t>> WordHead() {
  return {{"cls.predictions.transform.dense.weight", {16, 16}},
          {"cls.predictions.transform.dense.bias", {16}},
          {"cls.predictions.transform.LayerNorm.weight", {16}},
          {"cls.predictions.transform.LayerNorm.bias", {16}},
          {"cls.predictions.decoder.weight", {14, 16}}};
}

TEST_CASE("there are the heads that a recipe predicts by, as BERT begins, by its seed") {
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), TinyLightningDot());
  REQUIRE((*MakePretrainingHeads(RecipeOf({"cmr", "matching"}), bundle, 0, at::kCPU)).is_empty());
  Recipe recipe = RecipeOf({"cmr", "msm", "mrfr"});
  const auto heads = *MakePretrainingHeads(recipe, bundle, 0, at::kCPU);
  const std::map<std::string, at::Tensor> found = Parameters(heads);
  REQUIRE(found.count("cls.predictions.bias") == 1);
  REQUIRE(found.count("region_classifier.net.0.weight") == 0);
  REQUIRE(found.at("cls.predictions.bias").abs().max().item<float>() == 0);
  REQUIRE(found.at("cls.predictions.transform.LayerNorm.weight").eq(1).all().item<bool>());
  const float deviation = found.at("feat_regress.net.0.weight").std().item<float>();
  REQUIRE(deviation > 0.015);
  REQUIRE(deviation < 0.025);
  const auto again = *MakePretrainingHeads(recipe, bundle, 0, at::kCPU);
  recipe.seed = 2;
  const auto other = *MakePretrainingHeads(recipe, bundle, 0, at::kCPU);
  const std::string name = "mask_embedding.weight";
  REQUIRE(Parameters(again).at(name).equal(found.at(name)));
  REQUIRE_FALSE(Parameters(other).at(name).equal(found.at(name)));
}

TEST_CASE("a head that the bundle holds is begun with, and one of which a part is missing is not") {
  const TempDir store;
  auto shapes = WordHead();
  const auto begun_with = [&] {
    const ModelBundle bundle = WithHeads(store.path(), shapes);
    // Nobody serves them, nor minds them.
    const auto learner = LoadTrainable(bundle, {});
    INFO(learner.status().ToString());
    REQUIRE(learner.ok());
    const auto heads = *MakePretrainingHeads(RecipeOf({"mlm", "mrfr"}), bundle, 0, at::kCPU);
    const auto found = Parameters(heads);
    REQUIRE_FALSE(found.at("feat_regress.net.0.weight").eq(0.75).any().item<bool>());
    return found.at("cls.predictions.transform.dense.weight").eq(0.75).all().item<bool>();
  };
  REQUIRE_FALSE(begun_with());
  shapes["cls.predictions.bias"] = {14};
  REQUIRE(begun_with());
}

// A head of regions' classes, `count` of them.
std::map<std::string, std::vector<int64_t>> ClassHead(int64_t count) {
  return {
      {"region_classifier.net.0.weight", {16, 16}},    {"region_classifier.net.0.bias", {16}},
      {"region_classifier.net.2.weight", {16}},        {"region_classifier.net.2.bias", {16}},
      {"region_classifier.net.3.weight", {count, 16}}, {"region_classifier.net.3.bias", {count}}};
}

TEST_CASE("a head of other classes is not begun with") {
  const TempDir store;
  const ModelBundle bundle = WithHeads(store.path(), ClassHead(7));
  const auto first = [&](int64_t classes) {
    const auto heads = *MakePretrainingHeads(RecipeOf({"mrc_kl"}), bundle, classes, at::kCPU);
    return Parameters(heads).at("region_classifier.net.0.weight").eq(0.75).all().item<bool>();
  };
  REQUIRE(first(7));
  REQUIRE_FALSE(first(8));
}

TEST_CASE("heads of a pre-trained checkpoint are what a run begins with") {
  const std::string mask = "img_embeddings.mask_embedding.weight";
  const std::vector<std::pair<TinyFamily, std::string>> families = {
      {TinyLightningDot(), "img_model.bert." + mask}, {TinyUniter(), "uniter." + mask}};
  for (const auto& [family, mask_name] : families) {
    INFO(family.name);
    const TempDir store;
    std::map<std::string, std::vector<int64_t>> shapes = WordHead(), classes = ClassHead(7);
    shapes["cls.predictions.bias"] = {14};
    shapes.merge(classes);
    shapes[mask_name] = {2, 10};
    ConvertOptions options;
    options.checkpoint = WithHeads(store.path(), shapes, family).FilePath(kWeightsFile);
    options.vocabulary = store.File("vocab.txt");
    REQUIRE(WriteFileAtomically(options.vocabulary, TinyWordPieces()).ok());
    options.head_count = family.manifest.transformer().head_count();
    const auto conversion = ConvertCheckpoint(options);
    INFO(conversion.status());
    REQUIRE(conversion.ok());
    const ModelBundle bundle = *WriteConversion(store.path(), *conversion, {});
    REQUIRE(LoadTrainable(bundle, {}).ok());
    const auto heads = *MakePretrainingHeads(RecipeOf({"mlm", "mrc_kl"}), bundle, 7, at::kCPU);
    REQUIRE(heads->named_parameters().size() == 5 + 6 + 1);
    for (const auto& [name, value] : Parameters(heads)) {
      INFO(name);
      REQUIRE(value.eq(0.75).all().item<bool>());
    }
  }
}

TEST_CASE("a head of another shape is refused by name") {
  const TempDir store;
  auto shapes = WordHead();
  shapes["cls.predictions.bias"] = {15};
  const absl::Status status =
      MakePretrainingHeads(RecipeOf({"mlm"}), WithHeads(store.path(), shapes), 0, at::kCPU)
          .status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "cls.predictions.bias"));
}

TEST_CASE("the head of regions' classes has those of the soft labels, and without labels none") {
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), TinyLightningDot());
  const auto heads = *MakePretrainingHeads(RecipeOf({"mrc_kl"}), bundle, 7, at::kCPU);
  const std::map<std::string, at::Tensor> found = Parameters(heads);
  REQUIRE(found.at("region_classifier.net.3.weight").size(0) == 7);
  REQUIRE(found.count("mask_embedding.weight") == 1);
  REQUIRE(found.count("feat_regress.net.0.weight") == 0);
  const absl::Status status =
      MakePretrainingHeads(RecipeOf({"mrfr", "mrc_kl"}), bundle, 0, at::kCPU).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "mrc_kl needs soft labels of regions"));
}

TEST_CASE("random words are all but the special and unused ones") {
  const TempDir store;
  TinyFamily family = TinyLightningDot();
  const TokenMasking tiny = *MaskingOf(MakeTinyBundle(store.path(), family));
  REQUIRE(tiny.mask_id == 4);
  REQUIRE(tiny.random_begin == 5);
  REQUIRE(tiny.random_end == 14);
  // As BERT's vocabularies begin; a bracket by itself is a word.
  family.vocabulary = "[PAD]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[unused2]\n[\na\n";
  const TokenMasking masking = *MaskingOf(MakeTinyBundle(store.path(), family));
  REQUIRE(masking.mask_id == 5);
  REQUIRE(masking.random_begin == 7);
  REQUIRE(masking.random_end == 9);
  REQUIRE(masking.masked == 0.8);
  REQUIRE(masking.random == 0.1);
  REQUIRE(masking.words.empty());
}

TEST_CASE("words that are to be hidden are tokens of the bundle, and one that is none is named") {
  const TempDir store;
  TinyFamily family = TinyLightningDot();
  family.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nleft\nof\nright\n##right\n";
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  REQUIRE(MaskingOf(bundle, "right  left")->words == std::vector<int32_t>{7, 5});
  // A special token is no word of a caption.
  for (const char* word : {"leftmost", "[SEP]"}) {
    const absl::Status status = MaskingOf(bundle, absl::StrCat("left ", word)).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), absl::StrCat("masked_words has \"", word, "\"")));
  }
}

}  // namespace
}  // namespace sightline
