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
#include "common/base/status_macros.h"
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

}  // namespace

absl::StatusOr<ModelBundle> InitModel(absl::string_view store,
                                      bundle::v1::ModelBundleManifest manifest,
                                      absl::string_view vocabulary, const InitOptions& options) {
  ASSIGN_OR_RETURN(const FamilyModel* family, FindFamilyModel(manifest.family()));
  RETURN_IF_ERROR(FitVocabulary(vocabulary, &manifest));
  RETURN_IF_ERROR(CheckManifest(manifest));
  ASSIGN_OR_RETURN(std::string weights,
                   family->initial_weights(manifest, options.seed, options.dtype));
  std::map<std::string, std::string> files;
  files[manifest.tokenizer().vocabulary_file()] = std::string(vocabulary);
  files[std::string(kWeightsFile)] = std::move(weights);
  return WriteModelBundle(store, std::move(manifest), files);
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
