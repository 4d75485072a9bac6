#include "services/corpus_encoder/work_share.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMaxAgreementBytes = 1 << 16;

absl::Status Stalled(const std::vector<WorkPiece>& missing, absl::string_view what,
                     const WorkShare& share, absl::Duration patience) {
  std::map<int, std::vector<const WorkPiece*>> by_worker;
  for (const WorkPiece& piece : missing) by_worker[share.OwnerOf(piece.hash)].push_back(&piece);
  std::string list;
  for (const auto& [worker, pieces] : by_worker) {
    absl::StrAppend(&list, list.empty() ? "" : "; ", "worker ", worker, ": ", pieces.size(),
                    " missing, the first is ", pieces.front()->file);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", absl::FormatDuration(patience), " (stall_timeout) without a new one of the ", what,
      " of other workers; ", list, ".  Start these workers again with the same flags and ",
      "the same corpus (a worker that sees other files makes other ", what,
      "), and then this one, which goes on where it stopped"));
}

// Sleeps until the next look is due.
void Pause(Clock* clock, absl::Duration period) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  clock->WaitUntil(never, lock, clock->Now() + period);
}

}  // namespace

int WorkShare::OwnerOf(absl::string_view hash) const {
  uint64_t number = 0;
  // 60 bits of the hash; what is not hexadecimal is nobody's name.
  static_cast<void>(absl::SimpleHexAtoi(hash.substr(0, 15), &number));
  return static_cast<int>(number % static_cast<uint64_t>(workers));
}

absl::Status AwaitPieces(absl::string_view work_directory, std::vector<WorkPiece> pieces,
                         absl::string_view what, const WorkShare& share,
                         const AwaitOptions& options, const CallContext& call, Progress* progress) {
  if (pieces.empty()) return absl::OkStatus();
  Clock* const clock = call.clock();
  progress->Begin("wait", what, static_cast<int64_t>(pieces.size()));
  absl::Time last_seen = clock->Now();
  for (;;) {
    RETURN_IF_ERROR(call.Check("waiting for other workers"));
    // One listing instead of a question a file: the folder may be far away.
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(work_directory));
    const size_t before = pieces.size();
    pieces.erase(std::remove_if(pieces.begin(), pieces.end(),
                                [&](const WorkPiece& piece) {
                                  return std::binary_search(names.begin(), names.end(), piece.file);
                                }),
                 pieces.end());
    if (pieces.size() < before) {
      last_seen = clock->Now();
      progress->Advance(static_cast<int64_t>(before - pieces.size()));
    }
    if (pieces.empty()) break;
    if (clock->Now() - last_seen >= options.stall_timeout) {
      return Stalled(pieces, what, share, options.stall_timeout);
    }
    Pause(clock, options.poll_period);
  }
  progress->End();
  return absl::OkStatus();
}

absl::StatusOr<std::string> AgreeOn(absl::string_view path, absl::string_view proposal,
                                    const WorkShare& share) {
  const std::string agreed(path);
  absl::StatusOr<std::string> found = ReadFile(agreed, kMaxAgreementBytes);
  if (!absl::IsNotFound(found.status())) return found;
  // Written beside it, whole, and then linked: unlike rename, link refuses a name that is
  // taken.
  const std::string own = absl::StrCat(agreed, ".", share.worker);
  RETURN_IF_ERROR(WriteFileAtomically(own, proposal));
  const int error_number = ::link(own.c_str(), agreed.c_str()) == 0 ? 0 : errno;
  ::unlink(own.c_str());
  if (error_number != 0 && error_number != EEXIST) return FileError("link", agreed, error_number);
  return ReadFile(agreed, kMaxAgreementBytes);
}

}  // namespace sightline
