#include "services/evaluator/evaluator_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"

namespace sightline {
namespace {

constexpr char kTextToImage[] = "text-to-image";
constexpr char kImageToText[] = "image-to-text";
constexpr char kBoth[] = "both";
constexpr char kFirstCaption[] = "first";
constexpr char kAllCaptions[] = "all";

// What `parse` reads between commas, none twice.
template <typename T, typename Parse>
absl::StatusOr<std::vector<T>> ParseList(absl::string_view flag, const std::string& text,
                                         absl::string_view what, const Parse& parse) {
  std::vector<T> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    T number = 0;
    if (!parse(part, &number) || std::count(numbers.begin(), numbers.end(), number) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, ": '", part, "' is no ", what,
                       " that does not stand before; numbers have commas between"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

void StoreFlags::Define(Flags* flags) {
  flags->String("store", "DIR", "the store with indexes and models", &options.store);
  flags->String("images-index", "NAME", "index of pictures; default images", &options.images_index);
  flags->String("captions-index", "NAME", "index of their captions; default captions",
                &options.captions_index);
  flags->String("language", "CODE", "language of the captions; default en", &options.language);
  flags->String("reranker", "NAME", "which of the generations' rerankers; default: the default one",
                &options.reranker);
  flags->String("direction", "WHICH", "text-to-image, image-to-text or both; default both",
                &direction);
  flags->Switch("deterministic", "one item or pair at a time, as a fleet with that set",
                &options.deterministic);
  flags->Int("threads", "cores to use in this process; default: all", 1, limits::kMaxThreads,
             &threads);
}

void StoreFlags::DefinePrecision(Flags* flags, absl::string_view help) {
  flags->String("precision", "NAME", help, &precision);
}

void StoreFlags::DefineCaptions(Flags* flags) {
  flags->String("captions", "WHICH",
                "first: a picture's first caption asks, and whatever has it is right; all: every "
                "caption asks, and its own picture alone is right, as the papers count; default "
                "first",
                &captions);
}

absl::Status StoreFlags::Check() const {
  if (options.store.empty()) return absl::InvalidArgumentError("give --store DIR");
  if (precision != "float32" && precision != "bfloat16" && precision != "int8") {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision: '", precision, "' is not float32, bfloat16 or int8"));
  }
  if (captions != kFirstCaption && captions != kAllCaptions) {
    return absl::InvalidArgumentError(
        absl::StrCat("--captions: '", captions, "' is not ", kFirstCaption, " or ", kAllCaptions));
  }
  if (direction == kTextToImage || direction == kImageToText || direction == kBoth) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--direction: '", direction, "' is not ",
                                                 kTextToImage, ", ", kImageToText, " or ", kBoth));
}

bool StoreFlags::every_caption() const {
  return captions == kAllCaptions;
}

EvaluationStoreOptions StoreFlags::StoreOptions() const {
  EvaluationStoreOptions with_rule = options;
  with_rule.rule = every_caption() ? RelevanceRule::kOwn : RelevanceRule::kSameWords;
  return with_rule;
}

std::vector<Direction> StoreFlags::Directions() const {
  std::vector<Direction> directions;
  if (direction != kImageToText) directions.push_back(Direction::kTextToImage);
  if (direction != kTextToImage) directions.push_back(Direction::kImageToText);
  return directions;
}

void FleetFlags::Define(Flags* flags, absl::string_view router_help) {
  flags->String("router", "ADDR", router_help, &router);
  flags->Int("parallel", "requests under way at once; default 4", 1, 256, &parallel);
  flags->Duration("timeout", "how long to wait for one answer; default 30s", &timeout);
  flags->String("recall", "R",
                "share of the nearest items that a fleet is to find, more than 0, at most 1; "
                "default: as its indexes declare",
                &recall);
  flags->Int("effort", "or how hard it is to look, in what its indexes count it in", 1,
             limits::kMaxEffort, &effort);
}

absl::Status FleetFlags::Check() const {
  if (recall.empty()) return absl::OkStatus();
  if (effort.has_value()) {
    return absl::InvalidArgumentError("--recall and --effort say the same; give one");
  }
  float share = 0;
  if (absl::SimpleAtof(recall, &share) && share > 0 && share <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--recall: '", recall, "' is not more than 0 and at most 1"));
}

LiveRankerOptions FleetFlags::RankerOptions(const EvaluationStore& store) const {
  LiveRankerOptions options;
  const auto ref_of = [](const StoredIndex& index) {
    return GenerationRef{index.manifest().index(), index.manifest().generation(),
                         index.manifest().embedding().space()};
  };
  options.images = ref_of(store.images());
  options.captions = ref_of(store.captions());
  options.image_reranker = store.reranker(Direction::kTextToImage).name;
  options.caption_reranker = store.reranker(Direction::kImageToText).name;
  options.parallel = parallel;
  options.timeout = timeout;
  options.effort.effort = effort;
  float share = 0;
  if (absl::SimpleAtof(recall, &share)) options.effort.recall = share;
  return options;
}

absl::StatusOr<std::vector<int>> ParseNumbers(absl::string_view flag, const std::string& text,
                                              int min, int max) {
  return ParseList<int>(flag, text, absl::StrCat("whole number from ", min, " to ", max),
                        [min, max](absl::string_view part, int* number) {
                          return absl::SimpleAtoi(part, number) && *number >= min && *number <= max;
                        });
}

absl::StatusOr<std::vector<float>> ParseLambdas(absl::string_view flag, const std::string& text) {
  return ParseList<float>(flag, text, "number from 0 to 1",
                          [](absl::string_view part, float* lambda) {
                            return absl::SimpleAtof(part, lambda) &&
                                   Validate(Combination{CombinationKind::kAddLambda, *lambda}).ok();
                          });
}

absl::StatusOr<OpenedStore> OpenStore(const StoreFlags& flags, const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  OpenedStore opened;
  opened.pool = std::make_unique<ComputePool>(flags.threads);
  EvaluationStoreOptions options = flags.StoreOptions();
  options.precisions = StorePrecisions::All(flags.precision);
  ASSIGN_OR_RETURN(opened.store, EvaluationStore::Open(options, opened.pool.get(), call));
  return opened;
}

absl::Status WriteIfAsked(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : WriteFileAtomically(path, text);
}

absl::Status CheckCanWrite(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  // A terminal, a pipe or what a shell has opened takes what comes.
  const bool opened = absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
  if (path.empty() || opened || (exists(found) && !is_regular_file(found))) return absl::OkStatus();
  const std::string folder = std::filesystem::path(PathOf(path)).parent_path().string();
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return FileError("write below", folder, errno);
}

std::string PathOf(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  if (error) return file;
  const std::string path = std::filesystem::weakly_canonical(whole, error).string();
  return error ? file : path;
}

}  // namespace sightline
