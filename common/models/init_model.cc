#include "common/models/init_model.h"

#include <google/protobuf/util/json_util.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle_file.h"
#include "common/formats/safetensors.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/oscar/small_manifest.h"

namespace sightline {
namespace {

absl::Status FitVocabulary(absl::string_view vocabulary,
                           bundle::v1::ModelBundleManifest* manifest) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                   NewTokenizer(manifest->tokenizer(), vocabulary));
  if (VocabularySizeOf(*manifest) == 0) SetVocabularySize(tokenizer->vocabulary_size(), manifest);
  if (VocabularySizeOf(*manifest) == tokenizer->vocabulary_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the vocabulary has ", tokenizer->vocabulary_size(), " tokens, but vocabulary_size is ",
      VocabularySizeOf(*manifest), "; leave it 0 to take the vocabulary's"));
}

// `manifest` is completed.
absl::StatusOr<std::string> RandomWeights(absl::string_view vocabulary, const InitOptions& options,
                                          bundle::v1::ModelBundleManifest* manifest) {
  ASSIGN_OR_RETURN(const FamilyModel* family, FindFamilyModel(manifest->family()));
  RETURN_IF_ERROR(FitVocabulary(vocabulary, manifest));
  RETURN_IF_ERROR(CheckManifest(*manifest));
  return family->initial_weights(*manifest, options.seed, options.dtype);
}

absl::StatusOr<ModelBundle> Write(absl::string_view store, bundle::v1::ModelBundleManifest manifest,
                                  absl::string_view vocabulary, std::string weights) {
  std::map<std::string, std::string> files;
  files[manifest.tokenizer().vocabulary_file()] = std::string(vocabulary);
  files[std::string(kWeightsFile)] = std::move(weights);
  return WriteModelBundle(store, std::move(manifest), files);
}

// Puts the tensors of `other` that fit into the place of those of `weights`.
absl::StatusOr<std::string> Borrow(const ModelBundle& other, absl::string_view weights,
                                   BorrowedModel* borrowed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> memory,
                   ReadBundleFile(other, kWeightsFile));
  ASSIGN_OR_RETURN(const auto held, Safetensors::FromBytes(absl::string_view(
                                        memory->data(), static_cast<size_t>(memory->size()))));
  ASSIGN_OR_RETURN(const auto random, Safetensors::FromBytes(weights));
  std::map<std::string, TensorView> tensors = random->tensors();
  for (auto& [name, tensor] : tensors) {
    const auto found = held->tensors().find(name);
    if (found == held->tensors().end() || found->second.shape != tensor.shape) {
      borrowed->drawn.push_back(name);
      continue;
    }
    tensor = found->second;
    ++borrowed->taken;
  }
  if (borrowed->taken == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(other.directory, ", of the family ", other.manifest.family(),
                     ", has no tensor of a name and a shape that the model would have; its widths "
                     "and the configuration's have to be the same"));
  }
  return SerializeSafetensors(tensors);
}

}  // namespace

absl::StatusOr<ModelBundle> InitModel(absl::string_view store,
                                      bundle::v1::ModelBundleManifest manifest,
                                      absl::string_view vocabulary, const InitOptions& options) {
  ASSIGN_OR_RETURN(std::string weights, RandomWeights(vocabulary, options, &manifest));
  return Write(store, std::move(manifest), vocabulary, std::move(weights));
}

absl::StatusOr<BorrowedModel> InitModelFrom(const ModelBundle& other, absl::string_view store,
                                            bundle::v1::ModelBundleManifest manifest,
                                            const InitOptions& options) {
  if (!other.manifest.has_tokenizer()) {
    return absl::InvalidArgumentError(
        absl::StrCat(other.directory, ", of the family ", other.manifest.family(),
                     ", has no vocabulary of its own; name a bundle that it was made of"));
  }
  const bundle::v1::TokenizerSpec &read = other.manifest.tokenizer(), &own = manifest.tokenizer();
  if (read.kind() != own.kind() || read.lowercase() != own.lowercase()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the vocabulary of ", other.directory, " is of kind ",
        bundle::v1::TokenizerSpec::Kind_Name(read.kind()), read.lowercase() ? ", lowercase" : "",
        ", and the configuration's tokenizer of ", bundle::v1::TokenizerSpec::Kind_Name(own.kind()),
        own.lowercase() ? ", lowercase" : "", "; they have to be the same"));
  }
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(other.FilePath(other.manifest.tokenizer().vocabulary_file()),
                            limits::kMaxVocabularyBytes));
  BorrowedModel borrowed;
  ASSIGN_OR_RETURN(std::string weights, RandomWeights(vocabulary, options, &manifest));
  ASSIGN_OR_RETURN(weights, Borrow(other, weights, &borrowed));
  ASSIGN_OR_RETURN(borrowed.bundle,
                   Write(store, std::move(manifest), vocabulary, std::move(weights)));
  return borrowed;
}

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadModelConfig(const std::string& path) {
  if (path.empty()) return SmallOscarManifest();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxModelConfigBytes));
  bundle::v1::ModelBundleManifest manifest;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &manifest);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not the JSON of a ModelBundleManifest: ",
                     std::string(parsed.message().data(), parsed.message().size())));
  }
  return manifest;
}

}  // namespace sightline
