#include "services/sightlinectl/generation_commands.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/config/table.h"
#include "common/object_store/conditional_writes.h"
#include "common/object_store/mirror.h"
#include "common/object_store/remote_prune.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/upload.h"
#include "services/sightlinectl/store_place.h"

namespace sightline {
namespace {

// The command line of all of them: words, and the store.
struct Arguments {
  std::vector<std::string> words;
  StorePlace place;
};

// How many words a command takes, and which places.
struct Shape {
  size_t min_words;
  size_t max_words;
  absl::string_view folder_help = "store that holds the index";
  bool needs_folder = false;
  bool needs_object_store = false;
};

// When the command is over already, the result is false and `status` the exit status.
bool Parse(const Command& command, Flags* flags, const std::vector<std::string>& args,
           const Shape& shape, const Console& console, Arguments* arguments, int* status) {
  arguments->place.AddFlags(shape.folder_help, flags);
  if (!ParseArguments(command, flags, args, console, &arguments->words, status)) return false;
  const size_t count = arguments->words.size();
  const StorePlace& place = arguments->place;
  if (count >= shape.min_words && count <= shape.max_words && !place.is_empty() &&
      (!shape.needs_folder || !place.folder.empty()) &&
      (!shape.needs_object_store || place.is_remote())) {
    return true;
  }
  const char* const where = shape.needs_object_store
                                ? " and both --store DIR and --object-store URL"
                            : shape.needs_folder ? " and --store DIR"
                                                 : " and --store DIR or --object-store URL";
  *status = UsageError(
      command, absl::StrCat("give an index", shape.min_words > 1 ? ", a generation" : "", where),
      console);
  return false;
}

int TellCurrent(const std::string& index,
                const absl::StatusOr<bundle::v1::CurrentGeneration>& current,
                const Console& console) {
  if (!current.ok()) return Fail(current.status(), console);
  console.out << index << " is now " << current->generation() << " (sequence "
              << current->sequence() << ")\n";
  return kSuccess;
}

// NotFound if there is no such store; false if nothing of the index was ever published there, as
// on the nights before the first publication.
absl::StatusOr<bool> WasPublished(const std::string& store, const std::string& index) {
  const absl::Status current = ReadCurrent(store, index).status();
  if (!absl::IsNotFound(current)) return current.ok() ? absl::StatusOr<bool>(true) : current;
  if (FileExists(store)) return false;
  return absl::NotFoundError(absl::StrCat(
      "there is no store ", store, "; --store names the folder that holds models and indexes"));
}

void TellPruned(const PruneSummary& summary, bool dry_run, const Console& console) {
  const char* const would = dry_run ? "would have " : "";
  std::vector<std::string> parts;
  if (!summary.set_aside.empty()) {
    parts.push_back(absl::StrCat(would, "set aside ", absl::StrJoin(summary.set_aside, ", ")));
  }
  if (!summary.deleted.empty()) {
    parts.push_back(absl::StrCat(would, "deleted ", absl::StrJoin(summary.deleted, ", "), " (",
                                 WithThousands(summary.byte_count), " bytes)"));
  }
  if (parts.empty()) parts.emplace_back("nothing to remove");
  parts.push_back(absl::StrCat("kept ", absl::StrJoin(summary.kept, ", ")));
  console.out << absl::StrJoin(parts, "; ") << "\n";
  for (const SetAside& waiting : summary.waiting) {
    console.out << waiting.generation << " lies aside; a prune after "
                << absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", waiting.delete_time, absl::UTCTimeZone())
                << " deletes it\n";
  }
}

absl::StatusOr<std::string> Verify(const Arguments& arguments) {
  const std::string& store = arguments.place.folder;
  const std::string& index = arguments.words[0];
  std::string generation;
  if (arguments.words.size() == 2) {
    generation = arguments.words[1];
  } else {
    ASSIGN_OR_RETURN(const auto current, ReadCurrent(store, index));
    generation = current.generation();
  }
  ASSIGN_OR_RETURN(const auto manifest, ReadGenerationManifest(store, index, generation));
  VerifyOptions options;
  options.sha256 = true;
  VerifySummary summary;
  RETURN_IF_ERROR(VerifyGeneration(store, manifest, options, CallContext::Unbounded(), &summary));
  const std::vector<std::string> models = ModelsOf(manifest);
  for (const std::string& model : models) {
    RETURN_IF_ERROR(
        OpenModelBundle(ModelDirectory(store, model), /*verify_checksums=*/true).status());
  }
  RETURN_IF_ERROR(CheckEmbeddingSpace(store, manifest));
  return absl::StrCat(index, " ", generation, " is whole: ", WithThousands(summary.files_read),
                      " files, ", WithThousands(summary.bytes_read), " bytes, ", models.size(),
                      models.size() == 1 ? " model\n" : " models\n");
}

using Current = bundle::v1::CurrentGeneration;

// From the folder, if there is one, into the object store, and there.
absl::StatusOr<Current> PublishRemotely(const StorePlace& place, const std::string& index,
                                        const std::string& generation, bool resend) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  RETURN_IF_ERROR(CheckConditionalWrites(*store, call));
  if (!place.folder.empty()) {
    RETURN_IF_ERROR(UploadGeneration(store.get(), place.folder, index, generation, call, resend));
  }
  return PublishRemote(store.get(), index, generation, absl::Now(), call);
}

absl::StatusOr<Current> RollBackRemotely(const StorePlace& place, const std::string& index) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  RETURN_IF_ERROR(CheckConditionalWrites(*store, call));
  return RollBackRemote(store.get(), index, absl::Now(), call);
}

