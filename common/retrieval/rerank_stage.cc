#include "common/retrieval/rerank_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/retrieval/page_token.h"
#include "common/retrieval/rerank_block.h"

namespace sightline {
namespace {

// How many of `unknown` candidates are sent to those who compute in `precision`.
RerankShare ShareOf(int unknown, const SearchPlan& plan, const Precision& precision,
                    const RerankMeans& means, absl::Time now) {
  // Those who compute faster have a pace of their own.
  const std::string model = absl::StrCat(plan.reranker->model, " ", precision.value_or(""));
  // Later pages go on with the list that there is.  Their tokens may name what nobody computes in;
  // of that no pace is kept.
  if (plan.reranked_before.has_value()) {
    const std::shared_ptr<RerankPace> pace = means.paces.Find(model);
    return pace != nullptr ? pace->TakeAll(unknown) : RerankShare(unknown);
  }
  const std::shared_ptr<RerankPace> pace = means.paces.Of(model);
  if (!means.options.fit_depth) return pace->TakeAll(unknown);
  return pace->Take(unknown, means.options.rerank_slice, now, means.deadline);
}

// The scores of an earlier search, of the first `depth` candidates; none of the others.
std::vector<absl::optional<RerankScore>> ScoresOf(absl::Span<const Candidate> candidates,
                                                  size_t depth, const KnownScores* known) {
  std::vector<absl::optional<RerankScore>> scores(candidates.size());
  for (size_t i = 0; known != nullptr && i < depth; ++i) {
    scores[i] = known->Find(candidates[i].shard, candidates[i].row);
  }
  return scores;
}

void KeepScores(absl::Span<const Candidate> candidates, const BlockScores& scores,
                const KnownScores* before, const std::string& key, ScoreCache& cache) {
  KnownScores known = before != nullptr ? *before : KnownScores();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (scores.pairs[i].has_value()) {
      known.Add(candidates[i].shard, candidates[i].row, *scores.pairs[i]);
    }
  }
  if (known.size() > (before != nullptr ? before->size() : 0)) cache.Keep(key, std::move(known));
}

BlockScores Score(const BlockQuery& block, absl::Span<const Candidate> candidates,
                  std::vector<absl::optional<RerankScore>> known, int unknown,
                  const SearchPlan& plan, const RerankMeans& means, const CallContext& call) {
  return ScoreBlock(means.reranker, block, candidates, std::move(known), means.options, call,
                    means.deadline,
                    ShareOf(unknown, plan, block.wish.precision, means, call.clock()->Now()));
}

// Nobody is there any more who computes in the precision that was drawn, and as nothing is scored
// yet another is as good.
bool AreGone(const BlockScores& scores) {
  return scores.scored == 0 &&
         std::any_of(scores.failures.begin(), scores.failures.end(), [](const absl::Status& why) {
           return absl::IsUnavailable(why) || HasReason(why, reasons::kPrecisionChanged);
         });
}

}  // namespace

bool EndsPages(const SearchPlan& plan, const absl::Status& failure) {
  return plan.precisions_before.has_value() && HasReason(failure, reasons::kPrecisionChanged);
}

absl::StatusOr<std::vector<absl::optional<RerankScore>>> Rerank(
    const SearchRequest& request, const SearchPlan& plan, ResolvedQuery query,
    absl::Span<const Candidate> candidates, const RerankMeans& means, const CallContext& call,
    SearchResult& result, int& reranked) {
  BlockQuery block{plan.target.ref(), std::move(query.side), plan.query == Modality::kText,
                   request.reranker, plan.reranker_wish};
  candidates = candidates.subspan(0, plan.depth);
  const size_t depth =
      std::min<size_t>(candidates.size(), plan.reranked_before.value_or(plan.depth));
  const auto before = means.cache != nullptr ? means.cache->Find(means.key) : nullptr;
  const auto known = ScoresOf(candidates, depth, before.get());
  const int unknown =
      static_cast<int>(std::count(known.begin(), known.begin() + depth, absl::nullopt));
  // What is known is of the precision that its key names, and so is the rest then.
  if (unknown < static_cast<int>(depth)) block.wish.precision = plan.precision.reranker;
  BlockScores scores = Score(block, candidates, known, unknown, plan, means, call);
  if (!plan.precisions_before.has_value() && AreGone(scores)) {
    const Precision other = means.reranker.ChoosePrecision(plan.target.ref(), plan.reranker->model,
                                                           call.clock()->Now());
    if (other.has_value() && other != block.wish.precision) {
      block.wish.precision = other;
      scores = Score(block, candidates, known, unknown, plan, means, call);
    }
  }
  if (means.cache != nullptr) {
    means.cache->Count(static_cast<int>(depth) - unknown, unknown);
    if (scores.precision == plan.precision.reranker) {
      KeepScores(candidates, scores, before.get(), means.key, *means.cache);
    }
  }
  for (const absl::Status& failure : scores.failures) {
    if (EndsPages(plan, failure)) return PageTokenExpired(plan.target.ref(), failure);
  }
  if (scores.scored > 0) {
    result.reranker_precision = scores.precision.value_or(plan.precision.reranker);
  }
  if (!plan.reranked_before.has_value() && scores.outcome != RerankOutcome::kComplete) {
    reranked = RerankedDepth(scores);
  }
  result.rerank = scores.outcome;
  result.achieved_depth = scores.scored;
  std::move(scores.degraded.begin(), scores.degraded.end(), std::back_inserter(result.degraded));
  std::move(scores.failures.begin(), scores.failures.end(), std::back_inserter(result.failures));
  return std::move(scores.pairs);
}

}  // namespace sightline
