// Keeps what a server holds in step with CURRENT.
//
// One thread looks at the CURRENT of every index again and again.  A generation that it
// names is given room, loaded, verified meanwhile, and put into the table, one after another,
// so that loading takes one core and the memory of one; or it is refused, with a reason that
// the table shows, and what was held before is served on.  Once something is served, the
// thread yields: in cores, in disk and in the memory's bandwidth.  An older one goes when a newer
// one is ready and neither routers nor requests have used it for a while.
//
// A generation whose files a request could not read leaves READY (GenerationTable::Fail) and
// comes back once they can be read.  Refusals that another try cannot mend are remembered
// (refusals.h).  Trouble of the machine is tried again, after a second, two, and so on up to a
// minute.  When CURRENT is refused and nothing of the index is held, as after a restart, the
// newest generation published before it that is good is served, and those that are newer and
// may be good after all go on being tried.
//
// While something is loaded, every index is looked at all the same: what is held already is
// served again at once when the CURRENT of an index goes back to it, whatever else is being
// loaded, and health changes with what is held.  A load is given up when the CURRENT of its index
// asks for something else.  It is put off when another index goes back to what has to be loaded,
// and when nothing of an index is served and a try is due that might mend that; what it was put
// off for goes first.  Each load that was put off so may go on for twice as long before it is
// again.
//
// Memory is planned, not probed: the host says what a set of generations takes, of the machine's
// memory and of devices', and no generation is loaded that would take it beyond the limit.  When
// only the one in use is in the way, the server says so (needs_room) and waits until the routers
// allow it to let that go, which they do when others hold it.
#ifndef SIGHTLINE_COMMON_GENERATIONS_GENERATION_FOLLOWER_H_
#define SIGHTLINE_COMMON_GENERATIONS_GENERATION_FOLLOWER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/read_progress.h"
#include "common/device/device_info.h"
#include "common/generations/attempt.h"
#include "common/generations/current_view.h"
#include "common/generations/generation_options.h"
#include "common/generations/generation_table.h"
#include "common/generations/janitor.h"
#include "common/generations/refusals.h"
#include "common/generations/router_uses.h"
#include "common/metrics/metrics.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a server does with generations.  Called by one thread at a time.
class GenerationHost {
 public:
  using Manifest = bundle::v1::GenerationManifest;
  virtual ~GenerationHost() = default;

  // The files that this server reads of a generation, for telling whether they changed.
  virtual std::vector<std::string> Files(const Manifest& manifest) const = 0;

  // Bytes of memory that it takes to hold exactly these.  What they share counts once.
  virtual absl::StatusOr<int64_t> Footprint(
      absl::Span<const Manifest* const> generations) const = 0;

  // Beside that what it takes of devices, each once.  UNAVAILABLE (DEVICE_FAILED) if one cannot be
  // asked how much memory it has.
  virtual absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      absl::Span<const Manifest* const> /*generations*/) {
    return std::vector<device::DeviceFootprint>();
  }

  // Checks what can be told without reading the data: names, lengths, spaces.  Errors with a
  // reason.
  virtual absl::Status Check(const Manifest& manifest) = 0;

  // Reads all that Load reads and checks it as Load does, without holding it: for a
  // generation that another one has to make room for.  Errors with a reason.
  virtual absl::Status Verify(const Manifest& manifest, const CallContext& call) = 0;

  // A file of it was found damaged, so that nothing that is remembered of its files is
  // believed before they were read again.
  virtual void Distrust(const Manifest& manifest) = 0;

  struct Loaded {
    std::shared_ptr<const void> held;
    // Kept by every part of it that has memory and that requests may keep by itself; null:
    // they keep `held`.
    std::shared_ptr<const void> memory;
  };

  // Loads it, checks it meanwhile unless it is `verified`, and makes it ready for its first
  // request.  Errors with a reason.
  virtual absl::StatusOr<Loaded> Load(const Manifest& manifest, bool verified,
                                      const CallContext& call) = 0;
};

// Start and the destructor belong to one thread; Indexes and NoteUses are thread-safe.
class GenerationFollower {
 public:
  // All outlive the follower.  `on_serving` is called on threads of the follower, once at a time:
  // with true when every index was looked at and something can be served, with false when
  // nothing can any more, and so on.
  GenerationFollower(const GenerationOptions& options, GenerationHost* host, GenerationTable* table,
                     Janitor* janitor, MetricsRegistry* metrics, Clock* clock,
                     std::function<void(bool)> on_serving);

  // Stops the thread; a load in progress is cancelled, but for that of a model, which comes
  // to its end.
  ~GenerationFollower();

  GenerationFollower(const GenerationFollower&) = delete;
  GenerationFollower& operator=(const GenerationFollower&) = delete;

  // Begins to follow; returns when every index was looked at once.  `stop` ends that, and all
  // following with it: what is fetched and loaded is cancelled as by the destructor.
  void Start(const std::shared_ptr<Cancellation>& stop = std::make_shared<Cancellation>());

  // Looks at every index once, on the calling thread: what the follower's thread does.
  void Pass();

