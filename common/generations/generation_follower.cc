#include "common/generations/generation_follower.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_pace.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/generations/ancestors.h"
#include "common/generations/load_watch.h"
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
constexpr absl::Duration kFirstRetry = absl::Seconds(1);
constexpr absl::Duration kLongestRetry = absl::Minutes(1);
// Trouble that has lasted this many tries is worth serving something older for.
constexpr int kTriesBeforeFallback = 3;

void YieldToOthers() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLoadingNice);
  ::syscall(SYS_ioprio_set, kIoPriorityOfThread, 0, kIoPriority);
}

// Whether the same files would be refused again.
bool IsFinal(const absl::Status& refusal) {
  switch (refusal.code()) {
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

std::string ReasonOf(const absl::Status& refusal) {
  const auto reason = GetReason(refusal);
  return reason.has_value() ? reason->reason : absl::StatusCodeToString(refusal.code());
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
      view_(options.store, options.restored_after, clock),
      call_(clock, absl::InfiniteFuture()),
      refusals_(options.state_dir),
      load_seconds_(metrics->AddHistogram("generation_load_seconds",
                                          "Time from the first look at a generation's files until "
                                          "it was ready.",
                                          {0.01, 0.1, 1, 10, 60, 600, 3600})) {}

GenerationFollower::~GenerationFollower() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  call_.cancellation()->Cancel();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GenerationFollower::Start() {
  thread_ = std::thread([this] { Run(); });
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return passed_; });
}

void GenerationFollower::Run() {
  // At first there is nobody to yield to.
  const bool bounded = options_.max_bytes_per_second < std::numeric_limits<int64_t>::max();
  ReadPace at_start(clock_, options_.max_bytes_per_second);
  ReadPace in_background(clock_,
                         std::min(options_.max_bytes_per_second, kBackgroundBytesPerSecond));
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    {
      const ReadPace::Scope pace(passed_ ? &in_background : bounded ? &at_start : nullptr);
      Pass();
    }
    lock.lock();
    if (!passed_) YieldToOthers();  // the first pass has nobody to yield to
    passed_ = true;
    changed_.notify_all();
    const absl::Time next = clock_->Now() + options_.poll_interval;
    while (!stopping_ && clock_->Now() < next) clock_->WaitUntil(changed_, lock, next);
  }
}

