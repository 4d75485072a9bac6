#include "common/bundle/generation.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

absl::Status CheckName(absl::string_view what, absl::string_view name, int max_length) {
  if (IsValidName(name, max_length)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(name.substr(0, 200)), "' is no ", what,
                   " name: a-z, 0-9, _ and -, at most ", max_length, " characters"));
}

}  // namespace

absl::Status CheckIndexName(absl::string_view index) {
  return CheckName("index", index, limits::kMaxIndexNameLength);
}

absl::Status CheckNames(absl::string_view index, absl::string_view generation) {
  RETURN_IF_ERROR(CheckIndexName(index));
  return CheckName("generation", generation, limits::kMaxGenerationNameLength);
}

absl::StatusOr<GenerationManifest> ReadGenerationManifest(absl::string_view store,
                                                          absl::string_view index,
                                                          absl::string_view generation) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  const std::string path = JoinPath(GenerationDirectory(store, index, generation), kManifestFile);
  const absl::StatusOr<std::string> json = ReadFile(path, limits::kMaxManifestBytes);
  if (absl::IsNotFound(json.status())) return WithReason(json.status(), reasons::kManifestMissing);
  RETURN_IF_ERROR(json.status());
  return ParseManifestOf(index, generation, path, *json);
}

absl::StatusOr<GenerationManifest> ParseManifestOf(absl::string_view index,
                                                   absl::string_view generation,
                                                   absl::string_view where,
                                                   absl::string_view json) {
  absl::StatusOr<GenerationManifest> manifest = ParseGenerationManifest(json);
  if (absl::IsDataLoss(manifest.status())) {
    return WithReason(WithPrefix(manifest.status(), where), reasons::kManifestInvalid);
  }
  if (!manifest.ok()) return WithPrefix(manifest.status(), where);
  if (manifest->index() != index || manifest->generation() != generation) {
    return MakeError(reasons::kManifestInvalid,
                     absl::StrCat(where, " is the manifest of generation ", manifest->generation(),
                                  " of index ", manifest->index()));
  }
  return manifest;
}

absl::Status WriteGenerationManifest(absl::string_view store, const GenerationManifest& manifest) {
  GenerationManifest complete = manifest;
  complete.set_format_version(kGenerationFormatVersion);
  RETURN_IF_ERROR(CheckGenerationManifest(complete));
  const std::string directory = GenerationDirectory(store, complete.index(), complete.generation());
  const std::string path = JoinPath(directory, kManifestFile);
  const std::string json = ManifestJson(complete);
  RETURN_IF_ERROR(MakeDirectories(directory));
  const absl::StatusOr<std::string> present = ReadFile(path, limits::kMaxManifestBytes);
  if (present.ok() && *present == json) return absl::OkStatus();
  if (!absl::IsNotFound(present.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(path,
                     " is there already and says something else; a generation never "
                     "changes, so choose another name"));
  }
  return WriteFileAtomically(path, json);
}

}  // namespace sightline
