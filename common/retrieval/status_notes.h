// What is said about failures of backends: who failed, and what a whole stage's failure
// amounts to.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_STATUS_NOTES_H_
#define SIGHTLINE_COMMON_RETRIEVAL_STATUS_NOTES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/api/generation.h"

namespace sightline {

// "indexes/<index>/shards/<n>".
std::string ShardName(absl::string_view index, int shard);

// The status of a call that `who` has not answered by the end of its stage.
absl::Status Unanswered(absl::string_view who);

// NOT_FOUND for an item of a pinned generation.
absl::Status ItemNotFound(const GenerationRef& where, absl::string_view item_id);

// Whether this is about time and not about the server.
bool IsLate(const absl::Status& status);

// What it means that no shard of `index` answered; `failures`, at least one, are what
// each of them said.  DEADLINE_EXCEEDED when all were late, RESOURCE_EXHAUSTED when all
// were full, FAILED_PRECONDITION when all refused, UNAVAILABLE otherwise.  Keeps the
// details (reason, retry delay) of the first.
absl::Status NoShardAnswered(absl::string_view index, absl::Span<const absl::Status> failures);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_STATUS_NOTES_H_
