#include "loadtest/synthesize/synthesize_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/log/progress.h"
#include "loadtest/synthesize/fit_command.h"
#include "loadtest/synthesize/item_vectors.h"
#include "loadtest/synthesize/stored_pairs.h"
#include "loadtest/synthesize/synthesis.h"
#include "loadtest/synthesize/synthetic_shard.h"
#include "loadtest/synthesize/vector_shape.h"

namespace sightline {
namespace {

constexpr Command kSynthesizeCommand = {
    "synthesize",
    "synthesize --store DIR --index NAME --items N {--encoder-model ID | --dimension D} [flags]",
    "Makes and publishes a generation of random items, for which no encoder has to run.  "
    "`synthesize fit --help` tells how their shape is measured.",
    nullptr};

constexpr int64_t kMostShapeBytes = 1 << 20;

struct SynthesizeFlags {
  SynthesisOptions options;
  std::string vector_dtype = DtypeName(kDefaultVectorDtype);
  IndexSettings index;
  std::string shape;
  std::string spectrum;
  std::string like;
  int threads = UsableCores();
  bool no_publish = false;
};

void Define(SynthesizeFlags* values, Flags* flags) {
  SynthesisOptions& options = values->options;
  flags->String("store", "DIR", "store that gets the index", &options.store);
  flags->String("index", "NAME", "index that gets the generation", &options.index);
  flags->Int("items", "how many items", 1, kMostSyntheticItems, &options.items);
  flags->String("encoder-model", "ID", "bundle of the store whose embedding space it is",
                &options.encoder_model);
  flags->Int("dimension", "numbers in an embedding; default: the encoder's", 1,
             limits::kMaxDimension, &options.vectors.dimension);
  flags->Int("shards", "default 1", 1, limits::kMaxShards, &options.shards);
  flags->Int("seed", "another seed, other items; default 1", 0, INT64_MAX, &options.vectors.seed);
  flags->String("shape", "FILE",
                "how vectors are spread, as `synthesize fit` prints it; default: "
                "as the demo's",
                &values->shape);
  flags->String("spectrum", "P", "items' singular values fall as rank^-P instead",
                &values->spectrum);
  flags->String("like", "DIR",
                "grows items from the pictures of that store's index images, and probes them with "
                "its captions",
                &values->like);
  flags->Int("clusters", "groups of items alike; 1 is none; default: one for 32 items", 1,
             kMostSyntheticItems, &options.vectors.clusters);
  flags->String("reranker-model", "ID", "bundle whose item features are made; default: none",
                &options.reranker_model);
  flags->Int("regions", "region rows of an item; default: as many as the reranker reads", 1,
             limits::kMaxModelRegions, &options.regions);
  flags->String("vector-dtype", "NAME", "what embeddings are stored as: float32 or float16",
                &values->vector_dtype);
  AddIndexFlags("index-", flags, &values->index);
  flags->String("generation", "NAME", "default: a hash of all the above", &options.generation);
  flags->Int("threads", "core budget; default: the cores there are", 1, limits::kMaxThreads,
             &values->threads);
  flags->Switch("no-publish", "leave CURRENT alone", &values->no_publish);
}

absl::Status ReadShape(const SynthesizeFlags& values, VectorShape* shape) {
  if (!values.shape.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(values.shape, kMostShapeBytes));
    const absl::StatusOr<VectorShape> read = ParseVectorShape(text);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shape ", values.shape, ": ", read.status().message()));
    }
    *shape = *read;
  }
  if (values.spectrum.empty()) return absl::OkStatus();
  double spectrum = 0;
  if (!absl::SimpleAtod(values.spectrum, &spectrum) || !(spectrum >= 0 && spectrum <= 4)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--spectrum '", values.spectrum, "' is not 0 (all directions alike) to 4"));
  }
  shape->items.exponents = {spectrum, spectrum, spectrum};
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const StoredPairs>> ReadLike(const SynthesizeFlags& values,
                                                            ComputePool* pool,
                                                            const CallContext& call) {
  if (values.like.empty()) return std::shared_ptr<const StoredPairs>();
  if (!values.shape.empty() || !values.spectrum.empty() || values.options.vectors.clusters != 0) {
    return absl::InvalidArgumentError(
        "--shape, --spectrum and --clusters are of vectors that are drawn; leave them or --like "
        "out");
  }
  ASSIGN_OR_RETURN(StoredPairs pairs,
                   ReadStoredPairs(values.like, "images", "captions", pool, call));
  return std::make_shared<const StoredPairs>(std::move(pairs));
}

absl::StatusOr<SynthesisOptions> ReadOptions(const SynthesizeFlags& values, ComputePool* pool,
                                             const CallContext& call) {
  SynthesisOptions options = values.options;
  if (options.items == 0) return absl::InvalidArgumentError("--items is missing");
  RETURN_IF_ERROR(ReadShape(values, &options.vectors.shape));
  ASSIGN_OR_RETURN(options.like, ReadLike(values, pool, call));
  ASSIGN_OR_RETURN(options.vector_dtype, ParseVectorDtype(values.vector_dtype));
  ASSIGN_OR_RETURN(options.index_wish, WishOf(values.index));
  options.publish = !values.no_publish;
  return options;
}

std::string Report(const SynthesisPlan& plan, const SynthesisSummary& summary) {
  const SynthesisOptions& options = plan.options;
  std::string text =
      absl::StrFormat("%s: generation %s, %d items x %d in %d shards, %.2f GB%s\n", options.index,
                      summary.generation, summary.items, options.vectors.dimension, options.shards,
                      static_cast<double>(summary.byte_count) * 1e-9,
                      options.regions == 0 ? ", no features"
                                           : absl::StrFormat(", features %d x %d float16 an item",
                                                             options.regions, plan.region_columns));
  const std::unique_ptr<ItemVectors> vectors = VectorsOf(options);
  absl::StrAppendFormat(&text, "effective dimension %.1f, %d clusters, seed %d\n",
                        vectors->EffectiveDimension(), vectors->clusters(), options.vectors.seed);
  const double seconds = absl::ToDoubleSeconds(summary.write_time);
  if (summary.already_there) {
    absl::StrAppend(&text, "it was there already\n");
  } else if (seconds > 0) {
    absl::StrAppendFormat(&text, "written in %.1f s: %.0f items/s, %.0f MB/s\n", seconds,
                          static_cast<double>(summary.items) / seconds,
                          static_cast<double>(summary.byte_count) * 1e-6 / seconds);
  }
  absl::StrAppend(&text, summary.published ? "published\n"
                         : options.publish ? "it is the current one already\n"
                                           : "not published\n");
  return text;
}

}  // namespace

