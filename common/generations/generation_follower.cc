#include "common/generations/generation_follower.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/base/failed_read.h"
#include "common/base/files.h"
#include "common/base/read_pace.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/log/log.h"

namespace sightline {
namespace {

// Loading yields to answering: about a tenth of a core where all are busy, the disk after
// others, and of the memory's bandwidth a few percent, since what is read at 1 GiB a second
// is copied and looked at no faster.
constexpr int kLoadingNice = 10;
constexpr int64_t kBackgroundBytesPerSecond = int64_t{1} << 30;
// linux/ioprio.h, which few systems have: the last of the "best effort" levels.  Idle might
// never get its turn.
constexpr int kIoPriorityOfThread = 1;
constexpr int kIoPriority = 2 << 13 | 7;
// Routers ask once or twice a second; a lease has to outlast some that go astray.
constexpr absl::Duration kLeastLease = absl::Seconds(10);

void YieldToOthers() {
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  // A server that is nice itself is so on top; the kernel takes 19 for more.
  ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kLoadingNice);
  ::syscall(SYS_ioprio_set, kIoPriorityOfThread, 0, kIoPriority);
}

}  // namespace

GenerationFollower::GenerationFollower(const GenerationOptions& options, GenerationHost* host,
                                       GenerationTable* table, Janitor* janitor,
                                       MetricsRegistry* metrics, Clock* clock,
                                       std::function<void(bool)> on_serving)
    : options_(options),
      host_(host),
      table_(table),
      janitor_(janitor),
      metrics_(metrics),
      clock_(clock),
      on_serving_(std::move(on_serving)),
      uses_(std::max(options.release_after, kLeastLease)),
      call_(clock, absl::InfiniteFuture()),
      view_(options.store, options.source.get(), options.restored_after, clock, call_),
      refusals_(options.state_dir),
      load_seconds_(metrics->AddHistogram("generation_load_seconds",
                                          "Time from the first look at a generation's files until "
                                          "it was ready.",
                                          {0.01, 0.1, 1, 10, 60, 600, 3600})) {
  // At zero until then: a rate does not see the first step of a series that begins with it.
  for (const std::string& index : options_.indexes) LoadsOf(index, kReadyResult);
}

GenerationFollower::~GenerationFollower() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  call_.cancellation()->Cancel();
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void GenerationFollower::Start(const std::shared_ptr<Cancellation>& stop) {
  const Cancellation::Registration registration =
      stop->OnCancel([all = call_.cancellation()] { all->Cancel(); });
  thread_ = std::thread([this] { Run(); });
  MutexLock lock(mutex_);
  while (!passed_) changed_.Wait(mutex_);
}

void GenerationFollower::Run() {
  // At first there is nobody to yield to.
  const bool bounded = options_.max_bytes_per_second < std::numeric_limits<int64_t>::max();
  ReadPace at_start(clock_, options_.max_bytes_per_second);
  ReadPace in_background(clock_,
                         std::min(options_.max_bytes_per_second, kBackgroundBytesPerSecond));
  ReleasableMutexLock lock(mutex_);
  while (!stopping_ && !call_.cancelled()) {
    ReadPace* const pace = passed_ ? &in_background : bounded ? &at_start : nullptr;
    lock.Unlock();
    {
      const ReadPace::Scope paced(pace);
      Pass();
    }
    lock.Lock();
    if (!passed_) YieldToOthers();  // the first pass has nobody to yield to
    passed_ = true;
    changed_.NotifyAll();
    const absl::Time next = clock_->Now() + options_.poll_interval;
    while (!stopping_ && clock_->Now() < next) clock_->WaitUntil(changed_, mutex_, next);
  }
  // Also where there was no time for a pass: nobody is to wait for one any more.
  passed_ = true;
  changed_.NotifyAll();
}

void GenerationFollower::Pass() {
  for (const std::string& index : options_.indexes) Look(index);
  turn_.assign(options_.indexes.begin(), options_.indexes.end());
  while (!turn_.empty() && !call_.cancelled()) {
    absl::optional<std::string> next = RolledBack();
    if (!next.has_value()) {
      next = std::move(turn_.front());
      turn_.pop_front();
    }
    FollowIndex(*next);
    TellServing();
  }
  if (call_.cancelled()) return;
  table_->SetComplete();
  {
    MutexLock lock(serving_mutex_);
    looked_at_all_ = true;
  }
  TellServing();
}

