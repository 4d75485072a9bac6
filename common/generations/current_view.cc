#include "common/generations/current_view.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/bundle/publication.h"
#include "common/generations/attempt.h"
#include "common/log/log.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;

// What is held is served meanwhile, and what follows waits.
constexpr absl::Duration kFetchTime = absl::Seconds(5);

bool IsSamePublication(const CurrentGeneration& a, const CurrentGeneration& b) {
  return a.generation() == b.generation() && a.sequence() == b.sequence();
}

}  // namespace

CurrentView::CurrentView(std::string store, GenerationSource* source, absl::Duration restored_after,
                         Clock* clock, CallContext call)
    : store_(std::move(store)),
      source_(source),
      restored_after_(restored_after),
      clock_(clock),
      call_(std::move(call)) {}

void CurrentView::Look(const std::string& index) {
  const absl::Status fetched =
      source_->FetchCurrent(index, call_.WithDeadline(clock_->Now() + kFetchTime));
  if (call_.cancelled()) return;  // what came of it says nothing
  MutexLock lock(mutex_);
  Row& row = rows_[index];
  absl::StatusOr<CurrentGeneration> current = ReadCurrent(store_, index);
  row.status = current.status();
  row.trouble = fetched.ok() ? row.status : fetched;
  NoteStatus(index, &row);
  if (!current.ok()) {
    row.behind = {};
    return;
  }
  if (!IsToBeBelieved(index, *current, &row)) return;
  row.behind = {};
  if (!row.wanted.has_value()) row.wanted.emplace();
  WantedGeneration& wanted = *row.wanted;
  if (!IsSamePublication(wanted.current, *current)) row.taken = false;
  if (wanted.current.generation() != current->generation()) wanted.since = clock_->Now();
  wanted.current = *std::move(current);
}

// Says once what is the matter with CURRENT, and once when that is over.
void CurrentView::NoteStatus(const std::string& index, Row* row) {
  // Not the message: it may tell how long was waited, or how often.
  std::string now = row->trouble.ok() ? ""
                                      : absl::StrCat(StatusCodeName(row->trouble.code()), " ",
                                                     row->status.ok() ? "old" : "none");
  if (now == row->told) return;
  row->told = std::move(now);
  if (absl::IsNotFound(row->trouble)) {
    Log(Severity::kWarning,
        row->wanted.has_value() ? "CURRENT is gone; what it named last is served on"
                                : "nothing is published yet",
        {{"index", index}, {"error", row->trouble}});
  } else if (row->trouble.ok()) {
    Log(Severity::kInfo, "CURRENT is up to date", {{"index", index}});
  } else {
    Log(Severity::kError,
        row->status.ok() ? "CURRENT cannot be brought up to date" : "CURRENT cannot be read",
        {{"index", index}, {"error", row->trouble}});
  }
}

bool CurrentView::IsToBeBelieved(const std::string& index, const CurrentGeneration& current,
                                 Row* row) const {
  if (!row->wanted.has_value()) return true;
  const CurrentGeneration& seen = row->wanted->current;
  if (current.sequence() > seen.sequence() || IsSamePublication(current, seen)) return true;
  const bool is_news = !IsSamePublication(current, row->behind.current);
  if (is_news) row->behind = {current, clock_->Now()};
  const bool stands = clock_->Now() - row->behind.since >= restored_after_;
  if (is_news || stands) {
    Log(Severity::kWarning,
        stands ? "CURRENT stays behind what was seen: the store was restored, and is followed"
               : "CURRENT is behind what was seen, and is followed if it stays so",
        {{"index", index},
         {"generation", current.generation()},
         {"sequence", current.sequence()},
         {"seen_generation", seen.generation()},
         {"seen_sequence", seen.sequence()},
         {"restored_after", restored_after_}});
  }
  return stands;
}

const CurrentView::Row* CurrentView::Find(const std::string& index) const {
  const auto found = rows_.find(index);
  return found == rows_.end() ? nullptr : &found->second;
}

absl::optional<WantedGeneration> CurrentView::Get(const std::string& index) const {
  MutexLock lock(mutex_);
  const Row* const row = Find(index);
  if (row == nullptr || !row->status.ok()) return absl::nullopt;
  return row->wanted;
}

absl::optional<WantedGeneration> CurrentView::Take(const std::string& index) {
  MutexLock lock(mutex_);
  Row& row = rows_[index];
  row.taken = true;
  if (!row.status.ok()) return absl::nullopt;
  return row.wanted;
}

bool CurrentView::IsRolledBack(const std::string& index) const {
  MutexLock lock(mutex_);
  const Row* const row = Find(index);
  if (row == nullptr || !row->wanted.has_value() || row->taken) return false;
  // Who is gone back from is marked, and is the newest of those before.
  const CurrentGeneration& current = row->wanted->current;
  return current.previous_size() > 0 && current.previous(0).rolled_back();
}

std::vector<IndexStatus> CurrentView::Describe() const {
  MutexLock lock(mutex_);
  std::vector<IndexStatus> described;
  for (const auto& [index, row] : rows_) {
    IndexStatus status;
    status.index = index;
    if (row.wanted.has_value()) {
      status.generation = row.wanted->current.generation();
      status.sequence = row.wanted->current.sequence();
    }
    if (!row.trouble.ok()) {
      status.error = absl::StrCat(ReasonOf(row.trouble), ": ", row.trouble.message());
    }
    described.push_back(std::move(status));
  }
  return described;
}

int64_t CurrentView::Sequence(const std::string& index) const {
  MutexLock lock(mutex_);
  const Row* const row = Find(index);
  if (row == nullptr) return 0;
  if (!row->trouble.ok() && !absl::IsNotFound(row->trouble)) return -1;
  return row->wanted.has_value() ? row->wanted->current.sequence() : 0;
}

int64_t SequenceIn(const CurrentGeneration& current, const std::string& generation,
                   int64_t sequence) {
  if (current.generation() == generation) return current.sequence();
  for (const bundle::v1::Publication& publication : current.previous()) {
    if (publication.generation() == generation) return publication.sequence();
  }
  return sequence < current.sequence() ? sequence : 0;
}

}  // namespace sightline
