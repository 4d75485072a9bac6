#include "common/retrieval/status_notes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {
std::string ShardName(absl::string_view index, int shard) {
  return absl::StrCat("indexes/", index, "/shards/", shard);
}

absl::Status Unanswered(absl::string_view who) {
  return absl::DeadlineExceededError(absl::StrCat(who, ": no answer in its share of the time"));
}

absl::Status ItemNotFound(const GenerationRef& where, absl::string_view item_id) {
  return MakeError(reasons::kItemNotFound,
                   absl::StrCat("index '", where.index, "' has no item '", item_id,
                                "' in generation '", where.generation, "'"),
                   {{"index", where.index}, {"item", std::string(item_id)}});
}

bool IsLate(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

absl::Status NoShardAnswered(absl::string_view index, absl::Span<const absl::Status> failures) {
  const auto all = [failures](bool (*is)(const absl::Status&)) {
    return std::all_of(failures.begin(), failures.end(), is);
  };
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  if (all(IsLate)) code = absl::StatusCode::kDeadlineExceeded;
  if (all(absl::IsResourceExhausted)) code = absl::StatusCode::kResourceExhausted;
  if (all(absl::IsFailedPrecondition)) code = absl::StatusCode::kFailedPrecondition;
  absl::Status status(
      code, absl::StrCat("none of the ", failures.size(), " shards of index '", index,
                         "' answered; the first failure is: ", failures.front().message()));
  failures.front().ForEachPayload([&status](absl::string_view type, const absl::Cord& payload) {
    status.SetPayload(type, payload);
  });
  if (code == absl::StatusCode::kUnavailable) {
    return WithReason(std::move(status), reasons::kNoShardAnswered,
                      {{"index", std::string(index)}});
  }
  return status;
}

}  // namespace sightline
