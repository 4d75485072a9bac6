#include "common/training/pretraining.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle_file.h"
#include "common/formats/safetensors.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/network/weights.h"
#include "common/training/objectives/registry.h"
#include "common/training/random.h"

namespace sightline {
namespace {

absl::StatusOr<HeadChoice> ChoiceOf(const Recipe& recipe, int64_t class_count) {
  HeadChoice choice;
  for (const TaskRecipe& task : recipe.tasks) {
    ASSIGN_OR_RETURN(const Objective* objective, FindObjective(task.objective));
    switch (objective->predicted) {
      case Predicted::kTokens:
      case Predicted::kSceneTokens:
        choice.tokens = true;
        break;
      case Predicted::kRegionFeatures:
        choice.features = true;
        break;
      case Predicted::kRegionClasses:
        if (class_count == 0) {
          return absl::InvalidArgumentError(absl::StrCat(
              "the objective ", objective->name,
              " needs soft labels of regions, and the corpora carry none, or of different ",
              "numbers of classes; give its share to mrfr, or take region files or npz files ",
              "that have them, or a script's that `trainer extract` wrote"));
        }
        choice.class_count = class_count;
        break;
      default:
        break;
    }
  }
  return choice;
}

// Copies a head that `file` holds all of.
absl::Status LoadHead(const Safetensors& file, const std::string& name,
                      const torch::nn::Module& head) {
  const auto parameters = head.named_parameters();
  const auto held = [&](const auto& item) {
    return file.tensors().count(absl::StrCat(name, ".", item.key())) > 0;
  };
  if (!std::all_of(parameters.begin(), parameters.end(), held)) return absl::OkStatus();
  const at::NoGradGuard no_grad;
  for (const auto& item : parameters) {
    const std::string key = absl::StrCat(name, ".", item.key());
    ASSIGN_OR_RETURN(const at::Tensor value, ToTorch(file.tensors().at(key)));
    if (value.sizes() != item.value().sizes()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the bundle's ", key, " is not of the shape that its network's head would have"));
    }
    at::Tensor parameter = item.value();
    parameter.copy_(value);
  }
  return absl::OkStatus();
}

// Of a head of other classes nothing can be begun with.
bool HasOtherClasses(const Safetensors& file, int64_t class_count) {
  const auto held = file.tensors().find("region_classifier.net.3.bias");
  return held != file.tensors().end() && held->second.shape != std::vector<int64_t>{class_count};
}

absl::Status LoadHeads(const ModelBundle& start, int64_t class_count, torch::nn::Module* heads) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> memory,
                   ReadBundleFile(start, kWeightsFile));
  ASSIGN_OR_RETURN(const auto file, Safetensors::FromBytes(absl::string_view(
                                        memory->data(), static_cast<size_t>(memory->size()))));
  for (const auto& head : heads->named_children()) {
    if (head.key() == "region_classifier" && HasOtherClasses(*file, class_count)) continue;
    RETURN_IF_ERROR(LoadHead(*file, head.key(), *head.value()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PretrainingHeads> MakePretrainingHeads(const Recipe& recipe,
                                                      const ModelBundle& start, int64_t class_count,
                                                      c10::Device device) {
  ASSIGN_OR_RETURN(HeadChoice choice, ChoiceOf(recipe, class_count));
  if (!choice.any()) return PretrainingHeads(nullptr);
  const bundle::v1::TransformerSpec& spec = start.manifest.transformer();
  choice.feature_size = spec.region_feature_size();
  PretrainingHeads heads(BertConfigOf(spec), choice);
  RETURN_IF_ERROR(
      RandomizeWeights(SeedOf(recipe.seed, RandomStream::kWeights, 0), heads.ptr().get()));
  RETURN_IF_ERROR(LoadHeads(start, class_count, heads.ptr().get()));
  heads->to(device);
  return heads;
}

absl::StatusOr<TokenMasking> MaskingOf(const ModelBundle& start, absl::string_view words) {
  const bundle::v1::TokenizerSpec& spec = start.manifest.tokenizer();
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(start.FilePath(spec.vocabulary_file()), limits::kMaxVocabularyBytes));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, NewTokenizer(spec, vocabulary));
  const auto is_word = [&](int32_t id) {
    const absl::string_view token = tokenizer->Spelling(id);
    return token.size() < 3 || token.front() != '[' || token.back() != ']';
  };
  TokenMasking masking;
  masking.mask_id = tokenizer->mask_id();
  masking.random_end = tokenizer->vocabulary_size();
  while (masking.random_begin < masking.random_end && !is_word(masking.random_begin)) {
    ++masking.random_begin;
  }
  RETURN_IF_ERROR(CheckTokenMasking(masking, tokenizer->vocabulary_size()));
  for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipEmpty())) {
    int32_t id = masking.random_begin;
    while (id < masking.random_end && tokenizer->Spelling(id) != word) ++id;
    if (id == masking.random_end) {
      return absl::InvalidArgumentError(absl::StrCat(
          "masked_words has \"", word, "\", which is no token of ", spec.vocabulary_file(), " of ",
          start.id, "; words that are spelt in pieces cannot be named"));
    }
    masking.words.push_back(id);
  }
  return masking;
}

}  // namespace sightline
