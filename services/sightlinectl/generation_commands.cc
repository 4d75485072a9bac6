#include "services/sightlinectl/generation_commands.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "common/config/table.h"
#include "common/object_store/conditional_writes.h"
#include "common/object_store/remote_prune.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/upload.h"
#include "services/sightlinectl/shown_progress.h"
#include "services/sightlinectl/store_command.h"
#include "services/sightlinectl/store_view.h"

namespace sightline {
namespace {

using Current = bundle::v1::CurrentGeneration;

// With what was gone back from, since nobody serves it again unless it is published.
void TellCurrent(const std::string& index, const Current& current, const Console& console) {
  console.out << index << " is now " << current.generation() << " (sequence " << current.sequence()
              << ")\n";
  std::vector<std::string> left;
  for (const bundle::v1::Publication& newer : current.previous()) {
    if (!newer.rolled_back()) break;
    left.push_back(newer.generation());
  }
  if (!left.empty()) console.err << "rolled back: " << absl::StrJoin(left, ", ") << "\n";
}

// --- publish ---

// What the object store alone has is published as well.
absl::Status Bring(const StorePlace& place, const std::string& index, const std::string& generation,
                   bool resend, ObjectStore* store, const Console& console) {
  RETURN_IF_ERROR(CheckNames(index, generation));
  const auto manifest = ReadGenerationManifest(place.folder, index, generation);
  if (absl::IsNotFound(manifest.status()) && !resend) {
    console.err << place.folder << " has no generation " << generation << " of index " << index
                << ": nothing is brought from there\n";
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(manifest.status());
  const ShownProgress progress("upload", FilesOfGeneration(place.folder, *manifest));
  return UploadGeneration(store, place.folder, index, generation, CallContext::Unbounded(), resend);
}

// From the folder, if there is one, into the object store, and there.
absl::StatusOr<Current> PublishRemotely(const StorePlace& place, const std::string& index,
                                        const std::string& generation, bool resend,
                                        const Console& console) {
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  RETURN_IF_ERROR(CheckConditionalWrites(*store, call));
  if (!place.folder.empty()) {
    RETURN_IF_ERROR(Bring(place, index, generation, resend, store.get(), console));
  }
  return PublishRemote(store.get(), index, generation, absl::Now(), call);
}

// --- rollback ---

absl::StatusOr<Rollback> RollBack(const StorePlace& place, const std::string& index,
                                  const std::string& from) {
  if (!place.is_remote()) return RollBackGeneration(place.folder, index, absl::Now(), from);
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  RETURN_IF_ERROR(CheckConditionalWrites(*store, call));
  return RollBackRemote(store.get(), index, absl::Now(), call, from);
}

// --- prune ---

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

// None if nothing of the index was ever published there.
using Pruned = absl::optional<PruneSummary>;
using Published = absl::optional<Current>;

// `elsewhere`: what the object store has published that the folder is for.
absl::StatusOr<Pruned> PruneFolder(const std::string& folder, const std::string& index,
                                   const PruneOptions& options, const Published& elsewhere) {
  ASSIGN_OR_RETURN(const bool published, WasPublished(folder, index));
  if (!published && (!elsewhere.has_value() || !FileExists(IndexDirectory(folder, index)))) {
    return Pruned();
  }
  ASSIGN_OR_RETURN(PruneSummary summary,
                   PruneGenerations(folder, index, options, absl::Now(), elsewhere));
  return Pruned(std::move(summary));
}

absl::StatusOr<Published> PublishedIn(ObjectStore* store, const std::string& index) {
  absl::StatusOr<Current> current = ReadRemoteCurrent(store, index, CallContext::Unbounded());
  if (absl::IsNotFound(current.status())) return Published();
  RETURN_IF_ERROR(current.status());
  return Published(*std::move(current));
}

absl::StatusOr<Pruned> PruneObjectStore(ObjectStore* store, const std::string& index,
                                        const PruneOptions& options) {
  absl::StatusOr<PruneSummary> summary =
      PruneRemote(store, index, options, absl::Now(), CallContext::Unbounded());
  if (absl::IsNotFound(summary.status())) return Pruned();
  RETURN_IF_ERROR(summary.status());
  return Pruned(*std::move(summary));
}

// That nothing of the index was ever published, which is no failure; and what the store has, if
// the name was mistyped.
void TellUnpublished(const StoreView& store, const std::string& index, const Console& console) {
  console.out << "nothing to remove: index '" << index << "' was never published in "
              << store.name();
  const auto indexes = store.Indexes();
  if (indexes.ok() && !indexes->empty() &&
      std::find(indexes->begin(), indexes->end(), index) == indexes->end()) {
    console.out << " (" << WhatItHas(*indexes) << ")";
  }
  console.out << "\n";
}

// The exit status.
int TellPrune(const StoreView& store, const std::string& index,
              const absl::StatusOr<Pruned>& pruned, bool dry_run, const Console& console) {
  if (!pruned.ok()) return Fail(pruned.status(), console);
  if (!pruned->has_value()) {
    TellUnpublished(store, index, console);
    return kSuccess;
  }
  TellPruned(**pruned, dry_run, console);
  int status = kSuccess;
  for (const absl::Status& problem : (*pruned)->problems) {
    status = Worse(status, Fail(problem, console));
  }
  return status;
}

}  // namespace

int RunPublish(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  StoreArguments arguments;
  int status = kSuccess;
  bool resend = false;
  flags.Switch("resend", "send what the object store has already, for it may be damaged there",
               &resend);
  StoreShape shape{2, 2, Places::kOneOrBoth};
  shape.folder_help = "store that holds the index, or with --object-store what is brought there";
  if (!ParseStoreCommand(kPublishCommand, &flags, args, shape, console, &arguments, &status)) {
    return status;
  }
  const std::string& index = arguments.words[0];
  const std::string& generation = arguments.words[1];
  const StorePlace& place = arguments.place;
  if (resend && (place.folder.empty() || !place.is_remote())) {
    return UsageError(kPublishCommand, "--resend sends what --store DIR has to --object-store URL",
                      console);
  }
  const absl::StatusOr<Current> current =
      place.is_remote() ? PublishRemotely(place, index, generation, resend, console)
                        : PublishGeneration(place.folder, index, generation);
  if (!current.ok()) return FailInStore(current.status(), place, index, generation, console);
  TellCurrent(index, *current, console);
  return kSuccess;
}

int RunRollback(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  StoreArguments arguments;
  int status = kSuccess;
  std::string from;
  flags.String("from", "GENERATION",
               "go back from this one alone, so that the command may be repeated", &from);
  if (!ParseStoreCommand(kRollbackCommand, &flags, args, {1, 1, Places::kOne}, console, &arguments,
                         &status)) {
    return status;
  }
  const std::string& index = arguments.words[0];
  const absl::StatusOr<Rollback> rollback = RollBack(arguments.place, index, from);
  if (!rollback.ok()) {
    return FailInStore(rollback.status(), arguments.place, index, from, console);
  }
  if (rollback->was_done) console.err << from << " was rolled back already\n";
  TellCurrent(index, rollback->current, console);
  return kSuccess;
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
  StoreArguments arguments;
  int status = kSuccess;
  if (!ParseStoreCommand(kPruneCommand, &flags, args, {1, 1, Places::kOneOrBoth}, console,
                         &arguments, &status)) {
    return status;
  }
  const std::string& index = arguments.words[0];
  const StorePlace& place = arguments.place;
  Published published;
  if (place.is_remote()) {
    absl::StatusOr<std::shared_ptr<ObjectStore>> store = place.OpenObjectStore();
    if (!store.ok()) return Fail(store.status(), console);
    status = TellPrune(*ViewObjectStore(*store), index,
                       PruneObjectStore(store->get(), index, options), options.dry_run, console);
    // Without it nobody knows what the folder may lose.
    absl::StatusOr<Published> found = PublishedIn(store->get(), index);
    if (!found.ok()) return status != kSuccess ? status : Fail(found.status(), console);
    published = *std::move(found);
  }
  if (!place.folder.empty()) {
    const absl::StatusOr<Pruned> pruned = PruneFolder(place.folder, index, options, published);
    status = Worse(status,
                   TellPrune(*ViewFolder(place.folder), index, pruned, options.dry_run, console));
  }
  return status;
}

}  // namespace sightline