// Whether something can be served, where that is news.
void GenerationFollower::TellServing() {
  MutexLock lock(serving_mutex_);
  if (!looked_at_all_) return;
  const bool any = std::any_of(options_.indexes.begin(), options_.indexes.end(),
                               [this](const std::string& index) { return HoldsAny(index); });
  if (serving_ == any) return;
  serving_ = any;
  on_serving_(any);
}

void GenerationFollower::NoteUses(absl::string_view router, std::vector<GenerationUse> uses) {
  if (!router.empty()) uses_.Note(router, std::move(uses), clock_->Now());
}

// Reads CURRENT and gives what is held its place in the history that it tells, so that going
// back to what is held is done with this.  On any thread.
void GenerationFollower::Look(const std::string& index) {
  view_.Look(index);
  if (const auto wanted = view_.Get(index)) {
    for (const HeldGeneration& entry : table_->OfIndex(index)) {
      const int64_t sequence = SequenceIn(wanted->current, entry.generation, entry.sequence);
      if (sequence != entry.sequence) table_->SetSequence(index, entry.generation, sequence);
    }
  }
  UpdateMetrics(index);
}

// What failed for requests (GenerationTable::Fail) is refused, like what could not be loaded.  It
// was verified before, and what is read of it is compared each time: only damage makes that void.
void GenerationFollower::TakeOutFailed(const std::string& index) {
  for (HeldGeneration& entry : table_->OfIndex(index)) {
    if (!entry.failed) continue;
    entry.failed = false;
    leaving_.push_back({entry.manifest, entry.memory});
    Attempt& attempt = attempts_[{index, entry.generation}];
    const absl::Status why = Mend(entry, entry.refusal, call_, &attempt);
    if (absl::IsDataLoss(entry.refusal)) {
      host_->Distrust(*entry.manifest);
      attempt.verified.clear();
    }
    attempt.NoteFailure(why, entry.ready_since, clock_->Now());
    PutRefused(std::move(entry), why, &attempt);
  }
}

// An index that went back to what is not held, and has not been followed since: it serves
// something bad, so it goes before all others.  On any thread.
absl::optional<std::string> GenerationFollower::RolledBack() const {
  for (const std::string& index : options_.indexes) {
    if (!view_.IsRolledBack(index)) continue;
    const auto wanted = view_.Get(index);
    if (!wanted.has_value()) continue;
    const auto entry = table_->Get(index, wanted->current.generation());
    if (!entry.has_value() || entry->state != HoldState::kReady) return index;
  }
  return absl::nullopt;
}

// An index of which nothing is served, though a try is due that might mend that.  On any thread.
absl::optional<std::string> GenerationFollower::Starving() const {
  const absl::Time now = clock_->Now();
  for (const std::string& index : options_.indexes) {
    if (!view_.Get(index).has_value() || HoldsAny(index)) continue;
    const std::vector<HeldGeneration> own = table_->OfIndex(index);
    const bool failed = std::any_of(own.begin(), own.end(),
                                    [](const HeldGeneration& entry) { return entry.failed; });
    MutexLock lock(tries_mutex_);
    const auto next = next_tries_.find(index);
    if (failed || (next != next_tries_.end() && next->second <= now)) return index;
  }
  return absl::nullopt;
}

// Looks at every index while something is loaded of `index`, whose CURRENT asked for `wanted`
// then.  On the watch's thread.
bool GenerationFollower::IsOvertaken(const std::string& index, const std::string& wanted,
                                     absl::Time patient_until) {
  for (const std::string& each : options_.indexes) Look(each);
  TellServing();
  const auto now = view_.Get(index);
  if (now.has_value() && now->current.generation() != wanted) return true;
  if (RolledBack().has_value()) return true;
  return clock_->Now() >= patient_until && Starving().has_value();
}

void GenerationFollower::FollowIndex(const std::string& index) {
  TakeOutFailed(index);
  Look(index);
  const auto wanted = view_.Take(index);
  if (!wanted.has_value()) return;
  const std::string& generation = wanted->current.generation();
  {
    MutexLock lock(tries_mutex_);
    next_tries_.erase(index);
  }
  asked_.clear();
  given_up_ = false;
  if (!HoldsAny(index)) BringBack(index, wanted->current);
  if (!given_up_) Hold(index, generation, wanted->current.sequence());
  const auto entry = table_->Get(index, generation);
  if (!given_up_ && entry.has_value() && IsHopeless(*entry)) FallBack(index, wanted->current);
  if (IsReady(index, generation)) stand_ins_.erase(index);
  ReleaseOld(index, *wanted);
  if (!given_up_) ForgetUnasked(index);
  UpdateMetrics(index);
  if (given_up_) QueueAnew(index, generation);
}

