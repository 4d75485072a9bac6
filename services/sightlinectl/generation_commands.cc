#include "services/sightlinectl/generation_commands.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/config/table.h"

namespace sightline {
namespace {

// The command line of all of them: words, and the store.
struct Arguments {
  std::vector<std::string> words;
  std::string store;
};

// When the command is over already, the result is false and `status` the exit status.
bool Parse(const Command& command, Flags* flags, const std::vector<std::string>& args,
           size_t min_words, size_t max_words, const Console& console, Arguments* arguments,
           int* status) {
  flags->String("store", "DIR", "store that holds the index", &arguments->store);
  if (!ParseArguments(command, flags, args, console, &arguments->words, status)) return false;
  const size_t count = arguments->words.size();
  if (count >= min_words && count <= max_words && !arguments->store.empty()) return true;
  *status = UsageError(
      command,
      absl::StrCat("give an index", min_words > 1 ? ", a generation" : "", " and --store DIR"),
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
  const std::string& index = arguments.words[0];
  std::string generation;
  if (arguments.words.size() == 2) {
    generation = arguments.words[1];
  } else {
    ASSIGN_OR_RETURN(const auto current, ReadCurrent(arguments.store, index));
    generation = current.generation();
  }
  ASSIGN_OR_RETURN(const auto manifest, ReadGenerationManifest(arguments.store, index, generation));
  VerifyOptions options;
  options.sha256 = true;
  VerifySummary summary;
  RETURN_IF_ERROR(
      VerifyGeneration(arguments.store, manifest, options, CallContext::Unbounded(), &summary));
  std::set<std::string> models = {manifest.encoder_model()};
  for (NamedReranker& reranker : RerankersOf(manifest)) models.insert(std::move(reranker.model));
  for (const std::string& model : models) {
    RETURN_IF_ERROR(
        OpenModelBundle(ModelDirectory(arguments.store, model), /*verify_checksums=*/true)
            .status());
  }
  RETURN_IF_ERROR(CheckEmbeddingSpace(arguments.store, manifest));
  return absl::StrCat(index, " ", generation, " is whole: ", WithThousands(summary.files_read),
                      " files, ", WithThousands(summary.bytes_read), " bytes, ", models.size(),
                      models.size() == 1 ? " model\n" : " models\n");
}

}  // namespace

int RunPublish(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  if (!Parse(kPublishCommand, &flags, args, 2, 2, console, &arguments, &status)) return status;
  const std::string& index = arguments.words[0];
  return TellCurrent(index, PublishGeneration(arguments.store, index, arguments.words[1]), console);
}

int RunRollback(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  if (!Parse(kRollbackCommand, &flags, args, 1, 1, console, &arguments, &status)) return status;
  const std::string& index = arguments.words[0];
  return TellCurrent(index, RollBackGeneration(arguments.store, index), console);
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
  if (!Parse(kPruneCommand, &flags, args, 1, 1, console, &arguments, &status)) return status;
  const absl::StatusOr<bool> published = WasPublished(arguments.store, arguments.words[0]);
  if (!published.ok()) return Fail(published.status(), console);
  if (!*published) {
    console.out << "nothing to remove: index '" << arguments.words[0] << "' was never published in "
                << arguments.store << "\n";
    return kSuccess;
  }
  const auto summary = PruneGenerations(arguments.store, arguments.words[0], options, absl::Now());
  if (!summary.ok()) return Fail(summary.status(), console);
  TellPruned(*summary, options.dry_run, console);
  for (const absl::Status& problem : summary->problems) {
    status = Worse(status, Fail(problem, console));
  }
  return status;
}

int RunVerify(const std::vector<std::string>& args, const Console& console) {
  Flags flags;
  Arguments arguments;
  int status = kSuccess;
  if (!Parse(kVerifyCommand, &flags, args, 1, 2, console, &arguments, &status)) return status;
  const auto text = Verify(arguments);
  if (!text.ok()) return Fail(text.status(), console);
  console.out << *text;
  return kSuccess;
}

}  // namespace sightline
