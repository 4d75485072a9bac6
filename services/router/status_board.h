// What the router has last heard from its backends, and what follows from it: which
// generation of each index new requests are pinned to (pinning.h), who holds what, and
// what servers are told of it.
//
// A backend that stops answering keeps its last word: its replicas and the other shards
// go on, and the request itself finds out who is there.
#ifndef SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
#define SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/server_status.h"
#include "common/metrics/metrics.h"
#include "common/retrieval/generation_catalog.h"
#include "common/retrieval/replica_choice.h"
#include "services/router/membership.h"
#include "services/router/pin_chooser.h"
#include "services/router/pinning.h"
#include "services/router/release_grants.h"
#include "services/router/reported_sequences.h"

namespace sightline {

struct StatusBoardOptions {
  std::string router;        // names this router towards servers, anew each time it starts
  double ready_share = 0.5;  // as in RouterConfig, both
  absl::Duration dead_after = absl::Seconds(10);
  absl::Duration poll_timeout = absl::Milliseconds(500);
  absl::Duration start_grace = absl::Seconds(10);
  absl::Duration page_token_lifetime = absl::Minutes(10);
  absl::Duration restored_after = absl::Minutes(2);
};

// Thread-safe.
class StatusBoard : public GenerationCatalog {
 public:
  // `clock` and `metrics` outlive the board.
  StatusBoard(const Membership& members, StatusBoardOptions options, Clock* clock,
              MetricsRegistry* metrics);

  // From now on there are these backends, of the same indexes.  Those that were there
  // already keep what they said.
  void SetMembers(const Membership& members);

  // What `address` answered to the last poll, or why it did not.
  void Report(const std::string& address, const absl::StatusOr<ServerStatus>& status);

  // What `address` is to be told with the next poll: the generations that requests are
  // pinned to or still work on, and whether it may let go of one.  The board remembers
  // that it may, so call this for requests that are sent.
  StatusRequest RequestFor(const std::string& address);

  // Whether `address` holds `target`, and if `shard` is not negative that shard of it.
  Fitness FitnessOf(const std::string& address, const GenerationRef& target, int shard) const;

  absl::StatusOr<std::shared_ptr<const GenerationInfo>> Pin(absl::string_view index) const override;
  absl::StatusOr<std::shared_ptr<const GenerationInfo>> PinGeneration(
      absl::string_view index, absl::string_view generation) const override;
  std::vector<std::shared_ptr<const GenerationInfo>> Known() const override;

  // Whether every configured index has been pinned to a generation, and whether any has.
  bool all_known() const;
  bool any_known() const;

  // For Admin.GetStatus: the pinned generations and every backend.
  ServerStatus Describe() const;

 private:
  // Polls missed in a row after which a backend counts as silent.
  static constexpr int kSilentAfter = 2;

  struct Backend {
    std::string service;
    std::vector<std::string> shards;  // "indexes/<index>/shards/<n>"
    ServerStatus last;
    absl::Time heard;    // when it last answered; when it was added, at first
    int missed = 0;      // polls since then
    bool asked = false;  // has answered or failed
    bool reachable = false;
    std::string error = "not asked yet";
  };

  struct Index {
    std::shared_ptr<const GenerationInfo> pinned;  // null at first
    // What requests may still work on.
    std::vector<std::weak_ptr<const GenerationInfo>> others;
    ReportedSequences sequences;
    // Until when pages of a generation can be had; forever of what is pinned.  Only of those
    // that were pinned here, so no token can make servers keep one that never was.
    std::map<std::string, absl::Time> pages_until;
    PinChooser chooser;
    ReleaseGrants grants;
    Gauge sequence;
  };

  int CountPinned() const;

  // mutex_ is held in all of these.
  void Refresh(const std::string& name, Index* index);
  void NoteSequences(const std::string& name, Index* index) const;
  void NotePages(Index* index, const std::string& before, const std::string& pinned);
  bool HeardEnough(const std::string& name) const;
  IndexView View(const std::string& name, const Index& index) const;
  SetView ViewSet(const std::string& index, const Addresses& addresses, int shard,
                  int shard_count) const;
  std::shared_ptr<const GenerationInfo> MakeInfo(const std::string& index,
                                                 const std::string& generation) const;
  absl::StatusOr<Index*> Find(absl::string_view name) const;

  const StatusBoardOptions options_;
  Clock* const clock_;
  const absl::Time started_;
  mutable std::mutex mutex_;
  Membership members_;  // guarded by mutex_, as are
  std::map<std::string, Backend> backends_;
  mutable std::map<std::string, Index> indexes_;  // pinning a generation notes its user
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
