#include "common/evaluation/store_ranker.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/models/item_encoder.h"
#include "common/retrieval/rerank_block.h"

namespace sightline {
namespace {

std::string Place(const EvaluationQuery& query) {
  return absl::StrCat("query '", query.item_id, "'");
}

int LargestDepth(absl::Span<const Method> methods) {
  int depth = 0;
  for (const Method& method : methods) depth = std::max(depth, method.depth);
  return depth;
}

// What a search with this method would have answered.
std::vector<Hit> RankBy(const Method& method, int list_length,
                        absl::Span<const Candidate> candidates,
                        absl::Span<const absl::optional<RerankScore>> scores) {
  const auto retrieved = static_cast<size_t>(std::max(list_length, method.depth));
  const absl::Span<const Candidate> own = candidates.subspan(0, retrieved);
  std::vector<Hit> hits =
      OrderHits({own.begin(), own.end()}, scores.subspan(0, method.depth), method.combination);
  if (hits.size() > static_cast<size_t>(list_length)) hits.resize(list_length);
  return hits;
}

}  // namespace

absl::StatusOr<Rankings> StoreRanker::Rank(const RankRequest& request, const CallContext& call) {
  const int depth = LargestDepth(request.methods);
  ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, Embed(request, call));
  ASSIGN_OR_RETURN(const Candidates candidates,
                   store_.target(request.direction)
                       .Search(embeddings, std::max(request.list_length, depth), call));
  ASSIGN_OR_RETURN(const Scores scores, Score(request, candidates, depth, call));
  Rankings rankings(request.queries.size());
  for (size_t q = 0; q < request.queries.size(); ++q) {
    for (const Method& method : request.methods) {
      rankings[q].push_back(RankBy(method, request.list_length, candidates[q], scores[q]));
    }
  }
  return rankings;
}

absl::StatusOr<std::vector<Candidate>> StoreRanker::FindImages(const RankRequest& request) const {
  std::vector<Candidate> images;
  for (const EvaluationQuery& query : request.queries) {
    const auto found = store_.images().Find(query.item_id);
    if (!found.has_value()) {
      return Within(Place(query),
                    absl::InvalidArgumentError(absl::StrCat("is not in ", store_.images().Name())));
    }
    images.push_back(*found);
  }
  return images;
}

absl::StatusOr<EmbeddingMatrix> StoreRanker::Embed(const RankRequest& request,
                                                   const CallContext& call) const {
  if (request.direction == Direction::kTextToImage) {
    std::vector<Tokens> texts;
    for (const EvaluationQuery& query : request.queries) {
      ASSIGN_OR_RETURN(Tokens tokens, Within(Place(query), store_.encoder().Tokenize(query.text)));
      texts.push_back(std::move(tokens));
    }
    const auto rows = EncodeTexts(store_.encoder(), texts, call);
    EmbeddingMatrix matrix(static_cast<int64_t>(texts.size()), store_.encoder().dimension());
    for (size_t i = 0; i < rows.size(); ++i) {
      RETURN_IF_ERROR(Within(Place(request.queries[i]), rows[i].status()));
      std::copy(rows[i]->begin(), rows[i]->end(),
                matrix.mutable_row(static_cast<int64_t>(i)).begin());
    }
    return matrix;
  }
  ASSIGN_OR_RETURN(const std::vector<Candidate> images, FindImages(request));
  EmbeddingMatrix matrix(static_cast<int64_t>(images.size()),
                         store_.images().manifest().embedding().dimension());
  for (size_t i = 0; i < images.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<float> row, store_.images().Embedding(images[i]));
    std::copy(row.begin(), row.end(), matrix.mutable_row(static_cast<int64_t>(i)).begin());
  }
  return matrix;
}

absl::StatusOr<std::vector<ItemFeatures>> StoreRanker::QueryFeatures(
    const RankRequest& request) const {
  const Model& model = *store_.reranker(request.direction).model;
  if (request.direction == Direction::kImageToText) {
    ASSIGN_OR_RETURN(const std::vector<Candidate> images, FindImages(request));
    return store_.images().Features(model.id(), images);
  }
  std::vector<ItemFeatures> features;
  for (const EvaluationQuery& query : request.queries) {
    ASSIGN_OR_RETURN(ItemFeatures text, Within(Place(query), TextFeatures(model, query.text)));
    features.push_back(std::move(text));
  }
  return features;
}

absl::StatusOr<StoreRanker::Scores> StoreRanker::Score(const RankRequest& request,
                                                       const Candidates& candidates, int depth,
                                                       const CallContext& call) const {
  Scores scores(candidates.size());
  if (depth == 0) return scores;
  const StoredIndex& target = store_.target(request.direction);
  const Model* const model = store_.reranker(request.direction).model.get();
  if (model == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(target.Name(), " has no cross-encoder; it is retrieval only"));
  }
  ASSIGN_OR_RETURN(const std::vector<ItemFeatures> queries, QueryFeatures(request));
  std::vector<std::vector<ItemFeatures>> items;
  std::vector<ScoringPair> pairs;
  for (size_t q = 0; q < candidates.size(); ++q) {
    const auto block = absl::MakeConstSpan(candidates[q]).subspan(0, depth);
    ASSIGN_OR_RETURN(std::vector<ItemFeatures> features, target.Features(model->id(), block));
    // Moving the vector leaves its elements, which the pairs point to, where they are.
    items.push_back(std::move(features));
    for (const ItemFeatures& item : items.back()) {
      pairs.push_back(request.direction == Direction::kTextToImage
                          ? ScoringPair{&queries[q], &item}
                          : ScoringPair{&item, &queries[q]});
    }
  }
  ASSIGN_OR_RETURN(const std::vector<float> raw, model->cross_encoder()->Score(pairs, call));
  const ScoreKind kind = model->cross_encoder()->score_kind();
  size_t next = 0;
  for (size_t q = 0; q < candidates.size(); ++q) {
    for (size_t i = 0; i < items[q].size(); ++i) {
      scores[q].emplace_back(ToRerankScore(kind, raw[next++]));
    }
  }
  return scores;
}

}  // namespace sightline