// None if nothing of the index was ever published there.
using Pruned = absl::optional<PruneSummary>;

absl::StatusOr<Pruned> PruneFolder(const std::string& folder, const std::string& index,
                                   const PruneOptions& options) {
  ASSIGN_OR_RETURN(const bool published, WasPublished(folder, index));
  if (!published) return Pruned();
  ASSIGN_OR_RETURN(PruneSummary summary, PruneGenerations(folder, index, options, absl::Now()));
  return Pruned(std::move(summary));
}

absl::StatusOr<Pruned> PruneObjectStore(const StorePlace& place, const std::string& index,
                                        const PruneOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  absl::StatusOr<PruneSummary> summary =
      PruneRemote(store.get(), index, options, absl::Now(), CallContext::Unbounded());
  if (absl::IsNotFound(summary.status())) return Pruned();
  RETURN_IF_ERROR(summary.status());
  return Pruned(*std::move(summary));
}

// The exit status.
int TellPrune(const std::string& where, const std::string& index,
              const absl::StatusOr<Pruned>& pruned, bool dry_run, const Console& console) {
  if (!pruned.ok()) return Fail(pruned.status(), console);
  if (!pruned->has_value()) {
    console.out << "nothing to remove: index '" << index << "' was never published in " << where
                << "\n";
    return kSuccess;
  }
  TellPruned(**pruned, dry_run, console);
  int status = kSuccess;
  for (const absl::Status& problem : (*pruned)->problems) {
    status = Worse(status, Fail(problem, console));
  }
  return status;
}

absl::StatusOr<std::string> Fetch(const Arguments& arguments) {
  const std::string& index = arguments.words[0];
  const std::string& folder = arguments.place.folder;
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(std::shared_ptr<ObjectStore> store, arguments.place.OpenObjectStore());
  ASSIGN_OR_RETURN(const Current current, ReadRemoteCurrent(store.get(), index, call));
  const bool named = arguments.words.size() == 2;
  const std::string generation = named ? arguments.words[1] : current.generation();
  RETURN_IF_ERROR(Mirror::OverStore(store, folder)->FetchGeneration(index, generation, call));
  std::string text = absl::StrCat(index, " ", generation, " is in ",
                                  GenerationDirectory(folder, index, generation), "\n");
  // Last, so that it names what is there.
  if (generation != current.generation()) return text;
  const absl::Status adopted = AdoptCurrent(folder, index, current);
  if (!absl::IsFailedPrecondition(adopted)) RETURN_IF_ERROR(adopted);
  if (!adopted.ok()) absl::StrAppend(&text, adopted.message(), "\n");
  return text;
}

}  // namespace

int RunPublish(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  bool resend = false;
  flags.Switch("resend", "send what the object store has already, for it may be damaged there",
               &resend);
  Shape shape{2, 2};
  shape.folder_help = "store that holds the index, or with --object-store what is brought there";
  if (!Parse(kPublishCommand, &flags, args, shape, console, &arguments, &status)) return status;
  const std::string& index = arguments.words[0];
  const std::string& generation = arguments.words[1];
  const StorePlace& place = arguments.place;
  if (resend && (place.folder.empty() || !place.is_remote())) {
    return UsageError(kPublishCommand, "--resend sends what --store DIR has to --object-store URL",
                      console);
  }
  return TellCurrent(index,
                     place.is_remote() ? PublishRemotely(place, index, generation, resend)
                                       : PublishGeneration(place.folder, index, generation),
                     console);
}

int RunRollback(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  if (!Parse(kRollbackCommand, &flags, args, {1, 1}, console, &arguments, &status)) return status;
  const std::string& index = arguments.words[0];
  const StorePlace& place = arguments.place;
  return TellCurrent(
      index,
      place.is_remote() ? RollBackRemotely(place, index) : RollBackGeneration(place.folder, index),
      console);
}

int RunPrune(const std::vector<std::string>& args, const Console& console) {
  PruneOptions options;
  Flags flags;
  flags.Int("keep", "published generations that stay, the present one among them; default 3", 1,
            1000, &options.keep);
  flags.Duration("grace",
                 "how long others stay after they were left, and then lie set aside; default 24h",
                 &options.grace);
  flags.Switch("dry-run", "tell what would be removed, and leave it", &options.dry_run);
  Arguments arguments;
  int status = kSuccess;
  if (!Parse(kPruneCommand, &flags, args, {1, 1}, console, &arguments, &status)) return status;
  const std::string& index = arguments.words[0];
  const StorePlace& place = arguments.place;
  if (place.is_remote()) {
    status = TellPrune(place.url, index, PruneObjectStore(place, index, options), options.dry_run,
                       console);
  }
  if (!place.folder.empty()) {
    status = Worse(status, TellPrune(place.folder, index, PruneFolder(place.folder, index, options),
                                     options.dry_run, console));
  }
  return status;
}

int RunVerify(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  Shape shape{1, 2};
  shape.needs_folder = true;
  if (!Parse(kVerifyCommand, &flags, args, shape, console, &arguments, &status)) return status;
  const auto text = Verify(arguments);
  if (!text.ok()) return Fail(text.status(), console);
  console.out << *text;
  return kSuccess;
}

int RunFetch(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  Shape shape{1, 2};
  shape.folder_help = "folder that it is brought to, laid out as a store";
  shape.needs_folder = shape.needs_object_store = true;
  if (!Parse(kFetchCommand, &flags, args, shape, console, &arguments, &status)) return status;
  const auto text = Fetch(arguments);
  if (!text.ok()) return Fail(text.status(), console);
  console.out << *text;
  return kSuccess;
}

}  // namespace sightline
