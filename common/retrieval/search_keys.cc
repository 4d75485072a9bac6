#include "common/retrieval/search_keys.h"

#include "common/retrieval/request_hash.h"

namespace sightline {
namespace {

// As in RequestHash, the bindings are there so that a new field does not compile before somebody
// has said whether it counts.

void AddTarget(const GenerationInfo& target, RequestHash& hash) {
  const auto& [ref, content, dimension, shard_count, item_count, encoder_model, rerankers] = target;
  hash.AddGeneration(ref);
  hash.AddNumber(static_cast<int64_t>(content));
  hash.AddNumber(dimension);
  hash.AddNumber(shard_count);
  hash.AddNumber(item_count);
  hash.Add(encoder_model);
  // Of `rerankers` the one that the request chooses; the others do not take part.
}

void AddReranker(const RerankerInfo* reranker, RequestHash& hash) {
  hash.AddNumber(reranker != nullptr);
  if (reranker == nullptr) return;
  const auto& [name, model, declared] = *reranker;
  const auto& [combination, by_default] = declared;
  hash.Add(name);
  hash.Add(model);
  hash.AddCombination(combination);
  hash.AddNumber(by_default);
}

void AddPrecision(const Precisions& precision, RequestHash& hash) {
  const auto& [encoder, reranker] = precision;
  hash.Add(encoder);
  hash.Add(reranker);
}

// Where the query is stored, if it is an item.
void AddItemIndex(const SearchPlan& plan, RequestHash& hash) {
  hash.AddNumber(plan.item_index.has_value());
  if (plan.item_index.has_value()) hash.AddGeneration(plan.item_index->ref());
}

std::string AnswerKey(const SearchRequest& request, const std::string& query_digest,
                      const SearchPlan& plan) {
  RequestHash hash(RequestHash::Uploads::kByContent);
  AddTarget(*plan.target.info, hash);
  AddPrecision(plan.precision, hash);
  AddItemIndex(plan, hash);
  AddReranker(plan.reranker, hash);
  const auto& [index, query, top_k, depth, combination, reranker, filter, effort, want_records,
               page_token] = request;
  hash.Add(index);
  hash.Add(query_digest);  // of `query`
  hash.AddNumber(top_k);
  hash.AddNumber(depth.value_or(-1));
  hash.AddNumber(combination.has_value());
  if (combination.has_value()) hash.AddCombination(*combination);
  hash.Add(reranker);
  hash.AddFilter(filter);
  hash.AddEffort(effort);
  hash.AddNumber(want_records);
  hash.Add(page_token);
  return hash.Raw();
}

std::string EncodedKey(const std::string& query_digest, const SearchPlan& plan) {
  RequestHash hash(RequestHash::Uploads::kByContent);
  AddTarget(*plan.target.info, hash);
  AddPrecision(plan.precision, hash);
  AddReranker(plan.rerank ? plan.reranker : nullptr, hash);
  hash.Add(query_digest);
  return hash.Raw();
}

std::string ScoredKey(const std::string& query_digest, const SearchPlan& plan) {
  RequestHash hash(RequestHash::Uploads::kByContent);
  AddTarget(*plan.target.info, hash);
  AddPrecision(plan.precision, hash);
  AddItemIndex(plan, hash);
  AddReranker(plan.reranker, hash);
  hash.Add(query_digest);
  return hash.Raw();
}

}  // namespace

SearchKeys KeysOf(const SearchRequest& request, const SearchPlan& plan, const KeptKeys& kept) {
  SearchKeys keys;
  if (!kept.answer && !kept.encoded && !kept.scored) return keys;
  RequestHash query(RequestHash::Uploads::kByContent);
  query.AddQuery(request.query);
  const std::string digest = query.Raw();
  if (kept.answer) keys.answer = AnswerKey(request, digest, plan);
  if (kept.encoded) keys.encoded = EncodedKey(digest, plan);
  if (kept.scored) keys.scored = ScoredKey(digest, plan);
  return keys;
}

}  // namespace sightline