// What has been given up goes on as soon as it may, after what it was put off for; an index that
// wants something else by now queues anew.
void GenerationFollower::QueueAnew(const std::string& index, const std::string& generation) {
  const auto now = view_.Get(index);
  const bool same = now.has_value() && now->current.generation() == generation;
  same ? turn_.push_front(index) : turn_.push_back(index);
  if (const auto starving = Starving()) turn_.push_front(*starving);
}

// Of its manifest and the files that it is read from; of a manifest alone that is none.
std::string GenerationFollower::IdentityOf(const std::string& index, const std::string& generation,
                                           const Manifest* manifest) const {
  return RefusalIdentity(
      JoinPath(GenerationDirectory(options_.store, index, generation), kManifestFile),
      manifest == nullptr ? std::vector<std::string>() : host_->Files(*manifest));
}

bool GenerationFollower::HoldsAny(const std::string& index) const {
  const std::vector<HeldGeneration> own = table_->OfIndex(index);
  return std::any_of(own.begin(), own.end(),
                     [](const HeldGeneration& entry) { return entry.state == HoldState::kReady; });
}

bool GenerationFollower::IsReady(const std::string& index, const std::string& generation) const {
  const auto entry = table_->Get(index, generation);
  return entry.has_value() && entry->state == HoldState::kReady;
}

// Whether to look for something older.  Not for trouble that may be over in a second, nor while
// room is being made.
bool GenerationFollower::IsHopeless(const HeldGeneration& entry) const {
  if (entry.state != HoldState::kRefused || entry.needs_room) return false;
  if (RetryOf(entry.refusal) != Retry::kLater) return true;
  const auto attempt = attempts_.find({entry.index, entry.generation});
  return attempt != attempts_.end() && attempt->second.failures >= kTriesBeforeFallback;
}

// Of what was served until a request could not read it, the newest that can be read again: it
// is back sooner than what CURRENT asks for is loaded.
void GenerationFollower::BringBack(const std::string& index,
                                   const bundle::v1::CurrentGeneration& current) {
  VisitAncestors(index, current, [&](const std::string& name, int64_t sequence) {
    const auto attempt = attempts_.find({index, name});
    if (attempt == attempts_.end() || !attempt->second.was_ready) return true;
    return !StandIn(index, name, sequence, current) && !given_up_;
  });
}

// Serves the newest good ancestor in the place of what is refused.  One that may be good in a
// moment is waited for; one that took longer goes on being tried while an older one is served.
void GenerationFollower::FallBack(const std::string& index,
                                  const bundle::v1::CurrentGeneration& current) {
  if (HoldsAny(index) && stand_ins_.count(index) == 0) return;  // what was served before goes on
  VisitAncestors(index, current, [&](const std::string& name, int64_t sequence) {
    if (StandIn(index, name, sequence, current) || given_up_) return false;
    const auto entry = table_->Get(index, name);
    return !entry.has_value() || IsHopeless(*entry);
  });
}

// Whether the ancestor is served in the place of `current`.
bool GenerationFollower::StandIn(const std::string& index, const std::string& generation,
                                 int64_t sequence, const bundle::v1::CurrentGeneration& current) {
  const bool before = IsReady(index, generation);
  Hold(index, generation, sequence);
  if (!IsReady(index, generation)) return false;
  stand_ins_[index] = generation;
  if (!before) {
    Log(Severity::kWarning,
        "serving an older generation for as long as the published one cannot be",
        {{"index", index}, {"generation", generation}, {"published", current.generation()}});
  }
  return true;
}

void GenerationFollower::UpdateMetrics(const std::string& index) {
  int64_t served = 0;
  for (const HeldGeneration& entry : table_->OfIndex(index)) {
    if (entry.state == HoldState::kReady) served = std::max(served, entry.sequence);
  }
  const auto set = [&](const char* which, int64_t sequence) {
    metrics_
        ->AddGauge("generation_sequence",
                   "Sequence number of the generation that CURRENT names (desired) and of the "
                   "newest that is ready.",
                   {{"index", index}, {"which", which}})
        .Set(static_cast<double>(sequence));
  };
  set("desired", view_.Sequence(index));
  set("ready", served);
}

}  // namespace sightline