void GenerationFollower::Pass() {
  for (const std::string& index : options_.indexes) Look(index);
  turn_.assign(options_.indexes.begin(), options_.indexes.end());
  while (!turn_.empty()) {
    if (call_.cancelled()) return;
    absl::optional<std::string> next = RolledBack();
    if (!next.has_value()) {
      next = std::move(turn_.front());
      turn_.pop_front();
    }
    FollowIndex(*next);
  }
  table_->SetComplete();
  const std::vector<HeldGeneration> all = table_->All();
  const bool any = std::any_of(all.begin(), all.end(), [](const HeldGeneration& entry) {
    return entry.state == HoldState::kReady;
  });
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

// What requests could not read (GenerationTable::Fail) is refused, like what could not be
// loaded.
void GenerationFollower::TakeOutFailed(const std::string& index) {
  for (HeldGeneration& entry : table_->OfIndex(index)) {
    if (!entry.failed) continue;
    entry.failed = false;
    leaving_.push_back({entry.manifest, entry.memory});
    host_->Distrust(*entry.manifest);
    Attempt& attempt = attempts_[{index, entry.generation}];
    attempt = Attempt();
    attempt.identity = IdentityOf(index, entry.generation, entry.manifest.get());
    const absl::Status why = entry.refusal;
    Refuse(std::move(entry), why, &attempt);
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

// Looks at every index while something is loaded of `index`, whose CURRENT asked for `wanted`
// then.  On the watch's thread.
bool GenerationFollower::IsOvertaken(const std::string& index, const std::string& wanted) {
  for (const std::string& each : options_.indexes) Look(each);
  const auto now = view_.Get(index);
  return (now.has_value() && now->current.generation() != wanted) || RolledBack().has_value();
}

void GenerationFollower::FollowIndex(const std::string& index) {
  TakeOutFailed(index);
  Look(index);
  const auto wanted = view_.Take(index);
  if (!wanted.has_value()) return;
  const std::string& generation = wanted->current.generation();
  given_up_ = false;
  Hold(index, generation, wanted->current.sequence());
  const auto entry = table_->Get(index, generation);
  if (entry.has_value() && MayFallBack(*entry)) FallBack(index, wanted->current);
  ReleaseOld(index, *wanted);
  UpdateMetrics(index);
  if (!given_up_) return;
  // Who had to step back goes on as soon as it may; who wants something else queues anew.
  const auto now = view_.Get(index);
  const bool same = now.has_value() && now->current.generation() == generation;
  same ? turn_.push_front(index) : turn_.push_back(index);
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

// Not for trouble that may be over in a second, nor while room is being made.
bool GenerationFollower::MayFallBack(const HeldGeneration& wanted) const {
  if (wanted.state != HoldState::kRefused || wanted.needs_room || HoldsAny(wanted.index)) {
    return false;
  }
  const auto attempt = attempts_.find({wanted.index, wanted.generation});
  return IsFinal(wanted.refusal) || ReasonOf(wanted.refusal) == "TOO_BIG" ||
         (attempt != attempts_.end() && attempt->second.failures >= kTriesBeforeFallback);
}

void GenerationFollower::FallBack(const std::string& index,
                                  const bundle::v1::CurrentGeneration& current) {
  for (const auto& [generation, sequence] : Ancestors(options_.store, index, current)) {
    if (call_.cancelled() || given_up_) return;
    Hold(index, generation, sequence);
    if (!HoldsAny(index)) continue;
    Log(Severity::kWarning, "serving an older generation, since the published one is refused",
        {{"index", index}, {"generation", generation}, {"published", current.generation()}});
    return;
  }
}

// Makes the generation ready or refused, unless it is so already.
void GenerationFollower::Hold(const std::string& index, const std::string& generation,
                              int64_t sequence) {
  const auto known = table_->Get(index, generation);
  if (known.has_value() && known->state == HoldState::kReady) return;

  HeldGeneration entry;
  entry.index = index;
  entry.generation = generation;
  entry.sequence = sequence;
  auto manifest = ReadGenerationManifest(options_.store, index, generation);
  if (manifest.ok()) entry.manifest = std::make_shared<const Manifest>(*std::move(manifest));
  const std::string identity = IdentityOf(index, generation, entry.manifest.get());
  Attempt& attempt = attempts_[{index, generation}];
  if (attempt.identity == identity && clock_->Now() < attempt.retry_at) return;
  if (attempt.identity != identity) attempt.failures = 0;
  attempt.identity = identity;
  const absl::Status remembered = refusals_.Find(index, generation, identity);
  if (!remembered.ok()) return Refuse(std::move(entry), remembered, &attempt);
  if (!manifest.ok()) return Refuse(std::move(entry), manifest.status(), &attempt);

  const absl::Time begin = clock_->Now();
  absl::Status held;
  const CallContext load = call_.Child();
  {
    const auto wanted = view_.Get(index);
    const LoadWatch watch(
        options_.poll_interval, clock_, load.cancellation(),
        [this, index, name = wanted.has_value() ? wanted->current.generation() : generation] {
          return IsOvertaken(index, name);
        });
    held = TryToHold(&entry, &attempt, load);
  }
  if (load.cancelled() && !held.ok()) {  // CURRENT has moved on, or all of this ends
    attempts_.erase({index, generation});
    table_->Remove(index, generation);
    given_up_ = true;
    return;
  }
  if (!held.ok()) return Refuse(std::move(entry), held, &attempt);
  if (entry.held == nullptr) return;  // room is being made for it
  entry.state = HoldState::kReady;
  entry.ready_since = clock_->Now();
  load_seconds_.Observe(entry.ready_since - begin);
  metrics_
      ->AddCounter("generation_loads_total", "Generations that became ready, or were refused.",
                   {{"index", index}, {"result", "READY"}})
      .Increment();
  Log(Severity::kInfo, "generation loaded",
      {{"index", index},
       {"generation", generation},
       {"sequence", sequence},
       {"seconds", absl::ToDoubleSeconds(entry.ready_since - begin)}});
  refusals_.Forget(index, generation);
  attempts_.erase({index, generation});
  table_->Put(std::move(entry));
}

// Fills `held` in, unless room has to be made first.
absl::Status GenerationFollower::TryToHold(HeldGeneration* entry, Attempt* attempt,
                                           const CallContext& call) {
  const Manifest& manifest = *entry->manifest;
  const Manifest* const alone = &manifest;
  ASSIGN_OR_RETURN(const int64_t bytes, host_->Footprint(absl::MakeConstSpan(&alone, 1)));
  if (bytes > options_.memory_limit) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "takes ", bytes, " bytes of memory; memory_limit is ",
                          options_.memory_limit, ": raise it, or use more and smaller shards")),
                      "TOO_BIG");
  }
  const auto known = table_->Get(entry->index, entry->generation);
  if (!known.has_value() || known->state != HoldState::kRefused) table_->Put(*entry);
  RETURN_IF_ERROR(host_->Check(manifest));
  ASSIGN_OR_RETURN(const int64_t together, FootprintWith(manifest, ""));
  if (together > options_.memory_limit) {
    // It is good before anything has to go for it.
    RETURN_IF_ERROR(VerifyAlone(manifest, attempt, call));
    RETURN_IF_ERROR(MakeRoom(entry));
    ASSIGN_OR_RETURN(const int64_t still, FootprintWith(manifest, ""));
    if (still > options_.memory_limit) return absl::OkStatus();  // requests hold the old one
  }
  table_->Put(*entry);
  ASSIGN_OR_RETURN(GenerationHost::Loaded loaded,
                   host_->Load(manifest, attempt->verified == attempt->identity, call));
  entry->held = janitor_->Adopt(std::move(loaded.held));
  entry->memory = loaded.memory != nullptr ? loaded.memory : entry->held;
  return absl::OkStatus();
}

