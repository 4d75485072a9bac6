#include "services/corpus_encoder/work_await.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMaxTallyBytes = 1 << 10;

// What one worker owes.
struct Debt {
  int64_t missing = 0;
  std::string first;
};

absl::Status Stalled(const Awaited& awaited, const std::vector<int>& owing, const WorkShare& share,
                     absl::Duration patience) {
  std::map<int, Debt> debts;
  for (const int worker : owing) debts[worker];
  RETURN_IF_ERROR(awaited.pieces([&](const WorkPiece& piece) {
    const auto debt = debts.find(share.OwnerOf(piece.hash));
    if (debt == debts.end() || FileExists(piece.path)) return;
    if (debt->second.missing++ == 0) debt->second.first = piece.path;
  }));
  std::string list;
  for (const auto& [worker, debt] : debts) {
    absl::StrAppend(&list, list.empty() ? "" : "; ", "worker ", worker, ": ", debt.missing,
                    " missing");
    if (debt.missing > 0) absl::StrAppend(&list, ", the first is ", debt.first);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", absl::FormatDuration(patience), " (stall_timeout) without a new one of the ",
      awaited.what, " of other workers; ", list,
      ".  Start these workers again with the same flags and the same corpus (a worker that sees ",
      "other files makes other ", awaited.what,
      "), and then this one, which goes on where it stopped"));
}

std::string TallyPath(const WorkFolder& folder, int worker) {
  return folder.File(absl::StrCat("tally.", worker));
}

}  // namespace

void PauseForPoll(Clock* clock, const AwaitOptions& options) {
  clock->SleepUntil(clock->Now() + options.poll_period);
}

WorkTally::WorkTally(const WorkFolder& folder, const WorkShare& share)
    : fd_(share.workers == 1 ? -1
                             : ::open(TallyPath(folder, share.worker).c_str(),
                                      O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0666)) {}

void WorkTally::Note() {
  if (fd_.get() < 0) return;
  const std::string line = absl::StrFormat("%d %020d\n", ::getpid(), ++count_);
  // Whoever waits a little longer for a line that was not written loses nothing.
  if (::pwrite(fd_.get(), line.data(), line.size(), 0) < 0) return;
}

std::string ReadTallies(const WorkFolder& folder, const std::vector<int>& workers) {
  std::string text;
  for (const int worker : workers) {
    const absl::StatusOr<std::string> tally = ReadFile(TallyPath(folder, worker), kMaxTallyBytes);
    absl::StrAppend(&text, worker, " ", tally.ok() ? *tally : "", "\n");
  }
  return text;
}

absl::Status AwaitSeals(const WorkFolder& folder, const Awaited& awaited, const WorkShare& share,
                        const AwaitOptions& options, const CallContext& call, Progress* progress) {
  std::vector<int> owing;
  for (int worker = 0; worker < share.workers; ++worker) {
    if (worker != share.worker) owing.push_back(worker);
  }
  if (owing.empty()) return absl::OkStatus();
  Clock* const clock = call.clock();
  progress->Begin(absl::StrCat("wait for ", awaited.what), "workers",
                  static_cast<int64_t>(owing.size()));
  absl::Time last_seen = clock->Now();
  std::string tallies;
  for (;;) {
    RETURN_IF_ERROR(call.Check("waiting for other workers"));
    const size_t before = owing.size();
    owing.erase(std::remove_if(owing.begin(), owing.end(),
                               [&](int worker) { return FileExists(awaited.seal(worker)); }),
                owing.end());
    if (owing.empty()) break;
    std::string now = ReadTallies(folder, owing);
    if (owing.size() < before || now != tallies) last_seen = clock->Now();
    tallies = std::move(now);
    progress->Advance(static_cast<int64_t>(before - owing.size()));
    if (clock->Now() - last_seen >= options.stall_timeout) {
      return Stalled(awaited, owing, share, options.stall_timeout);
    }
    PauseForPoll(clock, options);
  }
  progress->End();
  return absl::OkStatus();
}

}  // namespace sightline
