// How the workers of one job wait for each other.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_AWAIT_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_AWAIT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/descriptor.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

// A file that a worker makes.
struct WorkPiece {
  std::string hash;
  std::string path;
};

struct AwaitOptions {
  // How long nothing may be done by others before they are given up.
  absl::Duration stall_timeout = absl::Minutes(30);
  absl::Duration poll_period = absl::Seconds(1);
};

// How far a worker is, for those that wait for it: a file of one line, `tally.<worker>`,
// written over and over.  Nothing but patience depends on it, so it is neither synced nor
// missed.  Not thread-safe.
class WorkTally {
 public:
  // Does nothing for a job of one worker.
  WorkTally(const WorkFolder& folder, const WorkShare& share);

  // Has done one thing more.
  void Note();
  // Has looked at one item more, of very many: every few thousandth is noted.
  void NoteItem() {
    if (++item_count_ % kItemsPerNote == 0) Note();
  }

 private:
  static constexpr int64_t kItemsPerNote = 4096;

  Descriptor fd_;
  int64_t count_ = 0;
  int64_t item_count_ = 0;
};

// What a worker waits for: that all others have sealed what they have made.
struct Awaited {
  std::string what;                             // "units"
  std::function<std::string(int worker)> seal;  // path of that worker's
  // Shows every piece, of whichever worker: to say what is missing.
  std::function<absl::Status(const std::function<void(const WorkPiece&)>&)> pieces;
};

// Waits until every other worker's seal is there.  A look takes a question and a short
// reading for each worker, however many pieces there are.
//
// DeadlineExceeded when no seal has appeared, and no tally of a worker whose seal is missing has
// changed, for the stall timeout: says which workers do not deliver, with how many pieces
// and the first of them.  CANCELLED if `call` is.
absl::Status AwaitSeals(const WorkFolder& folder, const Awaited& awaited, const WorkShare& share,
                        const AwaitOptions& options, const CallContext& call, Progress* progress);

// Sleeps until the next look is due.
void PauseForPoll(Clock* clock, const AwaitOptions& options);

// What the tallies of `workers` say, in one text that changes when one of them does.
std::string ReadTallies(const WorkFolder& folder, const std::vector<int>& workers);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_AWAIT_H_
