#include "common/object_store/remote_prune.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/visit_objects.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;
using Names = std::set<std::string>;

// What there is of a generation.
struct Objects {
  std::vector<std::string> keys;
  int64_t byte_count = 0;
  absl::Time write_time = absl::InfinitePast();  // of the newest

  void Add(const ObjectInfo& info) {
    keys.push_back(info.key);
    byte_count += info.byte_count;
    write_time = std::max(write_time, info.write_time);
  }
};

// One run over one index.
class RemotePrune {
 public:
  RemotePrune(ObjectStore* store, absl::string_view index, const PruneOptions& options,
              absl::Time now, const CallContext& call)
      : store_(store), index_(index), options_(options), now_(now), call_(call) {}

  absl::StatusOr<PruneSummary> Run() {
    RETURN_IF_ERROR(List());
    ASSIGN_OR_RETURN(const Names goes, WhatGoes());
    for (const auto& [generation, objects] : generations_) {
      if (goes.count(generation) == 0) summary_.kept.push_back(generation);
    }
    Note(goes);
    for (const Aside& aside : asides_) DeleteIfDue(aside, goes);
    RemoveOldPublications();
    if (!options_.dry_run) {
      Tell(
          store_
              ->RemoveHalfWritten(GenerationsPrefix(index_), now_ - options_.abandoned_after, call_)
              .status());
    }
    return std::move(summary_);
  }

 private:
  absl::Status List() {
    const std::string generations = GenerationsPrefix(index_);
    RETURN_IF_ERROR(VisitObjects(store_, generations, call_, [&](const ObjectInfo& info) {
      const std::string rest = info.key.substr(generations.size());
      const std::string name = rest.substr(0, rest.find('/'));
      if (!IsValidName(name, limits::kMaxGenerationNameLength)) return;  // nothing of ours
      generations_[name].Add(info);
    }));
    RETURN_IF_ERROR(VisitObjects(store_, PrunedPrefix(index_), call_, [&](const ObjectInfo& info) {
      auto aside = ParseAside(info.key.substr(PrunedPrefix(index_).size()));
      if (aside.has_value()) asides_.push_back(*std::move(aside));
    }));
    std::stable_sort(asides_.begin(), asides_.end(),
                     [](const Aside& a, const Aside& b) { return a.since < b.since; });
    return VisitObjects(store_, CurrentPrefix(index_), call_, [&](const ObjectInfo& info) {
      const auto sequence = SequenceOfKey(index_, info.key);
      if (sequence.has_value()) publications_[*sequence] = info.write_time;
    });
  }

  absl::Status ListGeneration(const std::string& generation) {
    Objects& objects = generations_[generation] = Objects();
    return VisitObjects(store_, GenerationPrefix(index_, generation), call_,
                        [&](const ObjectInfo& info) { objects.Add(info); });
  }

  // Looks at the newest publication there is by now.
  absl::StatusOr<Names> WhatGoes() const {
    ASSIGN_OR_RETURN(const CurrentGeneration current, ReadRemoteCurrent(store_, index_, call_));
    const auto listed = publications_.find(current.sequence());
    const absl::Time changed = listed == publications_.end() ? now_ : listed->second;
    const Names published = PublishedGenerations(current);
    const Names staying = StayingGenerations(current, changed, options_, now_);
    Names goes;
    for (const auto& [generation, objects] : generations_) {
      const bool old = published.count(generation) > 0
                           ? staying.count(generation) == 0
                           : HasPassed(objects.write_time, options_.abandoned_after, now_);
      if (old) goes.insert(generation);
    }
    return goes;
  }

  void Note(const Names& goes) {
    for (const std::string& generation : goes) {
      const bool noted = std::any_of(asides_.begin(), asides_.end(), [&](const Aside& aside) {
        return aside.generation == generation;
      });
      if (noted) continue;
      Aside aside{AsideName(generation, now_), generation,
                  absl::FromUnixSeconds(ToUnixSeconds(now_))};
      if (!options_.dry_run && !Tell(store_->Write(KeyOf(aside), "", call_))) continue;
      summary_.set_aside.push_back(generation);
      if (!options_.dry_run) asides_.push_back(std::move(aside));
    }
  }

