// Which generation of an index is the desired one: CURRENT, and what it was before.  What is
// too old to be wanted again is removed by prune.h.
#ifndef SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
#define SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// All of them: InvalidArgument if a name is none (layout.h).

// NotFound if nothing was ever published; DataLoss if CURRENT is malformed.
absl::StatusOr<bundle::v1::CurrentGeneration> ReadCurrent(absl::string_view store,
                                                          absl::string_view index);

// Makes `generation` the desired one by renaming CURRENT into place (fsync included).
// FailedPrecondition unless the generation has a readable manifest whose files are all
// there in their full length.  Aborted while another publication of the index is in
// progress.  Returns what was written; publishing the present generation again is a
// publication too.  CURRENT remembers what was published before, and when each was left.
// Publishing one of those is going back by name, as RollBackGeneration goes back by a step: it
// marks all that were published after it as rolled back.  `now` is the wall's time.
absl::StatusOr<bundle::v1::CurrentGeneration> PublishGeneration(absl::string_view store,
                                                                absl::string_view index,
                                                                absl::string_view generation,
                                                                absl::Time now = absl::Now());

// What has become of a rollback.
struct Rollback {
  bundle::v1::CurrentGeneration current;
  bool was_done = false;  // by an earlier one: nothing was published
};

// Publishes again what was published before the present generation, of those that were
// not rolled back themselves; doing it twice goes back twice.  With `from` only from that
// generation, so that it can be repeated: what the history marks as rolled back is left at that.
// FailedPrecondition if there is nothing to go back to, if something else than `from` is current
// that was not rolled back from it, or as PublishGeneration; NotFound if nothing was ever
// published.
absl::StatusOr<Rollback> RollBackGeneration(absl::string_view store, absl::string_view index,
                                            absl::Time now = absl::Now(),
                                            absl::string_view from = "");

// Makes CURRENT say what that of another store says, of which this folder holds copies.
// FailedPrecondition, with CURRENT left, if that tells of a history of its own: what it names
// was not published there with that sequence.  Aborted as PublishGeneration.
absl::Status AdoptCurrent(absl::string_view store, absl::string_view index,
                          const bundle::v1::CurrentGeneration& current);

// The rules alone, for stores of another kind.

// What CURRENT says once `generation` is published over `before`, which is empty if nothing ever
// was.
bundle::v1::CurrentGeneration CurrentAfter(const bundle::v1::CurrentGeneration& before,
                                           absl::string_view generation, absl::Time now);

// What a rollback from `current` goes back to; none if it was done already.  Errors as
// RollBackGeneration.
absl::StatusOr<absl::optional<std::string>> GenerationBefore(
    absl::string_view index, const bundle::v1::CurrentGeneration& current, absl::string_view from);

// The generations before `current` that are marked as rolled back, newest first.
std::vector<std::string> RolledBack(const bundle::v1::CurrentGeneration& current);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
