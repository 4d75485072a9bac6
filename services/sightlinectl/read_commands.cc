#include "services/sightlinectl/read_commands.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/config/table.h"
#include "common/object_store/mirror.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/remote_verify.h"
#include "services/sightlinectl/shown_progress.h"
#include "services/sightlinectl/store_command.h"
#include "services/sightlinectl/store_view.h"

namespace sightline {
namespace {

using Current = bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;

// Names the present generation where none is named.
absl::Status NameGeneration(StoreArguments* arguments) {
  if (arguments->words.size() == 2) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<StoreView> store, OpenStoreView(arguments->place));
  ASSIGN_OR_RETURN(const Current current, store->Current(arguments->words[0]));
  arguments->words.push_back(current.generation());
  return absl::OkStatus();
}

// Whether an error over a generation's objects says that they are not what was brought there.
bool IsDamage(const absl::Status& error) {
  return absl::IsDataLoss(error) || HasReason(error, reasons::kFetchFailed) ||
         (absl::IsNotFound(error) && !HasReason(error, reasons::kManifestMissing));
}

std::string Whole(size_t files, int64_t bytes, size_t models) {
  return absl::StrCat(WithThousands(static_cast<int64_t>(files)), " files, ", WithThousands(bytes),
                      " bytes, ", models, models == 1 ? " model" : " models");
}

// --- verify ---

absl::StatusOr<std::string> VerifyInFolder(const std::string& store,
                                           const GenerationManifest& manifest) {
  VerifyOptions options;
  options.sha256 = true;
  VerifySummary summary;
  const ShownProgress progress("verify", FilesOfGeneration(store, manifest));
  RETURN_IF_ERROR(VerifyGeneration(store, manifest, options, CallContext::Unbounded(), &summary));
  const std::vector<std::string> models = ModelsOf(manifest);
  for (const std::string& model : models) {
    RETURN_IF_ERROR(
        OpenModelBundle(ModelDirectory(store, model), /*verify_checksums=*/true).status());
  }
  RETURN_IF_ERROR(CheckEmbeddingSpace(store, manifest));
  return Whole(summary.files_read, summary.bytes_read, models.size());
}

absl::StatusOr<std::string> VerifyInObjectStore(ObjectStore* store, const std::string& index,
                                                const std::string& generation) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadRemoteManifest(store, index, generation, call));
  ASSIGN_OR_RETURN(const std::vector<ExpectedFile> files, RemoteFilesOf(store, manifest, call));
  ReadProgress::Files lengths;
  int64_t bytes = 0;
  for (const ExpectedFile& file : files) {
    lengths[file.key] = file.byte_count;
    bytes += file.byte_count;
  }
  const ShownProgress progress("verify", std::move(lengths));
  RETURN_IF_ERROR(VerifyObjects(store, files, FetchOptions(), call));
  return Whole(files.size(), bytes, ModelsOf(manifest).size());
}

absl::StatusOr<std::string> Verify(const StorePlace& place, const std::string& index,
                                   const std::string& generation, bool* is_damaged) {
  absl::StatusOr<std::string> whole;
  if (place.is_remote()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
    whole = VerifyInObjectStore(store.get(), index, generation);
    *is_damaged = IsDamage(whole.status());
  } else {
    ASSIGN_OR_RETURN(const GenerationManifest manifest,
                     ReadGenerationManifest(place.folder, index, generation));
    whole = VerifyInFolder(place.folder, manifest);
  }
  RETURN_IF_ERROR(whole.status());
  return absl::StrCat(index, " ", generation, " is whole: ", *whole, "\n");
}

// --- fetch ---

// What the folder lacks of the generation.
absl::StatusOr<ReadProgress::Files> Missing(ObjectStore* store, const std::string& folder,
                                            const std::string& index, const std::string& generation,
                                            const CallContext& call) {
  ASSIGN_OR_RETURN(const GenerationManifest manifest,
                   ReadRemoteManifest(store, index, generation, call));
  ASSIGN_OR_RETURN(const std::vector<ExpectedFile> files, RemoteFilesOf(store, manifest, call));
  ReadProgress::Files missing;
  for (const ExpectedFile& file : files) {
    const std::string path = JoinPath(folder, file.key);
    if (!FileExists(path)) missing[path] = file.byte_count;
  }
  return missing;
}

absl::Status Bring(const std::shared_ptr<ObjectStore>& store, const std::string& folder,
                   const std::string& index, const std::string& generation,
                   const CallContext& call) {
  ASSIGN_OR_RETURN(ReadProgress::Files missing,
                   Missing(store.get(), folder, index, generation, call));
  const ShownProgress progress("fetch", std::move(missing));
  return Mirror::OverStore(store, folder)->FetchGeneration(index, generation, call);
}

absl::StatusOr<std::string> Fetch(const StorePlace& place, const std::string& index,
                                  const std::string& generation, bool* is_damaged) {
  const std::string& folder = place.folder;
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const std::shared_ptr<ObjectStore> store, place.OpenObjectStore());
  const absl::StatusOr<Current> current = ReadRemoteCurrent(store.get(), index, call);
  if (!current.ok() && !absl::IsNotFound(current.status())) return current.status();
  const absl::Status brought = Bring(store, folder, index, generation, call);
  *is_damaged = IsDamage(brought);
  RETURN_IF_ERROR(brought);
  // Last, so that it names what is there.
  if (current.ok() && generation == current->generation()) {
    RETURN_IF_ERROR(AdoptCurrent(folder, index, *current));
  }
  return absl::StrCat(index, " ", generation, " is in ",
                      GenerationDirectory(folder, index, generation), "\n");
}

// Sets `is_damaged` if an object of the generation is.
using Work = absl::StatusOr<std::string> (*)(const StorePlace& place, const std::string& index,
                                             const std::string& generation, bool* is_damaged);

// The exit status.
int Run(Work work, StoreArguments arguments, const Console& console) {
  const absl::Status named = NameGeneration(&arguments);
  const std::string& index = arguments.words[0];
  if (!named.ok()) return FailInStore(named, arguments.place, index, "", console);
  const std::string& generation = arguments.words[1];
  bool is_damaged = false;
  const absl::StatusOr<std::string> text = work(arguments.place, index, generation, &is_damaged);
  if (text.ok()) {
    console.out << *text;
    return kSuccess;
  }
  const int status = FailInStore(text.status(), arguments.place, index, generation, console);
  if (is_damaged) {
    console.err << "  a folder that has it whole mends it, and publishes it: sightlinectl publish "
                << index << " " << generation << " --store DIR --object-store "
                << arguments.place.url << " --resend\n";
  }
  return status;
}

}  // namespace

int RunVerify(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  StoreArguments arguments;
  int status = kSuccess;
  const StoreShape shape{1, 2, Places::kOne};
  if (!ParseStoreCommand(kVerifyCommand, &flags, args, shape, console, &arguments, &status)) {
    return status;
  }
  return Run(Verify, std::move(arguments), console);
}

int RunFetch(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  StoreArguments arguments;
  int status = kSuccess;
  StoreShape shape{1, 2, Places::kBoth};
  shape.folder_help = "folder that it is brought to, laid out as a store";
  if (!ParseStoreCommand(kFetchCommand, &flags, args, shape, console, &arguments, &status)) {
    return status;
  }
  return Run(Fetch, std::move(arguments), console);
}

}  // namespace sightline
