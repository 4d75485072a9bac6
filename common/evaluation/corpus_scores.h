// Scores of a corpus's pictures with its captions by a model, as the papers' evaluations have them:
// inner products of embeddings (BE, and the first stage of Coop), or a cross-encoder over all pairs
// (CE, SGRAF) or over those that a retrieval chose (the second stage of Coop).
//
//   ASSIGN_OR_RETURN(auto scorer, ScoreByEmbeddings(*model, *corpus, options, &threads, &costs,
//                                                   call));
//   ASSIGN_OR_RETURN(const std::vector<float> rows, scorer->Score(0, 64, call));
#ifndef SIGHTLINE_COMMON_EVALUATION_CORPUS_SCORES_H_
#define SIGHTLINE_COMMON_EVALUATION_CORPUS_SCORES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/evaluation/chosen_pairs.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/score_file_writer.h"
#include "common/models/model.h"
#include "common/training/pair_corpus.h"

namespace sightline {

// What rows and columns are: the corpus's pictures and captions in its order, each picture a family
// of its own.  A caption's id is CaptionId of its picture, its language and which of the picture's
// in that language it is.
MatrixItems MatrixItemsOf(const PairCorpus& corpus);

struct ScorerOptions {
  // What a model that reads both is shown of a picture: "IMG only" and "ST only" of scene-text
  // aware encoders.  Without regions a picture has a single one in their place, of zeros, as large
  // as the picture, and no tags, which are the detector's too: no model reads a picture without a
  // region.
  bool shows_regions = true;
  bool shows_words = true;
  // Pairs of a cross-encoder that a lone query is timed with, at most; >= 1.
  int64_t timed_pairs = 1000;
};

// What it takes to answer one caption that comes alone, pictures being encoded.
struct TimedQuery {
  double seconds = 0;
  // Measured; where they are fewer than the answer needs, `seconds` follow from them.
  int64_t pairs = 0;
  int64_t needed_pairs = 0;
};

// Not thread-safe; uses the model's threads and its own.
class CorpusScorer {
 public:
  virtual ~CorpusScorer() = default;

  // Pictures that are scored at once.
  virtual int64_t rows_at_once() const = 0;

  // Pictures `begin` to below `end` with all captions, row by row; NaN for pairs that were not to
  // be scored.  Adds to `costs` what that took.  InvalidArgument names a picture that the model
  // does not read; Internal a score that is not finite.
  virtual absl::StatusOr<std::vector<float>> Score(int64_t begin, int64_t end, ScoreCosts* costs,
                                                   const CallContext& call) = 0;

  // Of one caption among all pictures; with chosen pairs, among as many as are chosen for a caption
  // in the mean.
  virtual absl::StatusOr<TimedQuery> TimeQuery(int64_t caption, const CallContext& call) = 0;
};

// Both encode all captions, which is added to `costs`.  `model`, `corpus` and `threads` outlive the
// scorer, `options` are copied.  InvalidArgument for a model without the encoders, or without a
// cross-encoder, for regions of another width than it reads, and for a caption that it does not
// take, which is named.
absl::StatusOr<std::unique_ptr<CorpusScorer>> ScoreByEmbeddings(
    const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
    ComputePool* threads, ScoreCosts* costs, const CallContext& call);
// `chosen` is as long as the corpus has pictures; none: all pairs.
absl::StatusOr<std::unique_ptr<CorpusScorer>> ScoreByPairs(
    const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
    absl::optional<ChosenPairs> chosen, ScoreCosts* costs, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_CORPUS_SCORES_H_
