// What `scores` is asked for.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_SCORES_FLAGS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_SCORES_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/usable_cores.h"
#include "common/config/command_line.h"
#include "common/dataset/splits.h"
#include "common/evaluation/corpus_scores.h"
#include "common/evaluation/evaluation_pool.h"

namespace sightline {

struct ScoresFlags {
  std::string model, store, split, by, out, pairs, candidates, families;
  std::vector<std::string> corpora, languages;
  std::string protocol = "whole";
  std::string precision = "float32";
  int captions_per_picture = 0;  // 0: all
  absl::optional<int64_t> depth;
  bool languages_apart = false;
  bool deterministic = false;
  bool without_regions = false;
  bool without_words = false;
  bool time_only = false;
  int timed_queries = 20;
  absl::optional<int64_t> timed_pairs;
  int threads = UsableCores();

  void Define(Flags* flags);
};

enum class ScoredBy { kEmbeddings, kPairs };

// The command line, understood.
struct ScoresPlan {
  ScoredBy by = ScoredBy::kEmbeddings;
  absl::optional<Split> split;  // none: all
  Protocol protocol;
  int depth = 20;  // of candidates
  int64_t timed_pairs = ScorerOptions().timed_pairs;
  std::string directory;  // of what is written, with a slash at its end; empty: the current one
  std::string pairs;      // path of the file that says what rows and columns are
};

// InvalidArgument says what is wrong with which flag.
absl::StatusOr<ScoresPlan> PlanScores(const ScoresFlags& flags);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_SCORES_FLAGS_H_
