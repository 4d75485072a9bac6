// How several workers share one job: who does what.
//
// Workers never talk.  Each piece of work (a stretch of the scan, a unit, rows of units) is a
// file in the work folder, named by a hash of all that its content depends on; the hash also
// says whose piece it is.  A worker makes its own pieces, says by a seal that all are there,
// and waits for the seals of the others.  Files appear by rename, so this works on any shared
// file system.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct WorkShare {
  int worker = 0;
  int workers = 1;

  // Whose piece `hash` (hex digits) is.  Depends on nothing else, so that workers need not
  // agree with anybody.
  int OwnerOf(absl::string_view hash) const;
  bool Owns(absl::string_view hash) const { return OwnerOf(hash) == worker; }
  // Whether this worker writes and publishes what all have made.
  bool writes() const { return worker == 0; }
};

// Lets all workers use one value that each would choose for itself: the first to come
// writes `proposal` to `path`, all return what is there.  Works where link() does.
absl::StatusOr<std::string> AgreeOn(absl::string_view path, absl::string_view proposal,
                                    const WorkShare& share);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_
