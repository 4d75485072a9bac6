#include "services/corpus_encoder/corpus_encoder_config.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/layout.h"
#include "common/bundle/vector_dtype.h"
#include "common/config/command_line.h"
#include "common/indexing/index_settings.h"

namespace sightline {
namespace {

constexpr int kMaxWorkers = 10'000;

// What the keys of a kind of corpus are called.
struct CorpusKeys {
  CorpusKind kind;
  absl::string_view root, annotations;  // "": it has none
  bool users_own;                       // `root` is required, and `id_prefix` is taken
};
constexpr CorpusKeys kCorpusKeys[] = {
    {CorpusKind::kFolder, "root", "captions", true},
    {CorpusKind::kStamps, "root", "", false},
    {CorpusKind::kClipArt, "png_root", "svg_root", false},
    {CorpusKind::kEmoji, "font", "annotations", false},
    {CorpusKind::kRegions, "root", "", true},
    {CorpusKind::kNpz, "root", "captions", true},
    {CorpusKind::kPrecomp, "root", "", true},
    {CorpusKind::kKarpathy, "file", "", true},
    {CorpusKind::kCoco, "file", "", true},
    {CorpusKind::kFlickr, "file", "", true},
    {CorpusKind::kMulti30k, "root", "", true},
    {CorpusKind::kTextCaps, "file", "", true},
};

// Those of a folder for what is no kind.
const CorpusKeys& KeysOf(absl::string_view kind) {
  for (const CorpusKeys& keys : kCorpusKeys) {
    if (CorpusKindName(keys.kind) == kind) return keys;
  }
  return kCorpusKeys[0];
}

void ReadPublished(ConfigReader& section, CorpusSpec& spec) {
  for (const absl::string_view key : PublishedKeys()) {
    if (!section.Has(key)) continue;
    const absl::Status set = SetPublished(key, section.String(key, ""), spec);
    if (!set.ok()) section.AddProblem(key, set.message());
  }
}

CorpusSpec ReadCorpusSpec(ConfigReader section, const std::string& language) {
  const CorpusKeys& keys = KeysOf(section.Choice("kind", "folder", CorpusKindNames()));
  CorpusSpec spec;
  spec.kind = keys.kind;
  spec.languages = {language};
  spec.root = keys.users_own ? section.RequiredString(keys.root) : section.String(keys.root, "");
  if (!keys.annotations.empty()) spec.annotations = section.String(keys.annotations, "");
  if (IsPublished(keys.kind)) {
    ReadPublished(section, spec);
  } else if (keys.users_own) {
    spec.id_prefix = section.String("id_prefix", "");
  }
  return spec;
}

std::string ReadName(ConfigReader& root, absl::string_view key, absl::string_view otherwise,
                     int max_length) {
  std::string name = root.String(key, otherwise);
  if (!name.empty() && !IsValidName(name, max_length)) {
    root.AddProblem(key, absl::StrCat("must be made of a-z, 0-9, _ and -, start with a letter or "
                                      "digit and have at most ",
                                      max_length, " characters"));
  }
  return name;
}

// "ID" or "NAME=ID", one under `reranker` or a list under `rerankers`.  The default comes
// first: the one without a name, or else the first.
std::vector<NamedReranker> ReadRerankers(ConfigReader& root) {
  const std::string only = root.String("reranker", "");
  std::vector<std::string> texts = root.StringList("rerankers", 0, limits::kMaxRerankers);
  if (!only.empty() && !texts.empty()) {
    root.AddProblem("rerankers", "excludes reranker; put all of them here");
  }
  const char* const key = only.empty() ? "rerankers" : "reranker";
  if (!only.empty()) texts = {only};
  std::vector<NamedReranker> rerankers;
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const bool named = absl::StrContains(text, "=");
    NamedReranker reranker{named ? parts.first : kDefaultReranker, named ? parts.second : text};
    const bool first = reranker.name == kDefaultReranker;
    rerankers.insert(first ? rerankers.begin() : rerankers.end(), std::move(reranker));
  }
  if (const absl::Status status = CheckRerankers(rerankers); !status.ok()) {
    root.AddProblem(key, status.message());
  }
  return rerankers;
}

void ReadLimits(ConfigReader root, CorpusEncoderConfig& config) {
  CorpusEncoderOptions& job = config.job;
  ConfigReader section = root.Section("limits");
  const DecodeLimits& defaults = job.limits;
  job.limits.max_bytes = section.Bytes("max_image_bytes", defaults.max_bytes, 1, int64_t{1} << 30);
  job.limits.max_pixels = section.Int("max_image_pixels", defaults.max_pixels, 1, 1'000'000'000);
  job.limits.max_side = static_cast<int>(
      section.Int("max_image_side", defaults.max_side, 1, limits::kMaxConfiguredImageSide));
  job.max_decode_bytes =
      section.Bytes("max_decode_bytes", job.max_decode_bytes, 1, int64_t{1} << 40);
  config.max_decode_time = section.Duration("max_decode_time", config.max_decode_time,
                                            absl::Milliseconds(1), absl::Hours(1));
  job.max_quarantine_share = section.Double("max_quarantine_share", job.max_quarantine_share, 0, 1);
  job.recall_floor = root.Double("recall_floor", job.recall_floor, 0, 1);
}

// Which worker this is.  In an Indexed Job of Kubernetes each pod is told its number.
WorkShare ReadShare(ConfigReader& root) {
  WorkShare share;
  share.workers = static_cast<int>(root.Int("workers", 1, 1, kMaxWorkers));
  const char* const index = std::getenv("JOB_COMPLETION_INDEX");
  int64_t otherwise = 0;
  if (share.workers > 1 && !root.Has("worker") &&
      (index == nullptr || !absl::SimpleAtoi(index, &otherwise))) {
    root.AddProblem("worker",
                    "is needed with more than one of workers, unless the environment "
                    "variable JOB_COMPLETION_INDEX has it");
  }
  if (share.workers == 1 && index != nullptr && absl::string_view(index) != "0") {
    root.AddProblem("workers", absl::StrCat("is 1, but JOB_COMPLETION_INDEX is ", index,
                                            ": each pod of an Indexed Job would do all the work; "
                                            "set workers to the job's completions"));
  }
  share.worker = static_cast<int>(root.Int("worker", otherwise, 0, share.workers - 1));
  if (share.worker < 0 || share.worker >= share.workers) {
    root.AddProblem(
        "worker",
        absl::StrCat("is ", share.worker, " by JOB_COMPLETION_INDEX, which must be below workers, ",
                     share.workers));
  }
  return share;
}

// A YAML scalar that means `text`, whatever is in it.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// "folder:/a/b" as an entry of the list of corpora; "karpathy:/a.json,images=/b" too.
std::string CorpusYaml(absl::string_view value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits(':', 1));
  const CorpusKeys& keys = KeysOf(parts.first);
  std::string yaml = absl::StrCat("  - kind: ", Quoted(parts.first), "\n");
  std::vector<absl::string_view> settings = {parts.second};
  if (IsPublished(keys.kind)) settings = absl::StrSplit(parts.second, ',');
  if (!settings[0].empty()) {
    absl::StrAppend(&yaml, "    ", keys.root, ": ", Quoted(settings[0]), "\n");
  }
  for (size_t i = 1; i < settings.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> setting =
        absl::StrSplit(settings[i], absl::MaxSplits('=', 1));
    absl::StrAppend(&yaml, "    ", Quoted(setting.first), ": ", Quoted(setting.second), "\n");
  }
  return yaml;
}

// What the flags set, each as text: ReadCorpusEncoderConfig is who judges it.
struct FlagValues {
  CorpusEncoderFlags flags;
  std::string store, object_store, model, images_index, captions_index, generation;
  std::string feature_dtype, vector_dtype, shards, base, worker, workers, device, precision,
      threads, max_quarantine_share;
  std::vector<std::string> rerankers, corpora;
  bool no_publish = false;
};

Flags DefineFlags(FlagValues* values) {
  Flags flags;
  flags.String("config", "FILE", "YAML; services/corpus_encoder/README.md lists every key",
               &values->flags.config_path);
  flags.String("store", "DIR", "where models/ and indexes/ lie", &values->store);
  flags.String("object-store", "URL",
               "s3://BUCKET/FOLDER that models and the base come from, and generations go to",
               &values->object_store);
  flags.String("model", "SHA256", "the bundle that encodes", &values->model);
  flags.Strings("reranker", "[NAME=]SHA256",
                "a bundle that reranks, and its name; repeatable, see README.md for which is the "
                "default one; default: the one that encodes, if it can",
                &values->rerankers);
  flags.String("feature-dtype", "NAME",
               "what pictures' rows for rerankers are stored as: float16, float32, or int8 with a "
               "scale a row; default float16",
               &values->feature_dtype);
  flags.String("vector-dtype", "NAME",
               "what embeddings are stored as: float32, or float16, half the size; default float32",
               &values->vector_dtype);
  flags.Strings("corpus", "KIND[:PATH]",
                "folder:PATH, stamps, clipart or emoji; of regions regions:PATH, npz:PATH or "
                "precomp:PATH; of published sets karpathy:FILE,images=DIR and others; repeatable",
                &values->corpora);
  flags.String("shards", "N", "shards of each index; default 1", &values->shards);
  flags.String("images-index", "NAME", "default images", &values->images_index);
  flags.String("captions-index", "NAME", "default captions", &values->captions_index);
  flags.String("generation", "NAME", "default: a hash of the content", &values->generation);
  flags.String("base", "GENERATION",
               "carry unchanged items over from it, or from none; default: what CURRENT names",
               &values->base);
  flags.String("worker", "I",
               "which of the workers this is, from 0; default: $JOB_COMPLETION_INDEX",
               &values->worker);
  flags.String("workers", "N", "how many processes share the job; default 1", &values->workers);
  flags.String("device", "KIND",
               "cpu, or cuda, on whose device 0 the encoder computes; default: $SIGHTLINE_DEVICE, "
               "else cpu",
               &values->device);
  flags.String("precision", "NAME",
               "float32, bfloat16 or int8, that the encoder computes in; default float32",
               &values->precision);
  flags.String("threads", "N", "core budget; default: the cores there are", &values->threads);
  flags.String("max-quarantine-share", "X",
               "how many of the pictures may be bad, 0 to 1; default 0.05",
               &values->max_quarantine_share);
  flags.Switch("no-publish", "leave CURRENT alone", &values->no_publish);
  flags.Switch("check", "read the configuration, report its problems, and stop",
               &values->flags.check);
  flags.Switch("help", "print this and stop", &values->flags.help);
  return flags;
}

// The flags as a configuration file would have them.
std::string YamlOf(const FlagValues& values) {
  std::string yaml;
  const auto add = [&](absl::string_view key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&yaml, key, ": ", Quoted(value), "\n");
  };
  add("store", values.store);
  add("object_store:\n  url", values.object_store);
  add("model", values.model);
  if (!values.rerankers.empty()) absl::StrAppend(&yaml, "rerankers:\n");
  for (const std::string& reranker : values.rerankers) {
    absl::StrAppend(&yaml, "  - ", Quoted(reranker), "\n");
  }
  add("feature_dtype", values.feature_dtype);
  add("vector_dtype", values.vector_dtype);
  add("shards", values.shards);
  add("images_index", values.images_index);
  add("captions_index", values.captions_index);
  add("generation", values.generation);
  add("base", values.base);
  add("worker", values.worker);
  add("workers", values.workers);
  if (values.no_publish) absl::StrAppend(&yaml, "publish: false\n");
  add("device:\n  kind", values.device);
  if (!values.precision.empty() || !values.threads.empty()) absl::StrAppend(&yaml, "compute:\n");
  add("  precision", values.precision);
  add("  threads", values.threads);
  add("limits:\n  max_quarantine_share", values.max_quarantine_share);
  if (!values.corpora.empty()) absl::StrAppend(&yaml, "corpora:\n");
  for (const std::string& corpus : values.corpora) yaml += CorpusYaml(corpus);
  return yaml;
}

}  // namespace

