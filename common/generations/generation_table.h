// The generations that a server holds or tried to hold, by name.
//
// What a server keeps of a generation (a model, shards, feature files) is its own affair
// and has no type here; generation_registry.h gives it one.  The table answers requests
// and Admin.GetStatus; the GenerationFollower writes it.
#ifndef SIGHTLINE_COMMON_GENERATIONS_GENERATION_TABLE_H_
#define SIGHTLINE_COMMON_GENERATIONS_GENERATION_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/server_status.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/read_progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What is being read of a generation.
struct Reading {
  LoadStage stage = LoadStage::kLoading;
  absl::Time since;
  std::shared_ptr<const ReadProgress> progress;  // not null
};

enum class HoldState { kLoading, kReady, kRefused };

// One generation on this server.
struct HeldGeneration {
  std::string index;
  std::string generation;
  HoldState state = HoldState::kLoading;
  absl::Status refusal;     // why, when refused
  bool needs_room = false;  // refused only because one in use has the memory
  bool failed = false;      // refused by Fail, which the follower has not seen yet
  int64_t sequence = 0;     // of CURRENT, when it named this generation
  // Null when the manifest cannot be read; never when ready.
  std::shared_ptr<const bundle::v1::GenerationManifest> manifest;
  std::shared_ptr<const void> held;  // when ready
  // When ready: alive as long as anything has memory of the generation.
  std::weak_ptr<const void> memory;
  absl::Time ready_since;           // when ready
  absl::optional<Reading> reading;  // when loading, while its files are read
};

// Thread-safe.
class GenerationTable {
 public:
  // `clock` must outlive the table.
  explicit GenerationTable(Clock* clock) : clock_(clock) {}

  // All that the server is configured to hold was looked at.  Until then a generation that
  // is not here is one to come back for.
  void SetComplete();

  // Adds or replaces an entry; whoever has the old one keeps it alive.
  void Put(HeldGeneration entry);
  void SetSequence(absl::string_view index, absl::string_view generation, int64_t sequence);
  void Remove(absl::string_view index, absl::string_view generation);

  // For requests: a file of a generation cannot be read, or is damaged, as `why` tells.  It
  // is ready no longer, and the follower will load it anew; nothing happens if `held` is not
  // what is held of it now.
  void Fail(absl::string_view index, absl::string_view generation, const void* held,
            const absl::Status& why);

  // For requests: what is held of a ready generation.  With a reason: FailedPrecondition
  // if it is not held (and why it was refused, if it was) or its embedding space is another
  // than `space`; Unavailable if it is not held and the table is not complete.
  absl::StatusOr<HeldGeneration> Find(absl::string_view index, absl::string_view generation,
                                      absl::string_view space);

  // When a request last found it; InfinitePast if none did.
  absl::Time LastUse(absl::string_view index, absl::string_view generation) const;

  absl::optional<HeldGeneration> Get(absl::string_view index, absl::string_view generation) const;
  // By index and generation.
  std::vector<HeldGeneration> All() const;
  std::vector<HeldGeneration> OfIndex(absl::string_view index) const;

 private:
  using Name = std::pair<std::string, std::string>;
  struct Row {
    HeldGeneration entry;
    absl::Time last_use = absl::InfinitePast();
  };

  Clock* const clock_;
  mutable Mutex mutex_;
  bool complete_ GUARDED_BY(mutex_) = false;
  std::map<Name, Row> rows_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_GENERATION_TABLE_H_
