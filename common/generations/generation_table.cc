#include "common/generations/generation_table.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {
namespace {

// `entry`: what is known of it, or null.  `complete`: all has been looked at once.
absl::Status Missing(absl::string_view index, absl::string_view generation, bool complete,
                     const HeldGeneration* entry) {
  const std::string name = absl::StrCat("generation '", generation, "' of index '", index, "'");
  const std::map<std::string, std::string> metadata = {{"index", std::string(index)},
                                                       {"generation", std::string(generation)}};
  if (entry != nullptr && entry->state == HoldState::kLoading) {
    return MakeError(reasons::kServerLoading, absl::StrCat(name, " is being loaded by this server"),
                     metadata);
  }
  const std::string not_held = absl::StrCat(name, " is not held by this server");
  if (!complete) {
    return MakeError(reasons::kServerLoading,
                     absl::StrCat(not_held, ", which has not loaded everything yet"), metadata);
  }
  const bool is_refused = entry != nullptr && !entry->refusal.ok();
  return MakeError(
      reasons::kGenerationNotHeld,
      absl::StrCat(not_held, is_refused ? absl::StrCat(": ", entry->refusal.message()) : ""),
      metadata);
}

absl::Status WrongSpace(const bundle::v1::GenerationManifest& manifest, absl::string_view space) {
  const std::string& expected = manifest.embedding().space();
  return MakeError(
      reasons::kEmbeddingSpaceMismatch,
      absl::StrCat("generation '", manifest.generation(), "' of index '", manifest.index(),
                   "' lies in embedding space ", expected, ", not in '", space, "'"),
      {{"expectedSpace", expected}, {"actualSpace", std::string(space)}});
}

}  // namespace

void GenerationTable::SetComplete() {
  MutexLock lock(mutex_);
  complete_ = true;
}

void GenerationTable::Put(HeldGeneration entry) {
  std::shared_ptr<const void> old;  // goes after the lock
  MutexLock lock(mutex_);
  Row& row = rows_[{entry.index, entry.generation}];
  old = std::move(row.entry.held);
  row.entry = std::move(entry);
}

void GenerationTable::SetSequence(absl::string_view index, absl::string_view generation,
                                  int64_t sequence) {
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  if (found != rows_.end()) found->second.entry.sequence = sequence;
}

void GenerationTable::Remove(absl::string_view index, absl::string_view generation) {
  std::shared_ptr<const void> old;  // goes after the lock
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  if (found == rows_.end()) return;
  old = std::move(found->second.entry.held);
  rows_.erase(found);
}

void GenerationTable::Fail(absl::string_view index, absl::string_view generation, const void* held,
                           const absl::Status& why) {
  std::shared_ptr<const void> old;  // goes after the lock
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  if (found == rows_.end()) return;
  HeldGeneration& entry = found->second.entry;
  if (entry.state != HoldState::kReady || entry.held.get() != held) return;
  entry.state = HoldState::kRefused;
  entry.refusal = why;
  entry.failed = true;
  old = std::move(entry.held);
}

absl::StatusOr<HeldGeneration> GenerationTable::Find(absl::string_view index,
                                                     absl::string_view generation,
                                                     absl::string_view space) {
  const absl::Time now = clock_->Now();
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  if (found == rows_.end() || found->second.entry.state != HoldState::kReady) {
    return Missing(index, generation, complete_,
                   found == rows_.end() ? nullptr : &found->second.entry);
  }
  Row& row = found->second;
  if (row.entry.manifest->embedding().space() != space) {
    return WrongSpace(*row.entry.manifest, space);
  }
  row.last_use = now;
  return row.entry;
}

absl::Time GenerationTable::LastUse(absl::string_view index, absl::string_view generation) const {
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  return found == rows_.end() ? absl::InfinitePast() : found->second.last_use;
}

absl::optional<HeldGeneration> GenerationTable::Get(absl::string_view index,
                                                    absl::string_view generation) const {
  MutexLock lock(mutex_);
  const auto found = rows_.find({std::string(index), std::string(generation)});
  if (found == rows_.end()) return absl::nullopt;
  return found->second.entry;
}

std::vector<HeldGeneration> GenerationTable::All() const {
  MutexLock lock(mutex_);
  std::vector<HeldGeneration> all;
  for (const auto& [name, row] : rows_) all.push_back(row.entry);
  return all;
}

std::vector<HeldGeneration> GenerationTable::OfIndex(absl::string_view index) const {
  MutexLock lock(mutex_);
  std::vector<HeldGeneration> own;
  for (const auto& [name, row] : rows_) {
    if (name.first == index) own.push_back(row.entry);
  }
  return own;
}

}  // namespace sightline