absl::Status GenerationFollower::VerifyAlone(const Manifest& manifest, Attempt* attempt,
                                             const CallContext& call) {
  if (attempt->verified == attempt->identity) return absl::OkStatus();
  RETURN_IF_ERROR(host_->Verify(manifest, call));
  attempt->verified = attempt->identity;
  return absl::OkStatus();
}

// What is held, is still leaving, and `manifest` take; but for what is held of one index.
absl::StatusOr<int64_t> GenerationFollower::FootprintWith(const Manifest& manifest,
                                                          absl::string_view without_index) {
  janitor_->Flush();  // what is let go of has gone
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(),
                                [](const Leaving& leaving) { return leaving.memory.expired(); }),
                 leaving_.end());
  std::vector<const Manifest*> manifests = {&manifest};
  const std::vector<HeldGeneration> all = table_->All();
  for (const HeldGeneration& entry : all) {
    if (entry.state == HoldState::kReady && entry.index != without_index) {
      manifests.push_back(entry.manifest.get());
    }
  }
  for (const Leaving& leaving : leaving_) {
    if (leaving.manifest->index() != without_index) manifests.push_back(leaving.manifest.get());
  }
  return host_->Footprint(manifests);
}

// Lets the older generations of the index go if that gives room: those that nobody uses, and
// the others if the routers allow it.
absl::Status GenerationFollower::MakeRoom(HeldGeneration* entry) {
  ReleaseIdle(entry->index);
  ASSIGN_OR_RETURN(const int64_t now_takes, FootprintWith(*entry->manifest, ""));
  if (now_takes <= options_.memory_limit) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t without, FootprintWith(*entry->manifest, entry->index));
  if (without > options_.memory_limit) {
    return WithReason(absl::ResourceExhaustedError(
                          absl::StrCat("takes ", without,
                                       " bytes of memory together with what other indexes hold; "
                                       "memory_limit is ",
                                       options_.memory_limit)),
                      "TOO_BIG");
  }
  std::vector<HeldGeneration> old;
  for (HeldGeneration& other : table_->OfIndex(entry->index)) {
    if (other.state == HoldState::kReady) old.push_back(std::move(other));
  }
  const absl::Time now = clock_->Now();
  for (const HeldGeneration& other : old) {
    if (uses_.MayRelease(other.index, other.generation, now)) continue;
    entry->needs_room = true;
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat(
            "does not fit beside generation ", other.generation,
            ", which is in use: memory_limit is ", options_.memory_limit,
            "; it is loaded when another replica has taken over, or with more memory")),
        "NEEDS_ROOM");
  }
  for (const HeldGeneration& other : old) Release(other, "to make room");
  return absl::OkStatus();
}

