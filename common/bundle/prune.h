// Removing old generations from a store that is in use.
//
// What goes is set aside first: renamed to `<index>/.pruned/<unix seconds>-<generation>`.
// Nobody looks for it there, and who has its files open reads on, over a network too, where a
// rename keeps file handles and a deletion does not.  A prune that comes when it has lain there
// for `grace` deletes it.
#ifndef SIGHTLINE_COMMON_BUNDLE_PRUNE_H_
#define SIGHTLINE_COMMON_BUNDLE_PRUNE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sightline {

// Removes a folder with all that is in it; the manifest first, so that what a crash leaves is
// no generation wherever it is moved to.  Errors of the file system; then a part may be gone.
absl::Status RemoveGenerationFolder(const std::string& directory);

struct PruneOptions {
  // Published generations that stay, CURRENT's among them; those that were rolled back do
  // not count.  At least 1.
  int keep = 3;
  // How long any other one stays in its place after CURRENT has left it, rolled back or not: a
  // server that sees an old CURRENT, or starts again, still looks for it there.  And how long
  // it lies set aside before it is deleted.  Not negative.
  absl::Duration grace = absl::Hours(24);
  // What was never published is somebody's work in progress, or about to be published; it
  // goes when nothing in its folder has changed for this long.
  absl::Duration abandoned_after = absl::Hours(24);
  // Say what would go, and leave it.
  bool dry_run = false;
  // Deletes what was set aside; a test puts something slow or broken in its place.
  std::function<absl::Status(const std::string& directory)> remove = RemoveGenerationFolder;
};

// A generation that is set aside.
struct SetAside {
  std::string generation;
  absl::Time delete_time;  // prunes from then on delete it
};

struct PruneSummary {
  std::vector<std::string> kept;       // generations that stay where they are, sorted
  std::vector<std::string> set_aside;  // by this prune, sorted
  std::vector<std::string> deleted;    // set aside by this prune or before, oldest first
  std::vector<SetAside> waiting;       // set aside, and not to be deleted yet, oldest first
  int64_t byte_count = 0;              // of the files that were deleted
  // Of what did not come to its end; the next prune goes on with it.
  std::vector<absl::Status> problems;
};

// Sets old generations of an index aside, and deletes what was set aside `grace` ago.
// CURRENT's and the last ones published before it stay.  Publications are held up only while
// folders are renamed, never while they are deleted.  `now` is the wall's time.
// InvalidArgument if the index's name is none (layout.h) or an option is out of its range;
// FailedPrecondition if there is no such index; Aborted while a publication or another prune
// is in progress; as ReadCurrent.  Stopped anywhere, the next run goes on.
absl::StatusOr<PruneSummary> PruneGenerations(absl::string_view store, absl::string_view index,
                                              const PruneOptions& options, absl::Time now);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PRUNE_H_