absl::StatusOr<CorpusEncoderConfig> ReadCorpusEncoderConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  CorpusEncoderConfig config;
  CorpusEncoderOptions& job = config.job;
  job.store = root.RequiredString("store");
  const ObjectStoreConfig object_store = ReadObjectStoreConfig(root);
  job.object_store = object_store.store;
  job.fetch = object_store.fetch;
  config.model = root.RequiredString("model");
  if (!config.model.empty() && !IsSha256Hex(config.model)) {
    root.AddProblem("model", "must be a bundle's id: 64 lower-case hex digits");
  }
  config.rerankers = ReadRerankers(root);
  job.feature_dtype = ParseFeatureDtype(root.Choice("feature_dtype", DtypeName(job.feature_dtype),
                                                    FeatureDtypeNames()))
                          .value_or(job.feature_dtype);
  job.vector_dtype =
      ParseVectorDtype(root.Choice("vector_dtype", DtypeName(job.vector_dtype), VectorDtypeNames()))
          .value_or(job.vector_dtype);
  job.index = ReadIndexWish(root, "index_build");
  config.verify_model = root.Bool("verify_model", true);
  job.images_index = ReadName(root, "images_index", job.images_index, limits::kMaxIndexNameLength);
  job.captions_index =
      ReadName(root, "captions_index", job.captions_index, limits::kMaxIndexNameLength);
  if (job.images_index.empty()) root.AddProblem("images_index", "must not be empty");
  if (job.captions_index.empty()) root.AddProblem("captions_index", "must not be empty");
  if (job.images_index == job.captions_index) {
    root.AddProblem("captions_index", "must differ from images_index");
  }
  job.generation = ReadName(root, "generation", "", limits::kMaxGenerationNameLength);
  job.caption_language = root.String("caption_language", job.caption_language);
  for (const ConfigReader& section : root.Sections("corpora", /*min_count=*/1)) {
    CorpusSpec spec = ReadCorpusSpec(section, job.caption_language);
    absl::StrAppend(&job.corpora, static_cast<int>(spec.kind), " ", spec.root, " ",
                    spec.annotations, " ", spec.id_prefix, "\n");
    config.corpora.push_back(std::move(spec));
  }
  job.shard_count = static_cast<int>(root.Int("shards", job.shard_count, 1, limits::kMaxShards));
  job.publish = root.Bool("publish", job.publish);
  job.base = ReadName(root, "base", "", limits::kMaxGenerationNameLength);
  job.share = ReadShare(root);
  job.await.stall_timeout = root.Duration("stall_timeout", job.await.stall_timeout,
                                          absl::Seconds(1), absl::Hours(24 * 7));
  job.unit_size = static_cast<int>(root.Int("unit_size", job.unit_size, 1, 4096));

  config.compute = ReadComputeConfig(root);
  config.precision = ReadJobPrecisionOptions(root);
  config.place = ReadModelPlaceConfig(root);
  job.deterministic = config.compute.deterministic;
  job.decode_threads =
      static_cast<int>(root.Int("decode_threads", config.compute.threads, 1, limits::kMaxThreads));
  job.read_threads =
      static_cast<int>(root.Int("read_threads", config.compute.threads, 1, limits::kMaxThreads));
  ReadLimits(root, config);
  root.Section("log").Choice("level", "info", {"debug", "info", "warning", "error"});
  RETURN_IF_ERROR(file->Finish());
  return config;
}

absl::StatusOr<CorpusEncoderFlags> ParseCorpusEncoderFlags(
    const std::vector<std::string>& arguments) {
  FlagValues values;
  ASSIGN_OR_RETURN(const std::vector<std::string> words, DefineFlags(&values).Parse(arguments));
  if (!words.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown argument '", words[0], "'"));
  }
  values.flags.yaml = YamlOf(values);
  if (!values.flags.config_path.empty() && !values.flags.yaml.empty()) {
    return absl::InvalidArgumentError(
        "--config has the whole configuration; it cannot be combined with other settings");
  }
  return values.flags;
}

std::string CorpusEncoderUsage() {
  FlagValues values;
  return absl::StrCat(
      "usage: corpus_encoder --config FILE [--check]\n"
      "       corpus_encoder --store DIR --model SHA256 --corpus KIND[:PATH]... [settings]\n\n",
      DefineFlags(&values).Help(),
      "\nEnds with 0 when done, 1 on failure, 2 on wrong usage, 75 when interrupted, when a "
      "picture\n"
      "changed, or when other workers do not deliver: the same command goes on where it "
      "stopped.\n");
}

}  // namespace sightline
