#include "common/models/torchscript/script_bundle.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/models/init_model.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/model.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

void ListFiles(ModelBundleManifest* manifest) {
  const bundle::v1::TorchScriptSpec& spec = manifest->torch_script();
  manifest->clear_files();
  for (const std::string& file :
       {manifest->tokenizer().vocabulary_file(), spec.text_encoder(), spec.image_encoder(),
        spec.cross_encoder(), spec.region_extractor()}) {
    if (!file.empty()) manifest->add_files()->set_path(file);
  }
}

absl::Status FillVocabularySize(const std::string& folder, ModelBundleManifest* manifest) {
  if (VocabularySizeOf(*manifest) != 0 || manifest->tokenizer().vocabulary_file().empty()) {
    return absl::OkStatus();
  }
  const std::string path = JoinPath(folder, manifest->tokenizer().vocabulary_file());
  ASSIGN_OR_RETURN(const std::string vocabulary, ReadFile(path, limits::kMaxVocabularyBytes));
  const auto tokenizer = NewTokenizer(manifest->tokenizer(), vocabulary);
  if (!tokenizer.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", tokenizer.status().message()));
  }
  SetVocabularySize((*tokenizer)->vocabulary_size(), manifest);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelBundle> BundleScripts(const std::string& folder, absl::string_view store) {
  const std::string path = JoinPath(folder, kManifestFile);
  ModelBundle source;
  source.directory = folder;
  source.id = folder;  // what errors call it
  ASSIGN_OR_RETURN(source.manifest, ReadModelConfig(path));
  if (source.manifest.family() != "torchscript") {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is of family '", source.manifest.family(), "', scripts are of family torchscript"));
  }
  ListFiles(&source.manifest);
  RETURN_IF_ERROR(FillVocabularySize(folder, &source.manifest));
  RETURN_IF_ERROR(LoadModel(source, {}).status());
  std::map<std::string, ContentWriter> files;
  for (const bundle::v1::BundleFile& file : source.manifest.files()) {
    files[file.path()] = ContentOf(source.FilePath(file.path()));
  }
  return StreamModelBundle(store, source.manifest, files);
}

}  // namespace sightline