  // What is known of CURRENT, of every index that was looked at.
  std::vector<IndexStatus> Indexes() const { return view_.Describe(); }

  // What a router told that it uses.
  void NoteUses(absl::string_view router, std::vector<GenerationUse> uses);

 private:
  using Manifest = bundle::v1::GenerationManifest;
  using Name = std::pair<std::string, std::string>;  // index, generation
  using Visit = std::function<bool(const std::string& generation, int64_t sequence)>;

  static constexpr char kReadyResult[] = "READY";  // beside the reasons of refusals

  struct Leaving {
    std::shared_ptr<const Manifest> manifest;
    std::weak_ptr<const void> memory;
  };

  void Run();
  // On any thread.
  void Look(const std::string& index);
  void TellServing() EXCLUDES(serving_mutex_);
  absl::optional<std::string> RolledBack() const;
  absl::optional<std::string> Starving() const;
  bool IsOvertaken(const std::string& index, const std::string& wanted, absl::Time patient_until);
  bool HoldsAny(const std::string& index) const;
  bool IsReady(const std::string& index, const std::string& generation) const;

  // On the thread that passes.
  void TakeOutFailed(const std::string& index);
  void FollowIndex(const std::string& index);
  void QueueAnew(const std::string& index, const std::string& generation);
  absl::StatusOr<Manifest> GetManifest(const std::string& index, const std::string& generation,
                                       const Attempt& attempt) const;
  absl::Status FetchManifests(const Manifest& manifest, const CallContext& call);
  absl::Status Fetch(HeldGeneration* entry, Attempt* attempt, const CallContext& call);
  std::vector<std::string> FilesInUse() const;
  absl::Status Mend(const HeldGeneration& entry, const absl::Status& refusal,
                    const CallContext& call, Attempt* attempt);
  void VisitAncestors(const std::string& index, const bundle::v1::CurrentGeneration& current,
                      const Visit& visit);
  void BringBack(const std::string& index, const bundle::v1::CurrentGeneration& current);
  void FallBack(const std::string& index, const bundle::v1::CurrentGeneration& current);
  bool StandIn(const std::string& index, const std::string& generation, int64_t sequence,
               const bundle::v1::CurrentGeneration& current);
  bool IsHopeless(const HeldGeneration& entry) const;
  void Hold(const std::string& index, const std::string& generation, int64_t sequence);
  void TryAgainAt(const std::string& index, absl::Time when);
  absl::Status TryToHold(HeldGeneration* entry, Attempt* attempt, const CallContext& call);
  absl::Status VerifyAlone(HeldGeneration* entry, Attempt* attempt, const CallContext& call);
  ReadProgress::Files FilesToRead(const Manifest& manifest) const;
  absl::Status MakeRoom(HeldGeneration* entry);
  void PutReady(HeldGeneration entry, absl::Time begin, Attempt* attempt);
  void Refuse(HeldGeneration entry, const absl::Status& refusal, Attempt* attempt);
  void PutRefused(HeldGeneration entry, const absl::Status& refusal, Attempt* attempt);
  void ReleaseIdle(const std::string& index);
  bool IsIdle(const HeldGeneration& entry) const;
  void ReleaseOld(const std::string& index, const WantedGeneration& wanted);
  void ForgetUnasked(const std::string& index);
  void Release(const HeldGeneration& entry, absl::string_view why);
  absl::StatusOr<std::string> LackFor(absl::Span<const Manifest* const> manifests);
  absl::StatusOr<std::string> LackWith(const Manifest& manifest, absl::string_view without_index);
  std::string IdentityOf(const std::string& index, const std::string& generation,
                         const Manifest* manifest) const;
  void UpdateMetrics(const std::string& index);
  Counter LoadsOf(const std::string& index, const std::string& result) const;

  const GenerationOptions options_;
  GenerationHost* const host_;
  GenerationTable* const table_;
  Janitor* const janitor_;
  MetricsRegistry* const metrics_;
  Clock* const clock_;
  const std::function<void(bool)> on_serving_ GUARDED_BY(serving_mutex_);
  RouterUses uses_;
  const CallContext call_;  // of all that is loaded; cancelled when the follower goes
  CurrentView view_;

  // Of the thread that passes.
  Refusals refusals_;
  std::map<Name, Attempt> attempts_;              // of what is in the table, or was asked for last
  std::map<std::string, std::string> stand_ins_;  // by index: what is served in CURRENT's place
  std::vector<Leaving> leaving_;
  std::deque<std::string> turn_;  // indexes that this pass has yet to follow
  // Since FollowIndex began: generations that Hold was asked for, and whether a load was given up.
  std::set<std::string> asked_;
  bool given_up_ = false;
  const Histogram load_seconds_;

  mutable Mutex tries_mutex_;
  std::map<std::string, absl::Time> next_tries_ GUARDED_BY(tries_mutex_);  // by index
  Mutex serving_mutex_;
  bool looked_at_all_ GUARDED_BY(serving_mutex_) = false;
  bool serving_ GUARDED_BY(serving_mutex_) = false;

  Mutex mutex_;
  CondVar changed_;
  bool passed_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_GENERATION_FOLLOWER_H_
