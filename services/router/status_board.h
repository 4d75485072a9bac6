// What the router has last heard from its backends, and what follows from it: which
// generation of each index new requests are pinned to (pinning.h), who holds what, and
// what servers are told of it.
//
// Answers of polls are put down as they come (Report) and looked at together (Refresh): what
// follows from them is worked out once for all that have come since, and published as a value
// that does not change any more.  Requests read that value; they wait neither for a poll nor
// for a change of members.
//
// A backend that stops answering keeps its last word: its replicas and the other shards
// go on, and the request itself finds out who is there.
#ifndef SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
#define SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/generation.h"
#include "common/api/server_status.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/published.h"
#include "common/metrics/metrics.h"
#include "common/replicas/roster.h"
#include "common/retrieval/generation_catalog.h"
#include "services/router/fleet_view.h"
#include "services/router/membership.h"
#include "services/router/pin_chooser.h"
#include "services/router/release_grants.h"

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
  // Takes what a replica set is made of from now on.  Called by one thread at a time, before a
  // request can be pinned to a generation that the roster before did not know.  Does not call
  // the board, but for what requests call.
  using RosterSink = std::function<void(const ReplicaSetId& set, Roster roster)>;

  // Hands the first rosters to `sink` at once; `sink` may be null.  `clock` and `metrics`
  // outlive the board.
  StatusBoard(const Membership& members, StatusBoardOptions options, Clock* clock,
              MetricsRegistry* metrics, RosterSink sink);
  ~StatusBoard() override;

  // From now on there are these backends, of the same indexes.  Those that were there
  // already keep what they said.
  void SetMembers(const Membership& members);

  // What `address` answered to the last poll, or why it did not.  Is put down for the next
  // Refresh, which is up to the caller; true if nothing else is waiting for that.
  bool Report(const std::string& address, absl::StatusOr<ServerStatus> status);

  // Draws the consequences of what has been reported, and of the time.
  void Refresh();

  // What `address` is to be told with the next poll: the generations that requests are
  // pinned to or still work on, and whether it may let go of one.  The board remembers
  // that it may, so call this for requests that are sent.
  StatusRequest RequestFor(const std::string& address);

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
  // What is published.
  struct Catalog;
  struct PageGeneration;

  struct Answer {
    std::string address;
    absl::StatusOr<ServerStatus> status;
    absl::Time at;
  };

  struct Index {
    std::shared_ptr<const GenerationInfo> pinned;  // null at first
    // What requests may still work on.
    std::vector<std::weak_ptr<const GenerationInfo>> others;
    // The generations before the one that is pinned, by name: of those pages can be had for a
    // while, and of no others, so no token can make servers keep one that never was pinned.
    std::map<std::string, std::shared_ptr<const PageGeneration>> pages;
    PinChooser chooser;
    ReleaseGrants grants;
    Gauge sequence;
    absl::Time look_at = absl::InfiniteFuture();  // next, if nothing is heard
  };

  void ApplyAnswers() REQUIRES(mutex_) EXCLUDES(inbox_mutex_);
  void DrawConsequences() REQUIRES(mutex_);
  void Repin(const std::string& name, Index* index, absl::Time now) REQUIRES(mutex_);
  void MoveTo(std::shared_ptr<const GenerationInfo> info, Index* index, absl::Time now)
      REQUIRES(mutex_);
  std::shared_ptr<const Catalog> MakeCatalog() const REQUIRES(mutex_);

  const StatusBoardOptions options_;
  Clock* const clock_;
  const RosterSink sink_;
  const absl::Time started_;

  Mutex inbox_mutex_;
  std::vector<Answer> inbox_ GUARDED_BY(inbox_mutex_);

  mutable Mutex mutex_;  // of those who poll and those who change members
  FleetView fleet_ GUARDED_BY(mutex_);
  std::map<std::string, Index> indexes_ GUARDED_BY(mutex_);
  std::vector<Answer> answers_ GUARDED_BY(mutex_);  // empty: its room is used again

  Published<Catalog> catalog_;  // all that requests look at
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_STATUS_BOARD_H_