int RunSynthesize(const std::vector<std::string>& args, const Console& console, bool terminal,
                  const CallContext& call) {
  if (!args.empty() && args.front() == "fit") {
    return RunFit({args.begin() + 1, args.end()}, console, call);
  }
  SynthesizeFlags values;
  Flags flags;
  Define(&values, &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kSynthesizeCommand, &flags, args, console, &words, &status)) return status;
  if (!words.empty()) {
    return UsageError(kSynthesizeCommand, absl::StrCat("unknown argument '", words[0], "'"),
                      console);
  }
  ComputePool pool(values.threads);
  const absl::StatusOr<SynthesisOptions> options = ReadOptions(values, &pool, call);
  const absl::StatusOr<SynthesisPlan> plan =
      options.ok() ? PlanSynthesis(*options) : absl::StatusOr<SynthesisPlan>(options.status());
  if (absl::IsInvalidArgument(plan.status())) {
    return UsageError(kSynthesizeCommand, plan.status().message(), console);
  }
  if (!plan.ok()) return Fail(plan.status(), console);

  Progress::Options progress_options;
  progress_options.terminal = terminal;
  progress_options.write = [&](absl::string_view text) { console.err << text << std::flush; };
  Progress progress(progress_options, call.clock());
  const absl::StatusOr<SynthesisSummary> summary = Synthesize(*plan, call, &pool, &progress);
  if (!summary.ok()) return Fail(summary.status(), console);
  console.out << Report(*plan, *summary);
  return kSuccess;
}

}  // namespace sightline
