// How several workers share one job: who does what, and how they wait for each other.
//
// Workers never talk.  Each piece of work (a stretch of the scan, a unit) is a file in the
// work folder, named by a hash of all that its content depends on; the hash also says whose
// piece it is.  A worker makes its own pieces and looks for those of the others.  Files
// appear by rename, so this works on any shared file system.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"

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

// A file that a worker makes.
struct WorkPiece {
  std::string hash;
  std::string file;  // its name in the work folder
};

struct AwaitOptions {
  // How long nothing may appear before the others are given up.
  absl::Duration stall_timeout = absl::Minutes(30);
  absl::Duration poll_period = absl::Seconds(1);
};

// Waits until all `pieces` are in `work_directory`; `what` names them: "units".
// DeadlineExceeded when none has appeared for the stall timeout: says which workers it is
// that do not deliver, with how many pieces and the first of them.  CANCELLED if `call` is.
absl::Status AwaitPieces(absl::string_view work_directory, std::vector<WorkPiece> pieces,
                         absl::string_view what, const WorkShare& share,
                         const AwaitOptions& options, const CallContext& call, Progress* progress);

// Lets all workers use one value that each would choose for itself: the first to come
// writes `proposal` to `path`, all return what is there.  Works where link() does.
absl::StatusOr<std::string> AgreeOn(absl::string_view path, absl::string_view proposal,
                                    const WorkShare& share);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SHARE_H_
