#include "common/retrieval/hit_records.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/status_notes.h"

namespace sightline {

namespace {

// False for a row that holds another item than it did a moment ago, which is no record of this one.
bool Fill(StoredItem& item, Hit& hit) {
  if (item.item_id != hit.item_id) return false;
  hit.caption = std::move(item.caption);
  hit.uri = std::move(item.uri);
  hit.tags = std::move(item.tags);
  return true;
}

}  // namespace

void FillRecords(const PinnedIndex& target, ItemsByPlace known, absl::Time deadline,
                 const CallContext& call, SearchResult& result) {
  std::map<int, std::vector<Hit*>> by_shard;
  for (Hit& hit : result.hits) {
    const auto item = known.find({hit.shard, hit.row});
    if (item != known.end() && Fill(item->second, hit)) continue;
    by_shard[hit.shard].push_back(&hit);
  }
  if (by_shard.empty()) return;
  std::vector<FetchCall> fetches;
  std::vector<const std::vector<Hit*>*> hits_of;
  for (const auto& [shard, hits] : by_shard) {
    FetchCall fetch;
    fetch.client = target.shard(shard);
    fetch.request.target = target.ref();
    fetch.request.shard = shard;
    for (const Hit* hit : hits) fetch.request.rows.push_back(hit->row);
    fetches.push_back(std::move(fetch));
    hits_of.push_back(&hits);
  }
  Fetching fetching(std::move(fetches), call, deadline);
  auto answers = fetching.Wait();
  bool missing = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].ok()) {
      missing = true;
      result.failures.push_back(answers[i].status());
      continue;
    }
    for (size_t j = 0; j < hits_of[i]->size(); ++j) {
      Hit& hit = *(*hits_of[i])[j];
      absl::optional<StoredItem>& item = answers[i]->items[j];
      if (item.has_value() && Fill(*item, hit)) continue;
      missing = true;
      result.failures.push_back(absl::DataLossError(
          absl::StrCat(ShardName(target.ref().index, hit.shard), ": row ", hit.row,
                       " was found as '", hit.item_id, "' but is ",
                       item.has_value() ? absl::StrCat("'", item->item_id, "'") : "not there")));
    }
  }
  if (missing) result.degraded.push_back(DegradedReason::kRecordsMissing);
}

}  // namespace sightline
