#include "services/corpus_encoder/corpus_encoder_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

CorpusSpec ReadCorpusSpec(ConfigReader section, const std::string& language) {
  CorpusSpec spec;
  spec.languages = {language};
  const std::string kind =
      section.Choice("kind", "folder", {"folder", "stamps", "clipart", "emoji"});
  spec.kind = ParseCorpusKind(kind).value_or(CorpusKind::kFolder);
  switch (spec.kind) {
    case CorpusKind::kFolder:
      spec.root = section.RequiredString("root");
      spec.annotations = section.String("captions", "");
      spec.id_prefix = section.String("id_prefix", "");
      break;
    case CorpusKind::kStamps:
      spec.root = section.String("root", "");
      break;
    case CorpusKind::kClipArt:
      spec.root = section.String("png_root", "");
      spec.annotations = section.String("svg_root", "");
      break;
    case CorpusKind::kEmoji:
      spec.root = section.String("font", "");
      spec.annotations = section.String("annotations", "");
      break;
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

void ReadLimits(ConfigReader root, CorpusEncoderOptions& job) {
  ConfigReader limits = root.Section("limits");
  const DecodeLimits& defaults = job.limits;
  job.limits.max_bytes = limits.Bytes("max_image_bytes", defaults.max_bytes, 1, int64_t{1} << 30);
  job.limits.max_pixels = limits.Int("max_image_pixels", defaults.max_pixels, 1, 1'000'000'000);
  job.limits.max_side =
      static_cast<int>(limits.Int("max_image_side", defaults.max_side, 1, 100'000));
  job.max_decode_bytes =
      limits.Bytes("max_decode_bytes", job.max_decode_bytes, 1, int64_t{1} << 40);
  job.max_quarantine_share = limits.Double("max_quarantine_share", job.max_quarantine_share, 0, 1);
}

// A YAML scalar that means `text`, whatever is in it.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// "folder=/a/b" as an entry of the list of corpora.
std::string CorpusYaml(absl::string_view value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits('=', 1));
  const absl::string_view root_key = parts.first == "clipart" ? "png_root"
                                     : parts.first == "emoji" ? "font"
                                                              : "root";
  std::string yaml = absl::StrCat("  - kind: ", Quoted(parts.first), "\n");
  if (!parts.second.empty()) {
    absl::StrAppend(&yaml, "    ", root_key, ": ", Quoted(parts.second), "\n");
  }
  return yaml;
}

// Flags with a value, and the key that each sets; `limits.` and `compute.` are sections.
constexpr std::pair<absl::string_view, absl::string_view> kValueFlags[] = {
    {"--store", "store"},
    {"--model", "model"},
    {"--images-index", "images_index"},
    {"--captions-index", "captions_index"},
    {"--generation", "generation"},
    {"--shards", "shards"},
    {"--threads", "compute.threads"},
    {"--max-quarantine-share", "limits.max_quarantine_share"},
};

// Gathers flags into YAML.
class FlagReader {
 public:
  explicit FlagReader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  absl::StatusOr<CorpusEncoderFlags> Read() {
    for (next_ = 0; next_ < arguments_.size(); ++next_) {
      RETURN_IF_ERROR(ReadOne(arguments_[next_]));
    }
    if (!flags_.config_path.empty() && (!yaml_.empty() || !corpora_.empty())) {
      return absl::InvalidArgumentError(
          "--config has the whole configuration; it cannot be combined with other settings");
    }
    flags_.yaml = yaml_;
    if (!corpora_.empty()) absl::StrAppend(&flags_.yaml, "corpora:\n", corpora_);
    return flags_;
  }

 private:
  absl::Status ReadOne(const std::string& argument) {
    if (argument == "--help") {
      flags_.help = true;
      return absl::OkStatus();
    }
    if (argument == "--check") {
      flags_.check = true;
      return absl::OkStatus();
    }
    if (argument == "--no-publish") {
      absl::StrAppend(&yaml_, "publish: false\n");
      return absl::OkStatus();
    }
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    const bool has_value = absl::StrContains(argument, '=');
    return SetValue(parts.first, has_value, parts.second);
  }

  absl::Status SetValue(const std::string& flag, bool has_value, std::string value) {
    const auto known = std::find_if(std::begin(kValueFlags), std::end(kValueFlags),
                                    [&](const auto& entry) { return entry.first == flag; });
    const bool listed = known != std::end(kValueFlags);
    if (!listed && flag != "--config" && flag != "--corpus") {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", flag, "'"));
    }
    if (!has_value) {
      if (next_ + 1 == arguments_.size()) {
        return absl::InvalidArgumentError(absl::StrCat(flag, " needs a value"));
      }
      value = arguments_[++next_];
    }
    if (flag == "--config") {
      flags_.config_path = std::move(value);
    } else if (flag == "--corpus") {
      corpora_ += CorpusYaml(value);
    } else {
      const std::vector<absl::string_view> key = absl::StrSplit(known->second, '.');
      if (key.size() == 2) {
        absl::StrAppend(&yaml_, key[0], ":\n  ", key[1], ": ", Quoted(value), "\n");
      } else {
        absl::StrAppend(&yaml_, key[0], ": ", Quoted(value), "\n");
      }
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  CorpusEncoderFlags flags_;
  std::string yaml_, corpora_;
};

}  // namespace

absl::StatusOr<CorpusEncoderConfig> ReadCorpusEncoderConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  CorpusEncoderConfig config;
  CorpusEncoderOptions& job = config.job;
  job.store = root.RequiredString("store");
  config.model = root.RequiredString("model");
  if (!config.model.empty() && !IsSha256Hex(config.model)) {
    root.AddProblem("model", "must be a bundle's id: 64 lower-case hex digits");
  }
  config.verify_model = root.Bool("verify_model", true);
  job.images_index = ReadName(root, "images_index", job.images_index, kMaxIndexNameLength);
  job.captions_index = ReadName(root, "captions_index", job.captions_index, kMaxIndexNameLength);
  if (job.images_index.empty()) root.AddProblem("images_index", "must not be empty");
  if (job.captions_index.empty()) root.AddProblem("captions_index", "must not be empty");
  if (job.images_index == job.captions_index) {
    root.AddProblem("captions_index", "must differ from images_index");
  }
  job.generation = ReadName(root, "generation", "", kMaxGenerationNameLength);
  job.caption_language = root.String("caption_language", job.caption_language);
  for (const ConfigReader& section : root.Sections("corpora", /*min_count=*/1)) {
    config.corpora.push_back(ReadCorpusSpec(section, job.caption_language));
  }
  job.shard_count = static_cast<int>(root.Int("shards", job.shard_count, 1, kMaxShardCount));
  job.publish = root.Bool("publish", job.publish);
  job.unit_size = static_cast<int>(root.Int("unit_size", job.unit_size, 1, 4096));

  config.compute = ReadComputeConfig(root);
  job.deterministic = config.compute.deterministic;
  job.decode_threads =
      static_cast<int>(root.Int("decode_threads", config.compute.threads, 1, 1024));
  job.read_threads = static_cast<int>(root.Int("read_threads", config.compute.threads, 1, 1024));
  ReadLimits(root, job);
  root.Section("log").Choice("level", "info", {"debug", "info", "warning", "error"});
  RETURN_IF_ERROR(file->Finish());
  return config;
}

absl::StatusOr<CorpusEncoderFlags> ParseCorpusEncoderFlags(
    const std::vector<std::string>& arguments) {
  return FlagReader(arguments).Read();
}

absl::string_view CorpusEncoderUsage() {
  return "usage: corpus_encoder --config FILE [--check]\n"
         "       corpus_encoder --store DIR --model SHA256 --corpus KIND[=PATH]... [settings]\n"
         "\n"
         "  --config FILE            YAML; services/corpus_encoder/README.md lists every key\n"
         "  --check                  read the configuration, report its problems, and stop\n"
         "  --store DIR              where models/ and indexes/ lie\n"
         "  --model SHA256           the bundle that encodes\n"
         "  --corpus KIND[=PATH]     folder=PATH, stamps, clipart or emoji; may be repeated\n"
         "  --shards N               shards of each index (1)\n"
         "  --images-index NAME      (images)\n"
         "  --captions-index NAME    (captions)\n"
         "  --generation NAME        (a hash of the content)\n"
         "  --threads N              core budget (the cores there are)\n"
         "  --max-quarantine-share X how many of the pictures may be bad, 0 to 1 (0.05)\n"
         "  --no-publish             leave CURRENT alone\n"
         "\n"
         "Ends with 0 when done, 1 on failure, 2 on wrong usage, 75 when interrupted: the same\n"
         "command goes on where it stopped.\n";
}

}  // namespace sightline
