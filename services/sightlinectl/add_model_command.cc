#include "services/sightlinectl/add_model_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/object_store/upload.h"
#include "services/sightlinectl/store_place.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ModelBundleManifest;

// The last component of `path`; empty for "/".
std::string NameOf(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return path.filename();
}

// The text of the folder's manifest.
absl::StatusOr<std::string> ReadManifest(const std::string& folder) {
  if (!FileExists(folder)) return absl::NotFoundError(absl::StrCat("there is no ", folder));
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " is no folder; name the folder that holds the bundle's files"));
  }
  absl::StatusOr<std::string> json =
      ReadFile(JoinPath(folder, kManifestFile), limits::kMaxManifestBytes);
  if (absl::IsNotFound(json.status())) {
    return absl::NotFoundError(
        absl::StrCat(folder, " is no model bundle: it holds no ", kManifestFile));
  }
  return json;
}

absl::Status CopyFile(const std::string& from, const BundleFile& file, const std::string& to) {
  const absl::StatusOr<int64_t> size = FileSize(from);
  if (absl::IsNotFound(size.status())) {
    return absl::DataLossError(absl::StrCat(from, " is missing; fetch the bundle again"));
  }
  RETURN_IF_ERROR(size.status());
  // Before anything is read: a manifest cannot make us copy more than it says.
  if (*size != file.byte_count()) {
    return absl::DataLossError(absl::StrCat(from, " has ", *size, " bytes, its manifest says ",
                                            file.byte_count(), "; fetch the bundle again"));
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(from, file.byte_count()));
  RETURN_IF_ERROR(MakeDirectories(std::string(std::filesystem::path(to).parent_path())));
  return WriteFileAtomically(to, bytes);
}

// The store's own copy, read to its last byte.
absl::StatusOr<ModelBundle> OpenInstalled(const std::string& directory) {
  absl::StatusOr<ModelBundle> bundle = OpenModelBundle(directory, /*verify_checksums=*/true);
  // What may pass is no damage.
  if (bundle.ok() || ExitStatusOf(bundle.status()) == kRunAgain) return bundle;
  return absl::Status(
      bundle.status().code(),
      absl::StrCat("the store's copy of this model is damaged: ", bundle.status().message(),
                   ".  Remove ", directory, " and add the model again"));
}

}  // namespace

absl::StatusOr<ModelBundle> AddModel(const std::string& folder, const std::string& store) {
  ASSIGN_OR_RETURN(const std::string json, ReadManifest(folder));
  const std::string id = Sha256Hex(json);
  // A folder may have any name, but one that is a hash has made a promise.
  if (IsSha256Hex(NameOf(folder)) && NameOf(folder) != id) {
    return absl::DataLossError(absl::StrCat(JoinPath(folder, kManifestFile), " has SHA-256 ", id,
                                            ", which is not its folder's name; fetch the bundle "
                                            "again"));
  }
  const std::string directory = ModelDirectory(store, id);
  if (FileExists(directory)) return OpenInstalled(directory);

  ASSIGN_OR_RETURN(const ModelBundleManifest manifest,
                   Within(JoinPath(folder, kManifestFile), ParseModelBundleManifest(json)));
  const std::string models = JoinPath(store, "models");
  const std::string staging = absl::StrCat(models, "/.", id, ".", ::getpid(), ".add.tmp");
  const auto remove_staging = absl::MakeCleanup([&staging] {
    std::error_code ignored;
    std::filesystem::remove_all(staging, ignored);
  });
  // The last component is the id, as OpenModelBundle wants it.
  const std::string staged = JoinPath(staging, id);
  RETURN_IF_ERROR(MakeDirectories(staged));
  for (const BundleFile& file : manifest.files()) {
    RETURN_IF_ERROR(CopyFile(JoinPath(folder, file.path()), file, JoinPath(staged, file.path())));
  }
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(staged, kManifestFile), json));
  // What is verified is the copy; what is named is what the user can look at.
  const absl::StatusOr<ModelBundle> copy = OpenModelBundle(staged, /*verify_checksums=*/true);
  if (!copy.ok()) {
    return absl::Status(copy.status().code(),
                        absl::StrReplaceAll(copy.status().message(), {{staged, folder}}));
  }
  if (std::rename(staged.c_str(), directory.c_str()) != 0) {
    // Somebody else was faster; what counts is what is there now.
    if (errno == EEXIST || errno == ENOTEMPTY) return OpenInstalled(directory);
    return FileError("rename into place", directory, errno);
  }
  RETURN_IF_ERROR(SyncDirectory(models));
  return OpenModelBundle(directory, /*verify_checksums=*/false);
}

namespace {

// To where it is asked for, one place or both.
absl::StatusOr<std::string> Add(const std::string& folder, const StorePlace& place,
                                const Console& console) {
  // Whatever place it goes to, a folder that is none is told in the same words.
  RETURN_IF_ERROR(ReadManifest(folder).status());
  std::string id;
  if (!place.folder.empty()) {
    ASSIGN_OR_RETURN(const ModelBundle bundle, AddModel(folder, place.folder));
    id = bundle.id;
    console.err << "it lies in " << bundle.directory << "\n";
  }
  if (place.is_remote()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
    ASSIGN_OR_RETURN(id, UploadModel(store.get(), folder, CallContext::Unbounded()));
    console.err << "it lies in " << store->name() << "\n";
  }
  return id;
}

}  // namespace

int RunAddModel(const std::vector<std::string>& args, const Console& console) {
  StorePlace place;
  Flags flags;
  place.AddFlags("store to copy it to", &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kAddModelCommand, &flags, args, console, &words, &status)) return status;
  const std::string places = place.Settle(Places::kOneOrBoth);
  if (words.size() != 1 || !places.empty()) {
    return UsageError(kAddModelCommand,
                      absl::StrCat("give one folder", places.empty() ? "" : ", and ", places),
                      console);
  }
  const absl::StatusOr<std::string> id = Add(words[0], place, console);
  if (!id.ok()) return Fail(id.status(), console);
  console.out << *id << "\n";
  return kSuccess;
}

}  // namespace sightline