// Whether neither routers nor requests have used it for a while.
bool GenerationFollower::IsIdle(const HeldGeneration& entry) const {
  const absl::Time now = clock_->Now();
  const absl::Time used =
      std::max(entry.ready_since, table_->LastUse(entry.index, entry.generation));
  return now - used >= options_.release_after && !uses_.InUse(entry.index, entry.generation, now);
}

// Where routers are, they have said what they use; where none is, the last one stays.
void GenerationFollower::ReleaseIdle(const std::string& index) {
  bool another = false;
  std::vector<HeldGeneration> idle;
  for (HeldGeneration& entry : table_->OfIndex(index)) {
    if (entry.state != HoldState::kReady) continue;
    if (IsIdle(entry)) {
      idle.push_back(std::move(entry));
    } else {
      another = true;
    }
  }
  if (!another && !uses_.AnyRouter(clock_->Now())) return;
  for (const HeldGeneration& entry : idle) Release(entry, "nobody uses it");
}

void GenerationFollower::Refuse(HeldGeneration entry, const absl::Status& refusal,
                                Attempt* attempt) {
  const std::string reason = ReasonOf(refusal);
  if (IsFinal(refusal)) {
    attempt->retry_at = absl::InfiniteFuture();
    const absl::Status kept =
        refusals_.Remember(entry.index, entry.generation, attempt->identity, refusal);
    if (!kept.ok()) Log(Severity::kWarning, "a refusal is not remembered", {{"error", kept}});
  } else if (reason == "TOO_BIG" || reason == "NEEDS_ROOM") {
    attempt->retry_at = absl::InfinitePast();  // whether there is room is quickly seen
  } else {
    const absl::Duration wait = kFirstRetry * (int64_t{1} << std::min(attempt->failures++, 10));
    attempt->retry_at = clock_->Now() + std::min(wait, kLongestRetry);
  }
  const bool news = attempt->told != reason;
  attempt->told = reason;
  entry.state = HoldState::kRefused;
  entry.refusal = refusal;
  if (news) {
    metrics_
        ->AddCounter("generation_loads_total", "Generations that became ready, or were refused.",
                     {{"index", entry.index}, {"result", reason}})
        .Increment();
    Log(Severity::kError, "generation refused",
        {{"index", entry.index},
         {"generation", entry.generation},
         {"reason", reason},
         {"error", refusal}});
  }
  table_->Put(std::move(entry));
}

void GenerationFollower::ReleaseOld(const std::string& index, const WantedGeneration& wanted) {
  const std::string& asked = wanted.current.generation();
  const std::vector<HeldGeneration> own = table_->OfIndex(index);
  const HeldGeneration* serving = nullptr;
  for (const HeldGeneration& entry : own) {
    if (entry.state != HoldState::kReady) continue;
    if (serving == nullptr || entry.generation == asked ||
        (serving->generation != asked && entry.sequence > serving->sequence)) {
      serving = &entry;
    }
  }
  if (serving == nullptr) return;
  const absl::Time now = clock_->Now();
  const bool settled = now - std::max(serving->ready_since, wanted.since) >= options_.release_after;
  for (const HeldGeneration& entry : own) {
    if (entry.generation == serving->generation) continue;
    if (entry.state == HoldState::kReady) {
      if (settled && IsIdle(entry)) Release(entry, "a newer one is in use");
    } else if (entry.generation != asked) {
      table_->Remove(index, entry.generation);  // nobody asks for it any more
      attempts_.erase({index, entry.generation});
    }
  }
}

// Requests that work on it finish; the janitor frees it when the last one has.
void GenerationFollower::Release(const HeldGeneration& entry, absl::string_view why) {
  leaving_.push_back({entry.manifest, entry.memory});
  table_->Remove(entry.index, entry.generation);
  Log(Severity::kInfo, "generation released",
      {{"index", entry.index}, {"generation", entry.generation}, {"why", why}});
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
