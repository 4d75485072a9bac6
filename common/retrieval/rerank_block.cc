#include "common/retrieval/rerank_block.h"

#include <algorithm>
#include <utility>

#include "common/retrieval/rerank_slices.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

Hit ToHit(Candidate candidate) {
  Hit hit;
  hit.item_id = std::move(candidate.item_id);
  hit.score = candidate.score;
  hit.retrieval_score = candidate.score;
  hit.shard = candidate.shard;
  hit.row = candidate.row;
  return hit;
}

// Reads outcome and reasons off the way in which the slices ended.
void Conclude(const std::vector<SliceResult>& slices, BlockScores& scores) {
  bool failed = false, late = false;
  bool not_sent = static_cast<size_t>(scores.wanted) < scores.pairs.size();
  for (const SliceResult& slice : slices) {
    failed = failed || slice.end == SliceEnd::kFailed;
    late = late || slice.end == SliceEnd::kLate;
    // After a refusal the rest is not sent either, but not for lack of time.
    not_sent = not_sent || (slice.end == SliceEnd::kNotSent && IsLate(slice.status));
    if (slice.end == SliceEnd::kFailed || slice.end == SliceEnd::kLate) {
      scores.failures.push_back(slice.status);
    }
  }
  if (not_sent) scores.degraded.push_back(DegradedReason::kDepthReduced);
  if (failed) scores.degraded.push_back(DegradedReason::kRerankerFailed);
  if (late) scores.degraded.push_back(DegradedReason::kRerankerLate);
  if (static_cast<size_t>(scores.scored) == scores.pairs.size()) {
    scores.outcome = RerankOutcome::kComplete;
  } else {
    scores.outcome = scores.scored > 0 ? RerankOutcome::kPartial : RerankOutcome::kFailed;
  }
}

// The places of the first `count` without a score; `end` becomes that of the next one, which will
// not have one.  Scores behind that are given up: later pages could not tell of holes.
std::vector<size_t> FirstUnknown(int count, std::vector<absl::optional<RerankScore>>& pairs,
                                 int& end) {
  std::vector<size_t> places;
  size_t i = 0;
  for (; i < pairs.size(); ++i) {
    if (pairs[i].has_value()) continue;
    if (places.size() == static_cast<size_t>(count)) break;
    places.push_back(i);
  }
  end = static_cast<int>(i);
  for (; i < pairs.size(); ++i) pairs[i].reset();
  return places;
}

}  // namespace

BlockScores ScoreBlock(RerankerClient& reranker, const BlockQuery& query,
                       absl::Span<const Candidate> candidates,
                       std::vector<absl::optional<RerankScore>> known,
                       const RetrieverOptions& options, const CallContext& call,
                       absl::Time deadline, RerankShare share) {
  BlockScores scores;
  scores.pairs = std::move(known);
  const std::vector<size_t> sent = FirstUnknown(share.pairs(), scores.pairs, scores.wanted);
  scores.scored = scores.wanted - static_cast<int>(sent.size());
  const size_t slice_size = options.rerank_slice;
  const auto slice_of = [&sent, slice_size](int slice) {
    return absl::MakeConstSpan(sent).subspan(slice * slice_size, slice_size);
  };
  const auto make = [&](int slice) {
    RerankRequest request;
    request.target = query.target;
    request.query_is_text = query.is_text;
    request.query = query.side;
    request.reranker = query.reranker;
    for (const size_t place : slice_of(slice)) {
      const Candidate& candidate = candidates[place];
      request.candidates.emplace_back(StoredRef{query.target, candidate.shard, candidate.row});
    }
    return request;
  };
  const int slice_count = static_cast<int>((sent.size() + slice_size - 1) / slice_size);
  const std::vector<SliceResult> slices =
      RerankSlices(reranker, slice_count, options.rerank_parallelism, make, query.wish, call,
                   deadline, std::move(share));
  for (int slice = 0; slice < slice_count; ++slice) {
    const RerankResponse& response = slices[slice].response;  // empty unless scored
    if (slices[slice].end == SliceEnd::kScored) scores.precision = response.precision;
    for (size_t i = 0; i < response.scores.size(); ++i) {
      scores.pairs[slice_of(slice)[i]] = ToRerankScore(response.score_kind, response.scores[i]);
      ++scores.scored;
    }
  }
  Conclude(slices, scores);
  return scores;
}

int RerankedDepth(const BlockScores& scores) {
  const auto scored = scores.pairs.begin() + scores.scored;
  const bool leading =
      std::all_of(scores.pairs.begin(), scored, [](const auto& pair) { return pair.has_value(); });
  return leading ? scores.scored : scores.wanted;
}

std::vector<Hit> OrderHits(std::vector<Candidate> candidates,
                           absl::Span<const absl::optional<RerankScore>> scores,
                           const Combination& combination) {
  std::vector<Hit> hits;
  hits.reserve(candidates.size());
  std::vector<size_t> block;
  std::vector<float> retrieval;
  std::vector<RerankScore> rerank;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Hit& hit = hits.emplace_back(ToHit(std::move(candidates[i])));
    if (i >= scores.size() || !scores[i].has_value()) continue;
    hit.stage = HitStage::kReranked;
    hit.rerank_score = scores[i]->probability;
    block.push_back(i);
    retrieval.push_back(hit.retrieval_score);
    rerank.push_back(*scores[i]);
  }
  const std::vector<float> combined = Combine(combination, retrieval, rerank);
  for (size_t i = 0; i < block.size(); ++i) hits[block[i]].score = combined[i];
  std::sort(hits.begin(), hits.end(), StandsBefore);
  return hits;
}

}  // namespace sightline
