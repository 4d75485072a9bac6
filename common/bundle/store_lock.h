// Locks of an index in a store, between processes.
#ifndef SIGHTLINE_COMMON_BUNDLE_STORE_LOCK_H_
#define SIGHTLINE_COMMON_BUNDLE_STORE_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/descriptor.h"

namespace sightline {

// Keeps others out while it lives.  The kernel lets go of it when the process ends, however
// it ends.
class StoreLock {
 public:
  explicit StoreLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

// All: Aborted while somebody else has the lock, FailedPrecondition if `directory`, the
// index's, is not there.

// Of those who read CURRENT and write it, or move generations away by what it says.  Held for
// moments only: a rollback must not have to wait.
absl::StatusOr<StoreLock> LockPublications(const std::string& directory);

// Of those who prune, for as long as they delete.
absl::StatusOr<StoreLock> LockPruning(const std::string& directory);

// Of who writes one generation, whose folder `directory` is; Aborted, too, if it was removed
// meanwhile.  Leaves nothing in it.
absl::StatusOr<StoreLock> LockGeneration(const std::string& directory);

// Of who builds indexes of one generation; `directory` is where it keeps what it has done.
absl::StatusOr<StoreLock> LockIndexBuild(const std::string& directory);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_STORE_LOCK_H_
