#include "common/bundle/named_bundle.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"

namespace sightline {
namespace {

// Errors as FileError, of what may be there and cannot be looked at.
absl::StatusOr<bool> IsThere(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FileError("stat", path, errno);
}

}  // namespace

absl::StatusOr<ModelBundle> OpenStoredBundle(const std::string& store, const std::string& id,
                                             bool verify_checksums) {
  const std::string directory = ModelDirectory(store, id);
  ASSIGN_OR_RETURN(const bool there, IsThere(directory));
  if (there) return OpenModelBundle(directory, verify_checksums);
  ASSIGN_OR_RETURN(const bool is_anything, IsThere(store));
  std::error_code error;
  if (is_anything && !std::filesystem::is_directory(store, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the store ", store, " is no folder; give the one that has models/"));
  }
  return absl::NotFoundError(
      absl::StrCat("the store ", store, " has no model bundle ", id, "; is it another store's?"));
}

absl::StatusOr<ModelBundle> OpenNamedBundle(const std::string& store, const std::string& name,
                                            bool verify_checksums) {
  if (IsSha256Hex(name)) return OpenStoredBundle(store, name, verify_checksums);
  ASSIGN_OR_RETURN(const bool there, IsThere(name));
  if (there) return OpenBundleFolder(name, verify_checksums);
  return absl::NotFoundError(absl::StrCat("'", name,
                                          "' is no folder that is there, and no id of a model "
                                          "bundle, which has 64 hex digits"));
}

}  // namespace sightline
