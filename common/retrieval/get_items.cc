// Retriever::GetItems: stored items by id, from the shards that hold them.
#include <iterator>
#include <map>
#include <utility>

#include "common/api/index_search.h"
#include "common/api/search.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/request_checks.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/status_notes.h"

namespace sightline {

absl::StatusOr<GetItemsResult> Retriever::GetItems(const GetItemsRequest& request,
                                                   const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("get items"));
  RETURN_IF_ERROR(CheckGetItemsRequest(request, options_));
  ASSIGN_OR_RETURN(const PinnedIndex index, PinIndex(*backends_, *catalog_, request.index));

  std::map<int, std::vector<size_t>> by_shard;  // positions in the request
  for (size_t i = 0; i < request.item_ids.size(); ++i) {
    by_shard[ShardOf(request.item_ids[i], index.info->shard_count)].push_back(i);
  }
  std::vector<FetchCall> fetches;
  for (const auto& [shard, positions] : by_shard) {
    FetchCall fetch;
    fetch.client = index.shard(shard);
    fetch.request.target = index.ref();
    fetch.request.shard = shard;
    fetch.request.want_embeddings = request.want_embeddings;
    for (const size_t i : positions) fetch.request.item_ids.push_back(request.item_ids[i]);
    fetches.push_back(std::move(fetch));
  }
  const absl::Time deadline = budget_->Split(call.clock()->Now(), call.deadline(), {}).answer;
  Fetching fetching(std::move(fetches), call, deadline);
  auto answers = fetching.Wait();
  if (call.cancelled()) return call.Check("get items");

  GetItemsResult result;
  result.target = index.ref();
  result.items.resize(request.item_ids.size());
  size_t i = 0;
  for (const auto& [shard, positions] : by_shard) {
    absl::StatusOr<FetchItemsResponse>& answer = answers[i++];
    if (absl::IsInvalidArgument(answer.status())) return answer.status();
    if (!answer.ok()) {
      result.unreachable.push_back(ShardName(index.ref().index, shard));
      result.failures.push_back(answer.status());
      continue;
    }
    for (size_t j = 0; j < positions.size(); ++j) {
      result.items[positions[j]] = std::move(answer->items[j]);
    }
  }
  if (result.failures.size() == by_shard.size()) {
    return NoShardAnswered(index.ref().index, result.failures);
  }
  return result;
}

}  // namespace sightline
