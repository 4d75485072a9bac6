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

}  // namespace sightline
