// Removing old generations from an object store that is in use: prune.h for stores that cannot
// rename.
//
// What goes is noted first, by an object `.pruned/<unix seconds>-<generation>`, and stays where
// it is: servers still fetch it, publishers refuse it.  A prune that comes when `grace` has passed
// looks once more at what is published, and deletes it.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PRUNE_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PRUNE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/bundle/prune_rules.h"
#include "common/object_store/object_store.h"

namespace sightline {

// As PruneGenerations, and beside it removes publications before the present one once they
// have been replaced for `grace`, and what uploads left that were cut off `abandoned_after` ago.
// `now` is compared with the store's clock.  What is published while it would be deleted stays, and
// is one of the problems (Aborted).  NotFound if nothing was ever published for the index.  Two at
// once delete the same, which is no harm.  Stopped anywhere, the next one goes on.
absl::StatusOr<PruneSummary> PruneRemote(ObjectStore* store, absl::string_view index,
                                         const PruneOptions& options, absl::Time now,
                                         const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PRUNE_H_
