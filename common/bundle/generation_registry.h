// The generations that a server holds, found by name.
//
// What a server keeps of a generation (a model, shards, feature files) is its own
// affair: T.  The registry owns it, hands it out as shared_ptr, so that a request keeps
// what it works on alive, and answers for everything that is not there.
#ifndef SIGHTLINE_COMMON_BUNDLE_GENERATION_REGISTRY_H_
#define SIGHTLINE_COMMON_BUNDLE_GENERATION_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/error_details.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Thread-safe.
template <typename T>
class GenerationRegistry {
 public:
  struct Entry {
    bundle::v1::GenerationManifest manifest;
    int64_t sequence = 0;  // of CURRENT, when it named this generation
    std::shared_ptr<const T> held;
  };

  // All that the server is configured to hold is here.  Until then a generation that is
  // not is one to come back for.
  void SetComplete() {
    std::lock_guard<std::mutex> lock(mutex_);
    complete_ = true;
  }

  // Adds or replaces the generation that `entry.manifest` names.
  void Put(Entry entry) {
    auto shared = std::make_shared<const Entry>(std::move(entry));
    std::lock_guard<std::mutex> lock(mutex_);
    entries_[{shared->manifest.index(), shared->manifest.generation()}] = shared;
  }

  // With a reason: FailedPrecondition if the generation is not held or its embedding space
  // is another than `space`; Unavailable if it is not held and the registry is not complete.
  absl::StatusOr<std::shared_ptr<const Entry>> Find(absl::string_view index,
                                                    absl::string_view generation,
                                                    absl::string_view space) const {
    std::shared_ptr<const Entry> entry;
    bool complete = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto found = entries_.find({std::string(index), std::string(generation)});
      if (found != entries_.end()) entry = found->second;
      complete = complete_;
    }
    if (entry == nullptr) return Missing(index, generation, complete);
    if (entry->manifest.embedding().space() != space) {
      return WithReason(
          absl::FailedPreconditionError(absl::StrCat(
              "generation '", generation, "' of index '", index, "' lies in embedding space ",
              entry->manifest.embedding().space(), ", not in '", space, "'")),
          "EMBEDDING_SPACE_MISMATCH",
          {{"expectedSpace", entry->manifest.embedding().space()},
           {"actualSpace", std::string(space)}});
    }
    return entry;
  }

  // All of them, by index and generation.
  std::vector<std::shared_ptr<const Entry>> All() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<const Entry>> all;
    for (const auto& [name, entry] : entries_) all.push_back(entry);
    return all;
  }

 private:
  static absl::Status Missing(absl::string_view index, absl::string_view generation,
                              bool complete) {
    const std::string name = absl::StrCat("generation '", generation, "' of index '", index, "'");
    const absl::Status status =
        complete ? absl::FailedPreconditionError(absl::StrCat(name, " is not held by this server"))
                 : absl::UnavailableError(absl::StrCat(
                       name, " is not held by this server, which has not loaded everything yet"));
    return WithReason(status, complete ? "GENERATION_NOT_HELD" : "SERVER_LOADING",
                      {{"index", std::string(index)}, {"generation", std::string(generation)}});
  }

  mutable std::mutex mutex_;
  bool complete_ = false;  // guarded by mutex_, as is
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Entry>> entries_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_GENERATION_REGISTRY_H_