  void DeleteIfDue(const Aside& aside, const Names& goes) {
    const auto objects = generations_.find(aside.generation);
    if (objects == generations_.end() || goes.count(aside.generation) == 0) {
      // Deleted by a prune that was cut off here, or published again against its advice.
      if (!options_.dry_run) Tell(store_->Remove(KeyOf(aside), call_));
      return;
    }
    if (!HasPassed(aside.since, options_.grace, now_)) {
      summary_.waiting.push_back({aside.generation, aside.since + options_.grace});
      return;
    }
    if (!options_.dry_run && !Delete(aside)) return;
    summary_.deleted.push_back(aside.generation);
    summary_.byte_count += objects->second.byte_count;
    generations_.erase(objects);  // another note of it has nothing to delete
  }

  // The manifest first, so that what a crash leaves is no generation.
  bool Delete(const Aside& aside) {
    if (!MayBegin(aside)) return false;
    if (!Tell(RemoveManifest(aside.generation))) return false;
    for (const std::string& key : generations_[aside.generation].keys) {
      if (!Tell(store_->Remove(key, call_))) return false;
    }
    return Tell(store_->Remove(KeyOf(aside), call_));
  }

  // Looks at everything once more: a publisher takes the note away, and who goes on with an upload
  // has written by now.
  bool MayBegin(const Aside& aside) {
    const absl::Status noted = store_->Stat(KeyOf(aside), call_).status();
    if (absl::IsNotFound(noted)) return false;
    if (!Tell(noted) || !Tell(ListGeneration(aside.generation))) return false;
    const absl::StatusOr<Names> still_goes = WhatGoes();
    return Tell(still_goes.status()) && still_goes->count(aside.generation) > 0;
  }

  static bool IsForNow(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
           absl::IsCancelled(status);
  }

  // A publisher looks for the manifest once it has published, and this at what is published once
  // the manifest has gone, however long that takes: one of the two sees the other.  What was
  // published, or may have been, gets its manifest back.
  absl::Status RemoveManifest(const std::string& generation) {
    const std::string key = absl::StrCat(GenerationPrefix(index_, generation), kManifestFile);
    const absl::StatusOr<std::string> manifest =
        store_->ReadAll(key, limits::kMaxManifestBytes, call_);
    if (absl::IsNotFound(manifest.status())) return absl::OkStatus();
    if (IsForNow(manifest.status())) return manifest.status();
    absl::Status removed = RemoveUnpublished(generation, key);
    // What nobody can read any more is not worth giving back.
    if (removed.ok() || !manifest.ok()) return removed;
    const absl::Status back = store_->Create(key, *manifest, call_);
    if (!absl::IsAlreadyExists(back)) Tell(back);
    return removed;
  }

  // Aborted if the generation has been published by now.
  absl::Status RemoveUnpublished(const std::string& generation, const std::string& manifest) {
    RETURN_IF_ERROR(store_->Remove(manifest, call_));
    ASSIGN_OR_RETURN(const Names goes, WhatGoes());
    if (goes.count(generation) > 0) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat("generation ", generation, " of index ", index_,
                                           " was published while it was to be deleted: it stays"));
  }

  // Each tells the whole history, so that only the newest is needed; those before it are for who
  // saw one of them a moment ago.
  void RemoveOldPublications() {
    if (options_.dry_run) return;
    for (auto entry = publications_.begin(); entry != publications_.end(); ++entry) {
      const auto next = std::next(entry);
      if (next == publications_.end() || !HasPassed(next->second, options_.grace, now_)) return;
      Tell(store_->Remove(CurrentKey(index_, entry->first), call_));
    }
  }

  std::string KeyOf(const Aside& aside) const {
    return absl::StrCat(PrunedPrefix(index_), aside.name);
  }

  // Whether it went well.
  bool Tell(const absl::Status& status) {
    if (!status.ok()) summary_.problems.push_back(status);
    return status.ok();
  }

  ObjectStore* const store_;
  const absl::string_view index_;
  const PruneOptions& options_;
  const absl::Time now_;
  const CallContext& call_;
  std::map<std::string, Objects> generations_;
  std::vector<Aside> asides_;                   // the oldest first
  std::map<int64_t, absl::Time> publications_;  // when each was written
  PruneSummary summary_;
};

}  // namespace

absl::StatusOr<PruneSummary> PruneRemote(ObjectStore* store, absl::string_view index,
                                         const PruneOptions& options, absl::Time now,
                                         const CallContext& call) {
  RETURN_IF_ERROR(CheckIndexName(index));
  RETURN_IF_ERROR(CheckPruneOptions(options));
  return RemotePrune(store, index, options, now, call).Run();
}

}  // namespace sightline
