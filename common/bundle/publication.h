// Which generation of an index is the desired one: CURRENT, and what it was before.
#ifndef SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
#define SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
// publication too.  CURRENT remembers what was published before; going back to one of
// those marks the newer ones as rolled back.
absl::StatusOr<bundle::v1::CurrentGeneration> PublishGeneration(absl::string_view store,
                                                                absl::string_view index,
                                                                absl::string_view generation);

// Publishes again what was published before the present generation, of those that were
// not rolled back themselves; doing it twice goes back twice.  FailedPrecondition if there
// is none, or as PublishGeneration.
absl::StatusOr<bundle::v1::CurrentGeneration> RollBackGeneration(absl::string_view store,
                                                                 absl::string_view index);

struct PruneOptions {
  // Published generations that stay, CURRENT's among them; those that were rolled back do
  // not count, and go.  At least 1.
  int keep = 3;
  // What was never published is somebody's work in progress, or about to be published; it
  // goes when nothing in its folder has changed for this long.
  absl::Duration abandoned_after = absl::Hours(24);
  // Say what would go, and leave it.
  bool dry_run = false;
};

struct PruneSummary {
  std::vector<std::string> removed;  // generations, sorted
  std::vector<std::string> kept;     // sorted
  int64_t byte_count = 0;            // of the files that went
  // Of removals that did not come to their end; the next run goes on with them.
  std::vector<absl::Status> problems;
};

// Removes old generations of an index; CURRENT's and the last ones published before it
// stay.  Servers that have files of a removed generation open read on.  `now` is the
// wall's time.  Aborted while a publication is in progress; stopped anywhere, the next run
// goes on.
absl::StatusOr<PruneSummary> PruneGenerations(absl::string_view store, absl::string_view index,
                                              const PruneOptions& options, absl::Time now);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PUBLICATION_H_
