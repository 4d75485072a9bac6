#include "common/retrieval/backend_calls.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

constexpr char kEncoder[] = "query encoder";

absl::Status CheckEncoded(const EncodeResponse& response, size_t queries, int dimension,
                          bool want_features) {
  const EmbeddingMatrix& embeddings = response.embeddings;
  if (embeddings.rows() != static_cast<int64_t>(queries) || embeddings.dimension() != dimension) {
    return absl::InternalError(absl::StrCat(kEncoder, ": answered ", embeddings.rows(),
                                            " embeddings of dimension ", embeddings.dimension(),
                                            " to ", queries, " queries of dimension ", dimension));
  }
  if (!AllFinite(embeddings.values())) {
    return absl::InternalError(absl::StrCat(kEncoder, ": an embedding is not finite"));
  }
  if (want_features && response.features.size() != queries) {
    return absl::InternalError(absl::StrCat(kEncoder, ": answered ", response.features.size(),
                                            " sets of features to ", queries, " queries"));
  }
  return absl::OkStatus();
}

// The list of the one query, or why it cannot be merged: an unordered list would spoil
// the others', so it counts as no answer.
absl::StatusOr<std::vector<Candidate>> OnlyList(absl::StatusOr<SearchShardResponse> answer,
                                                absl::string_view name, int shard) {
  if (!answer.ok()) return WithPrefix(answer.status(), name);
  if (answer->candidates.size() != 1) {
    return absl::InternalError(
        absl::StrCat(name, ": answered ", answer->candidates.size(), " lists to one query"));
  }
  std::vector<Candidate> list = std::move(answer->candidates.front());
  for (Candidate& candidate : list) {
    candidate.shard = shard;
    if (!std::isfinite(candidate.score)) {
      return absl::InternalError(
          absl::StrCat(name, ": the score of '", candidate.item_id, "' is not finite"));
    }
  }
  if (!std::is_sorted(list.begin(), list.end(), RanksBefore)) {
    return absl::InternalError(absl::StrCat(name, ": the candidates are not in order"));
  }
  return list;
}

}  // namespace

Encoding::Encoding(QueryEncoderClient* encoder, const GenerationInfo& target,
                   std::vector<EncodableQuery> queries,
                   const absl::optional<std::string>& features_for, PrecisionWish wish,
                   const CallContext& call, absl::Time deadline)
    : query_count_(queries.size()),
      dimension_(target.dimension),
      want_features_(features_for.has_value()),
      configured_(encoder != nullptr),
      calls_(call, deadline) {
  if (query_count_ == 0 || !configured_) return;
  EncodeRequest request;
  request.target = target.ref;
  request.queries = std::move(queries);
  request.want_features = want_features_;
  request.reranker = features_for.value_or("");
  request.wish = std::move(wish);
  request.wish.model = target.encoder_model;
  encoder->EncodeQueries(calls_.context(), std::move(request), calls_.Slot(0));
}

absl::StatusOr<EncodeResponse> Encoding::Wait() {
  if (query_count_ == 0) return EncodeResponse();
  if (!configured_) {
    return absl::UnavailableError(absl::StrCat(kEncoder, ": none is configured"));
  }
  auto answer = calls_.Next();
  if (!answer.has_value()) return Unanswered(kEncoder);
  if (!answer->value.ok()) return WithPrefix(answer->value.status(), kEncoder);
  RETURN_IF_ERROR(CheckEncoded(*answer->value, query_count_, dimension_, want_features_));
  return std::move(answer->value);
}

RerankSide SideOf(const EncodableQuery& query, ItemFeatures features) {
  const auto* text = std::get_if<TextQuery>(&query);
  if (text != nullptr && features.tensors.empty()) return *text;
  return Shared<ItemFeatures>(std::move(features));
}

Fetching::Fetching(std::vector<FetchCall> fetches, const CallContext& call, absl::Time deadline)
    : calls_(call, deadline) {
  for (size_t i = 0; i < fetches.size(); ++i) {
    FetchItemsRequest& request = fetches[i].request;
    asked_.push_back({request.shard, ShardName(request.target.index, request.shard),
                      request.item_ids, request.item_ids.size() + request.rows.size()});
    fetches[i].client->FetchItems(calls_.context(), std::move(request),
                                  calls_.Slot(static_cast<int>(i)));
  }
}

absl::StatusOr<FetchItemsResponse> Fetching::Checked(const Asked& asked,
                                                     absl::StatusOr<FetchItemsResponse> answer) {
  if (!answer.ok()) return WithPrefix(answer.status(), asked.name);
  if (answer->items.size() != asked.count) {
    return absl::InternalError(absl::StrCat(asked.name, ": answered ", answer->items.size(),
                                            " items where ", asked.count, " were asked for"));
  }
  for (size_t i = 0; i < asked.count; ++i) {
    absl::optional<StoredItem>& item = answer->items[i];
    if (!item.has_value()) continue;
    item->shard = asked.shard;
    if (i < asked.item_ids.size() && item->item_id != asked.item_ids[i]) {
      return absl::InternalError(absl::StrCat(asked.name, ": answered item '", item->item_id,
                                              "' where '", asked.item_ids[i], "' was asked for"));
    }
  }
  return answer;
}

std::vector<absl::StatusOr<FetchItemsResponse>> Fetching::Wait() {
  std::vector<absl::StatusOr<FetchItemsResponse>> answers;
  for (const Asked& asked : asked_) answers.emplace_back(Unanswered(asked.name));
  while (auto answer = calls_.Next()) {
    answers[answer->slot] = Checked(asked_[answer->slot], std::move(answer->value));
  }
  return answers;
}

absl::StatusOr<ShardAnswers> SearchShards(const PinnedIndex& index, const EmbeddingMatrix& query,
                                          int top_k, absl::Time planned, absl::Time latest,
                                          const CallContext& call) {
  const int shard_count = index.info->shard_count;
  StageCalls<SearchShardResponse> calls(call, latest);
  std::vector<absl::Status> statuses;
  for (int shard = 0; shard < shard_count; ++shard) {
    statuses.push_back(Unanswered(ShardName(index.ref().index, shard)));
    SearchShardRequest request;
    request.target = index.ref();
    request.shard = shard;
    request.queries = query;
    request.top_k = top_k;
    request.wanted_by = planned;
    index.shard(shard)->SearchShard(calls.context(), std::move(request), calls.Slot(shard));
  }

  ShardAnswers answers;
  std::vector<std::vector<Candidate>> lists;
  while (auto answer = calls.Next(answers.answered > 0 ? planned : latest)) {
    const int shard = answer->slot;
    auto list = OnlyList(std::move(answer->value), ShardName(index.ref().index, shard), shard);
    statuses[shard] = list.status();
    if (absl::IsInvalidArgument(list.status())) return list.status();
    if (!list.ok()) continue;
    lists.push_back(*std::move(list));
    ++answers.answered;
  }
  if (call.cancelled()) return call.Check("search");

  for (int shard = 0; shard < shard_count; ++shard) {
    if (statuses[shard].ok()) continue;
    answers.unreachable.push_back(ShardName(index.ref().index, shard));
    answers.failures.push_back(std::move(statuses[shard]));
  }
  if (answers.answered == 0) return NoShardAnswered(index.ref().index, answers.failures);
  answers.best = MergeTopK(std::move(lists), top_k);
  return answers;
}

}  // namespace sightline
