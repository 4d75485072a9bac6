#include "services/evaluator/scores_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

constexpr absl::string_view kSuffix = ".npy";

absl::Status CheckGiven(const ScoresFlags& flags) {
  if (flags.model.empty()) return absl::InvalidArgumentError("give --model ID or FOLDER");
  if (flags.corpora.empty()) {
    return absl::InvalidArgumentError("give --corpus regions:FILE, or another corpus of regions");
  }
  if (!absl::EndsWith(flags.out, kSuffix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out: '", flags.out, "' is no name of a file that ends in ", kSuffix));
  }
  if (flags.precision != "float32" && flags.precision != "bfloat16" && flags.precision != "int8") {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision: '", flags.precision, "' is not float32, bfloat16 or int8"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ScoredBy> ParseBy(const std::string& name) {
  if (name == "embeddings") return ScoredBy::kEmbeddings;
  if (name == "pairs") return ScoredBy::kPairs;
  return absl::InvalidArgumentError(
      absl::StrCat("--by: '", name, "' is not embeddings (products of them) or pairs (the ",
                   "cross-encoder's scores)"));
}

}  // namespace

void ScoresFlags::Define(Flags* flags) {
  flags->String("model", "MODEL", "a bundle's id in --store, or its folder", &model);
  flags->String("store", "DIR", "whose models/ has the bundle", &store);
  flags->Strings("corpus", "KIND:PATH", "regions with captions; repeatable", &corpora);
  flags->String("split", "NAME", "train, validation or held_out; default: all pictures", &split);
  flags->Strings("languages", "CODES", "of the captions; default en", &languages);
  flags->Int("captions-per-picture", "in each language, the first ones; default: all", 1, 1000,
             &captions_per_picture);
  flags->String("by", "WHAT", "embeddings, or pairs: by the cross-encoder", &by);
  flags->String("candidates", "FILE.npy",
                "with --by pairs: score the best --depth by these alone; default: all pairs",
                &candidates);
  flags->Int("depth", "of each query in both directions; default 20", 1, limits::kMaxHits, &depth);
  flags->String("protocol", "NAME",
                "with --by pairs: score pairs within its pools alone, as of tables; default whole",
                &protocol);
  flags->String("families", "FILE",
                "a picture, a tab and its family a line: what intervals draw together; default: "
                "each alone",
                &families);
  flags->Switch("without-regions", "of a model that reads words in pictures: show it these alone",
                &without_regions);
  flags->Switch("without-words", "of such a model: show it the regions alone", &without_words);
  flags->Switch("languages-apart",
                "take --candidates in each language apart, as tables --languages each",
                &languages_apart);
  flags->String("out", "FILE.npy", "the matrix; what it took goes to FILE.npy.json", &out);
  flags->String("pairs", "FILE.jsonl",
                "what its rows and columns are; default pairs.jsonl beside --out", &pairs);
  flags->Int("time-queries", "captions that are timed one at a time; default 20, 0: none", 0,
             100'000, &timed_queries);
  flags->Int("timed-pairs",
             "of a cross-encoder, with which a caption is timed; if it needs more, its time is "
             "extrapolated; default 1000",
             1, 1'000'000'000, &timed_pairs);
  flags->Switch("time-only", "score nothing but the captions that are timed; no matrix",
                &time_only);
  flags->String("precision", "NAME", "of the model: float32, bfloat16, int8; default float32",
                &precision);
  flags->Switch("deterministic", "one item or pair at a time, as a fleet with that set",
                &deterministic);
  flags->Int("threads", "cores to use; default: all", 1, limits::kMaxThreads, &threads);
}

absl::StatusOr<ScoresPlan> PlanScores(const ScoresFlags& flags) {
  RETURN_IF_ERROR(CheckGiven(flags));
  ScoresPlan plan;
  ASSIGN_OR_RETURN(plan.by, ParseBy(flags.by));
  if (!flags.split.empty()) {
    ASSIGN_OR_RETURN(plan.split, Within("--split", ParseSplit(flags.split)));
  }
  ASSIGN_OR_RETURN(plan.protocol, Within("--protocol", ParseProtocol(flags.protocol)));
  if (plan.by == ScoredBy::kEmbeddings && !flags.candidates.empty()) {
    return absl::InvalidArgumentError("--candidates is for --by pairs");
  }
  if (flags.depth.has_value() && flags.candidates.empty()) {
    return absl::InvalidArgumentError("--depth is for --candidates; without them all are scored");
  }
  if (plan.by == ScoredBy::kEmbeddings && flags.timed_pairs.has_value()) {
    return absl::InvalidArgumentError("--timed-pairs is for --by pairs");
  }
  plan.depth = static_cast<int>(flags.depth.value_or(plan.depth));
  plan.timed_pairs = flags.timed_pairs.value_or(plan.timed_pairs);
  if (plan.by == ScoredBy::kEmbeddings && plan.protocol.kind != PoolKind::kWhole) {
    return absl::InvalidArgumentError("--protocol is for --by pairs; embeddings score all pairs");
  }
  if (flags.without_regions && flags.without_words) {
    return absl::InvalidArgumentError(
        "--without-regions and --without-words leave nothing of a picture");
  }
  if (flags.languages_apart && flags.candidates.empty()) {
    return absl::InvalidArgumentError("--languages-apart is for --candidates");
  }
  if (flags.time_only && flags.timed_queries == 0) {
    return absl::InvalidArgumentError("--time-only and --time-queries 0 leave nothing to do");
  }
  plan.pairs = flags.pairs;
  const auto slash = flags.out.rfind('/');
  if (slash != std::string::npos) plan.directory = flags.out.substr(0, slash + 1);
  if (plan.pairs.empty()) plan.pairs = absl::StrCat(plan.directory, "pairs.jsonl");
  return plan;
}

}  // namespace sightline
