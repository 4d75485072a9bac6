// Removing old generations from a store that is in use.
//
// What goes is set aside first: renamed to `<index>/.pruned/<unix seconds>-<generation>`.
// Nobody looks for it there, and who has its files open reads on, over a network too, where a
// rename keeps file handles and a deletion does not.  A prune that comes when it has lain there
// for `grace` deletes it.
#ifndef SIGHTLINE_COMMON_BUNDLE_PRUNE_H_
#define SIGHTLINE_COMMON_BUNDLE_PRUNE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/bundle/prune_rules.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Removes a folder with all that is in it; the manifest first, so that what a crash leaves is
// no generation wherever it is moved to.  Errors of the file system; then a part may be gone.
absl::Status RemoveGenerationFolder(const std::string& directory);

// Removes a folder that was set aside; a test puts something slow or broken in its place.
using FolderRemover = std::function<absl::Status(const std::string& directory)>;

// Sets old generations of an index aside, and deletes what was set aside `grace` ago.
// CURRENT's and the last ones published before it stay.  Publications are held up only while
// folders are renamed, never while they are deleted.  `now` is the wall's time.
// InvalidArgument if the index's name is none (layout.h) or an option is out of its range;
// FailedPrecondition if there is no such index; Aborted while a publication or another prune
// is in progress; as ReadCurrent.  Stopped anywhere, the next run goes on.
//
// `elsewhere` is what another store has published, of which this one holds copies: what stays there
// stays here too, what was published there was published, and there need not be a CURRENT here.
absl::StatusOr<PruneSummary> PruneGenerations(
    absl::string_view store, absl::string_view index, const PruneOptions& options, absl::Time now,
    const absl::optional<bundle::v1::CurrentGeneration>& elsewhere = absl::nullopt,
    const FolderRemover& remove = RemoveGenerationFolder);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PRUNE_H_
