// The ledger of items that are not in the index, and why.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct QuarantineEntry {
  std::string item_id;
  std::string path;
  std::string reason;
};

inline constexpr absl::string_view kQuarantineFile = "quarantine.jsonl";

// One JSON object a line with the keys item_id, path and reason, in the order of item
// ids.  Equal entries give equal bytes.  Bytes that are not UTF-8 become U+FFFD.
std::string QuarantineJsonLines(std::vector<QuarantineEntry> entries);

// The same of warnings, in the order that they have.
std::string ProblemJsonLines(const std::vector<CorpusProblem>& problems);

// FailedPrecondition, with the numbers and the first entries, if more than `max_share` of
// `item_count` items are in quarantine.  `what` names the items.
absl::Status CheckQuarantineShare(absl::string_view what,
                                  const std::vector<QuarantineEntry>& entries, int64_t item_count,
                                  double max_share);

// FailedPrecondition, with the first entry, if all of `item_count` items are in quarantine.
absl::Status CheckSomeAreGood(absl::string_view what, const std::vector<QuarantineEntry>& entries,
                              int64_t item_count);

// Logs the first few warnings, and how many more there are.
void LogWarnings(const std::vector<CorpusProblem>& warnings);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_
