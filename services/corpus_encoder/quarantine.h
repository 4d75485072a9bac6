// The ledger of items that are not in the index, and why; and of those that are with less
// than they should have.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/record_sorter.h"
#include "common/base/spool.h"
#include "common/dataset/corpus.h"

namespace sightline {

inline constexpr absl::string_view kQuarantineFile = "quarantine.jsonl";
inline constexpr absl::string_view kWarningsFile = "warnings.jsonl";

// One JSON object with the keys item_id, path and reason, and a newline.  Bytes that are not
// UTF-8 become U+FFFD.
std::string ProblemJsonLine(const CorpusProblem& problem);

// Problems in the order of item ids (then paths, then reasons), whatever order they came in.
// What does not fit into a few megabytes lies on disk.  Not thread-safe.
class Quarantine {
 public:
  // Temporary files lie in `directory`, which must be there.
  explicit Quarantine(absl::string_view directory) : sorter_(directory) {}

  absl::Status Add(const CorpusProblem& problem);
  // All of another's.
  absl::Status AddAll(Quarantine& other);

  int64_t size() const { return sorter_.size(); }
  // The first few that were added.
  const std::vector<CorpusProblem>& examples() const { return examples_; }

  // After these nothing may be added.  Equal problems give equal bytes.
  absl::Status VisitAll(const std::function<absl::Status(const CorpusProblem&)>& visit);
  absl::Status WriteTo(absl::string_view path);  // ProblemJsonLine of each, atomically

 private:
  RecordSorter sorter_;
  std::vector<CorpusProblem> examples_;
};

// Problems in the order that they have.  The first few are logged; all lie on disk.
class Warnings {
 public:
  static absl::StatusOr<Warnings> Create(absl::string_view directory);

  absl::Status Add(const CorpusProblem& problem);
  // Ends the adding, and logs how many were not logged.
  absl::Status Finish();

  int64_t size() const { return lines_->size(); }
  absl::Status WriteTo(absl::string_view path) const;  // after Finish; as Quarantine

 private:
  explicit Warnings(std::unique_ptr<Spool> lines) : lines_(std::move(lines)) {}

  std::unique_ptr<Spool> lines_;
};

// FailedPrecondition, with the numbers and the first entries, if more than `max_share` of
// `item_count` items are in quarantine.  `what` names the items.
absl::Status CheckQuarantineShare(absl::string_view what, const Quarantine& quarantine,
                                  int64_t item_count, double max_share);

// FailedPrecondition, with the first entry, if all of `item_count` items are in quarantine.
absl::Status CheckSomeAreGood(absl::string_view what, const Quarantine& quarantine,
                              int64_t item_count);

// What a job has found wrong, of all that it has.
struct BadItems {
  Quarantine& images;
  int64_t image_count = 0;  // good and bad
  Quarantine& captions;
  int64_t caption_count = 0;
};

// Both of these for pictures, the first for captions.  What is refused is left in `ledger`, a
// file, which the message names; then nothing more may be added to the quarantines.
absl::Status CheckBadItems(const BadItems& bad, double max_share, const std::string& ledger);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_QUARANTINE_H_
