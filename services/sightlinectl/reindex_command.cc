#include "services/sightlinectl/reindex_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/bundle/vector_dtype.h"
#include "common/index/effort_curve.h"
#include "common/indexing/index_report.h"
#include "common/indexing/index_settings.h"
#include "services/sightlinectl/reindex.h"
#include "services/sightlinectl/store_command.h"

namespace sightline {
namespace {

struct Arguments {
  ReindexOptions options;
  IndexSettings settings;
  std::string vector_dtype;
  int threads = UsableCores();
  bool publish = false;
};

void DefineFlags(Arguments* arguments, Flags* flags) {
  AddIndexFlags("", flags, &arguments->settings);
  flags->String("generation", "NAME", "whose items they are; default: what CURRENT names",
                &arguments->options.base);
  flags->String("generation-name", "NAME", "of the new one; default: a hash of what it is made of",
                &arguments->options.generation);
  flags->String("query-index", "NAME",
                "index whose items are what this one is asked with; default: the queries that "
                "the generation was probed with",
                &arguments->options.query_index);
  flags->String("vector-dtype", "NAME",
                "what embeddings are stored as, float32 or float16; default: as they are",
                &arguments->vector_dtype);
  flags->Int("threads", "that build; default: the cores there are", 1, limits::kMaxThreads,
             &arguments->threads);
  flags->Switch("publish", "make it the one that servers should serve", &arguments->publish);
}

void Tell(const ReindexOptions& options, const Reindexed& made, const Console& console) {
  const bundle::v1::GenerationManifest& manifest = made.manifest;
  if (made.already_there) console.err << "it was there already\n";
  for (int i = 0; i < manifest.shards_size(); ++i) {
    const EffortCurve curve(manifest.shards(i));
    if (curve.empty()) continue;
    const int effort = curve.EffortFor(DefaultRecallOf(manifest), kRecallAmong);
    if (effort == limits::kMaxEffort) {
      console.err << "shard " << i << ": compares all, unless less is asked for\n";
      continue;
    }
    console.err << absl::StrFormat(
        "shard %d: finds %.4f of the ten best at effort %d, in %.3f ms\n", i,
        curve.RecallAt(effort, kRecallAmong), effort, curve.SecondsAt(effort) * 1e3);
  }
  const std::string report = JoinPath(
      GenerationDirectory(options.store, manifest.index(), manifest.generation()), kReportFile);
  // Where nothing was chosen or built there is none.
  if (FileExists(report)) console.err << "report: " << report << "\n";
  console.out << manifest.generation() << "\n";
}

absl::Status MakeAndPublish(const Arguments& arguments, const Console& console) {
  ComputePool pool(arguments.threads);
  const CallContext call = CallContext::Unbounded();
  Progress progress(Progress::OnStandardError(), call.clock());
  ASSIGN_OR_RETURN(const Reindexed made, Reindex(arguments.options, &pool, call, &progress));
  Tell(arguments.options, made, console);
  if (!arguments.publish) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bundle::v1::CurrentGeneration current,
                   PublishGeneration(arguments.options.store, arguments.options.index,
                                     made.manifest.generation()));
  console.err << arguments.options.index << " is now " << current.generation() << " (sequence "
              << current.sequence() << ")\n";
  return absl::OkStatus();
}

// Names as they are typed, that of a kind as it is.
std::string AsFlags(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"flat_int8", "flat_int8"}, {"_", "-"}});
}

}  // namespace

int RunReindex(const std::vector<std::string>& args, const Console& console) {
  Arguments arguments;
  Flags flags;
  DefineFlags(&arguments, &flags);
  StoreArguments store;
  int status = kSuccess;
  if (!ParseStoreCommand(kReindexCommand, &flags, args, {1, 1, Places::kOne}, console, &store,
                         &status)) {
    return status;
  }
  if (store.place.is_remote()) {
    return UsageError(kReindexCommand,
                      "it works in a folder: bring the generation there with fetch, reindex it, "
                      "and publish it with --store and --object-store",
                      console);
  }
  absl::StatusOr<IndexWish> wish = WishOf(arguments.settings);
  if (!wish.ok()) return UsageError(kReindexCommand, AsFlags(wish.status().message()), console);
  if (wish->is_empty()) {
    return UsageError(kReindexCommand,
                      "say which index: --kind, --recall, --bytes-per-item or --fastest", console);
  }
  ReindexOptions& options = arguments.options;
  if (!arguments.vector_dtype.empty()) {
    const absl::StatusOr<Dtype> dtype = ParseVectorDtype(arguments.vector_dtype);
    if (!dtype.ok()) {
      return UsageError(kReindexCommand, absl::StrCat("--vector-dtype: ", dtype.status().message()),
                        console);
    }
    options.vector_dtype = *dtype;
  }
  options.store = store.place.folder;
  options.index = store.words[0];
  options.wish = *std::move(wish);
  const absl::Status made = MakeAndPublish(arguments, console);
  if (made.ok()) return kSuccess;
  return FailInStore(made, store.place, options.index, options.base, console);
}

}  // namespace sightline
