#include "tests/integration/referee.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/embedding/score.h"

namespace sightline {

std::vector<RefereeHit> RefereeSearch(const TinyStore& store, bool images,
                                      const RefereeQuery& query, int depth,
                                      const std::string& without, const TinyStore* reranker) {
  std::vector<RefereeHit> hits;
  for (const TinyItem& item : store.items) {
    RefereeHit hit;
    hit.item_id = images ? item.image_id : item.caption_id;
    if (hit.item_id == without) continue;
    const EmbeddingMatrix& row = images ? item.image_embedding : item.caption_embedding;
    double product = 0;
    for (int d = 0; d < row.dimension(); ++d) {
      product += static_cast<double>(row.row(0)[d]) * query.embedding.row(0)[d];
    }
    hit.retrieval_score = static_cast<float>(product);
    hits.push_back(hit);
  }
  std::sort(hits.begin(), hits.end(), [](const RefereeHit& a, const RefereeHit& b) {
    return a.retrieval_score != b.retrieval_score ? a.retrieval_score > b.retrieval_score
                                                  : a.item_id < b.item_id;
  });
  if (query.text == nullptr && query.image == nullptr) return hits;
  const auto end = hits.begin() + std::min<size_t>(depth, hits.size());
  if (reranker == nullptr) reranker = &store;
  const CrossEncoder& encoder = *reranker->model->cross_encoder();
  for (auto hit = hits.begin(); hit != end; ++hit) {
    const TinyItem& item = reranker->item(hit->item_id);
    const ScoringPair pair = query.text != nullptr
                                 ? ScoringPair{query.text, &item.image_features}
                                 : ScoringPair{&item.caption_features, query.image};
    const auto raw = encoder.Score({pair}, CallContext::Unbounded());
    if (!raw.ok()) throw std::runtime_error(raw.status().ToString());
    const ScoreKind kind = encoder.score_kind();
    hit->rerank_score = ToProbability(kind, (*raw)[0]);
    const bool probability = kind == ScoreKind::kSoftmaxMatch || kind == ScoreKind::kSigmoid;
    hit->block_score = probability ? hit->rerank_score
                                   : static_cast<float>(std::nearbyint((*raw)[0] * 1024.0) / 1024);
    hit->reranked = true;
  }
  std::sort(hits.begin(), end, [](const RefereeHit& a, const RefereeHit& b) {
    return a.block_score != b.block_score ? a.block_score > b.block_score : a.item_id < b.item_id;
  });
  return hits;
}

}  // namespace sightline
