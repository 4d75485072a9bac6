// What `scores` scores: pictures and captions of corpora, and what is known of them.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_SCORED_CORPUS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_SCORED_CORPUS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/evaluation/matrix_items.h"
#include "common/training/pair_corpus.h"
#include "services/evaluator/scores_flags.h"

namespace sightline {

struct ScoredCorpus {
  std::unique_ptr<PairCorpus> pairs;
  // In the order of `pairs`.  Families are those of --families.  Pictures have places if each has
  // one and no two the same; captions have counts of shared words if any picture has text in it: of
  // the distinct words of a caption (NormalizeWords) those that stand in its picture, too.
  MatrixItems items;
};

// InvalidArgument for corpora that --corpus does not name rightly, or a list of families as
// TakeFamilies; errors as PairCorpus::Open and of the file of families.
absl::StatusOr<ScoredCorpus> OpenScoredCorpus(const ScoresFlags& flags, const ScoresPlan& plan);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_SCORED_CORPUS_H_
