// Which generation of an index is the desired one: CURRENT, and what it was before.  What is
// too old to be wanted again is removed by prune.h.
#ifndef SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
#define SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
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
// publication too.  CURRENT remembers what was published before, and when each was left;
// going back to one of those marks the newer ones as rolled back.  `now` is the wall's time.
absl::StatusOr<bundle::v1::CurrentGeneration> PublishGeneration(absl::string_view store,
                                                                absl::string_view index,
                                                                absl::string_view generation,
                                                                absl::Time now = absl::Now());

// Publishes again what was published before the present generation, of those that were
// not rolled back themselves; doing it twice goes back twice.  FailedPrecondition if there
// is none, or as PublishGeneration.
absl::StatusOr<bundle::v1::CurrentGeneration> RollBackGeneration(absl::string_view store,
                                                                 absl::string_view index,
                                                                 absl::Time now = absl::Now());

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

// What a rollback from `current` goes back to; FailedPrecondition if there is nothing.
absl::StatusOr<std::string> GenerationBefore(absl::string_view index,
                                             const bundle::v1::CurrentGeneration& current);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
