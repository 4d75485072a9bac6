#include "common/base/record_sorter.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kRunsToMerge = 100;

// As a spool keeps them: u32 length of the key, key, value.
std::string Joined(absl::string_view key, absl::string_view value) {
  const auto size = static_cast<uint32_t>(key.size());
  std::string record(reinterpret_cast<const char*>(&size), sizeof(size));
  absl::StrAppend(&record, key, value);
  return record;
}

// The next record of one run.
struct Head {
  explicit Head(Spool::Reader reader) : reader(std::move(reader)) {}

  // False at the end.
  absl::StatusOr<bool> Next() {
    absl::string_view record;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) return false;
    uint32_t size = 0;
    std::memcpy(&size, record.data(), sizeof(size));
    key = record.substr(sizeof(size), size);
    value = record.substr(sizeof(size) + size);
    return true;
  }

  Spool::Reader reader;
  absl::string_view key, value;
};

}  // namespace

absl::string_view RecordSorter::Key(const Entry& entry) const {
  return absl::string_view(memory_).substr(entry.begin, entry.key_size);
}

absl::string_view RecordSorter::Value(const Entry& entry) const {
  return absl::string_view(memory_).substr(entry.begin + entry.key_size, entry.value_size);
}

absl::Status RecordSorter::Add(absl::string_view key, absl::string_view value) {
  if (key.size() + value.size() > UINT32_MAX - sizeof(uint32_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record of ", key.size() + value.size(), " bytes cannot be sorted"));
  }
  entries_.push_back(
      {memory_.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
  absl::StrAppend(&memory_, key, value);
  sorted_ = false;
  ++size_;
  const size_t held = memory_.size() + entries_.size() * sizeof(Entry);
  return static_cast<int64_t>(held) < memory_bytes_ ? absl::OkStatus() : PutAside();
}

void RecordSorter::SortMemory() {
  if (sorted_) return;
  std::stable_sort(entries_.begin(), entries_.end(),
                   [this](const Entry& a, const Entry& b) { return Key(a) < Key(b); });
  sorted_ = true;
}

absl::Status RecordSorter::PutAside() {
  SortMemory();
  ASSIGN_OR_RETURN(std::shared_ptr<Spool> spool, Spool::Create(directory_));
  for (const Entry& entry : entries_) RETURN_IF_ERROR(spool->Add(Joined(Key(entry), Value(entry))));
  RETURN_IF_ERROR(spool->Finish());
  memory_.clear();
  entries_.clear();
  if (levels_.empty()) levels_.emplace_back();
  levels_[0].push_back({spool, 0, spool->byte_count()});
  return MergeFullLevels();
}

absl::Status RecordSorter::MergeFullLevels() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].size() < kRunsToMerge) break;
    ASSIGN_OR_RETURN(std::shared_ptr<Spool> spool, Spool::Create(directory_));
    RETURN_IF_ERROR(Merge(levels_[level], [&](absl::string_view key, absl::string_view value) {
      return spool->Add(Joined(key, value));
    }));
    RETURN_IF_ERROR(spool->Finish());
    levels_[level].clear();
    if (level + 1 == levels_.size()) levels_.emplace_back();
    levels_[level + 1].push_back({spool, 0, spool->byte_count()});
  }
  return absl::OkStatus();
}

// `runs` from the oldest to the youngest.
absl::Status RecordSorter::Merge(const std::vector<Run>& runs, const Visit& visit) const {
  std::vector<Head> heads;
  for (const Run& run : runs) heads.emplace_back(Spool::Reader(*run.spool, run.begin, run.end));
  const auto later = [&](size_t a, size_t b) {
    const int order = heads[a].key.compare(heads[b].key);
    return order > 0 || (order == 0 && a > b);
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> queue(later);
  for (size_t i = 0; i < heads.size(); ++i) {
    ASSIGN_OR_RETURN(const bool more, heads[i].Next());
    if (more) queue.push(i);
  }
  while (!queue.empty()) {
    const size_t first = queue.top();
    queue.pop();
    RETURN_IF_ERROR(visit(heads[first].key, heads[first].value));
    ASSIGN_OR_RETURN(const bool more, heads[first].Next());
    if (more) queue.push(first);
  }
  return absl::OkStatus();
}

absl::Status RecordSorter::VisitAll(const Visit& visit) {
  if (levels_.empty()) {
    SortMemory();
    for (const Entry& entry : entries_) RETURN_IF_ERROR(visit(Key(entry), Value(entry)));
    return absl::OkStatus();
  }
  if (!entries_.empty()) RETURN_IF_ERROR(PutAside());
  std::string().swap(memory_);
  std::vector<Entry>().swap(entries_);
  std::vector<Run> runs;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    runs.insert(runs.end(), level->begin(), level->end());
  }
  return Merge(runs, visit);
}

}  // namespace sightline
