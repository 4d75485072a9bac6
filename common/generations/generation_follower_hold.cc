// The part of the follower that makes a generation ready, or refuses it.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/failed_read.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/generations/generation_follower.h"
#include "common/generations/load_stage.h"
#include "common/generations/load_watch.h"
#include "common/log/log.h"

namespace sightline {

// Makes the generation ready or refused, unless it is so already.
void GenerationFollower::Hold(const std::string& index, const std::string& generation,
                              int64_t sequence) {
  asked_.insert(generation);
  const auto known = table_->Get(index, generation);
  // What has failed since TakeOutFailed is its affair.
  if (known.has_value() && (known->state == HoldState::kReady || known->failed)) return;

  HeldGeneration entry;
  entry.index = index;
  entry.generation = generation;
  entry.sequence = sequence;
  Attempt& attempt = attempts_[{index, generation}];
  auto manifest = GetManifest(index, generation, attempt);
  if (call_.cancelled()) return;  // all of this ends
  const absl::Status read = manifest.status();
  if (read.ok()) entry.manifest = std::make_shared<const Manifest>(*std::move(manifest));
  attempt.LookAt(IdentityOf(index, generation, entry.manifest.get()));
  const absl::Time begin = clock_->Now();
  if (begin < attempt.retry_at) return TryAgainAt(index, attempt.retry_at);
  const absl::Status remembered = refusals_.Find(index, generation, attempt.identity);
  if (!remembered.ok()) return Refuse(std::move(entry), remembered, &attempt);
  if (!read.ok()) return Refuse(std::move(entry), read, &attempt);

  absl::Status held;
  const CallContext load = call_.Child();
  {
    const auto wanted = view_.Get(index);
    const LoadWatch watch(options_.poll_interval, clock_, load.cancellation(),
                          [this, index, patient_until = begin + attempt.Patience(),
                           name = wanted.has_value() ? wanted->current.generation() : generation] {
                            return IsOvertaken(index, name, patient_until);
                          });
    held = TryToHold(&entry, &attempt, load);
    if (!held.ok()) held = Mend(entry, held, load, &attempt);
  }
  if (load.cancelled() && !held.ok()) {  // put off, or not wanted any more, or all of this ends
    ++attempt.put_offs;
    attempt.is_mended = false;  // the next try says what it finds
    known.has_value() ? table_->Put(*known) : table_->Remove(index, generation);
    given_up_ = true;
    return;
  }
  if (!held.ok()) return Refuse(std::move(entry), held, &attempt);
  if (entry.held == nullptr) return;  // room is being made for it
  PutReady(std::move(entry), begin, &attempt);
}

void GenerationFollower::PutReady(HeldGeneration entry, absl::Time begin, Attempt* attempt) {
  entry.state = HoldState::kReady;
  entry.ready_since = clock_->Now();
  load_seconds_.Observe(entry.ready_since - begin);
  LoadsOf(entry.index, kReadyResult).Increment();
  Log(Severity::kInfo, "generation loaded",
      {{"index", entry.index},
       {"generation", entry.generation},
       {"sequence", entry.sequence},
       {"seconds", absl::ToDoubleSeconds(entry.ready_since - begin)}});
  refusals_.Forget(entry.index, entry.generation);
  attempt->NoteReady();
  table_->Put(std::move(entry));
}

// The index is worth another look at `when`, at the latest.
void GenerationFollower::TryAgainAt(const std::string& index, absl::Time when) {
  if (when == absl::InfiniteFuture()) return;
  MutexLock lock(tries_mutex_);
  const auto [next, is_first] = next_tries_.emplace(index, when);
  next->second = std::min(next->second, when);
}

// Fills `held` in, unless room has to be made first.
absl::Status GenerationFollower::TryToHold(HeldGeneration* entry, Attempt* attempt,
                                           const CallContext& call) {
  const Manifest& manifest = *entry->manifest;
  const auto known = table_->Get(entry->index, entry->generation);
  if (!known.has_value() || known->state != HoldState::kRefused) table_->Put(*entry);
  RETURN_IF_ERROR(FetchManifests(manifest, call));
  const Manifest* const alone = &manifest;
  ASSIGN_OR_RETURN(const std::string lack, LackFor(absl::MakeConstSpan(&alone, 1)));
  if (!lack.empty()) {
    return MakeError(reasons::kTooBig,
                     absl::StrCat("takes ", lack, ": raise that, or use more and smaller shards"));
  }
  RETURN_IF_ERROR(Fetch(entry, attempt, call));
  // What could not be read last time is read first.
  RETURN_IF_ERROR(ReadWhatFailed(attempt->refusal));
  RETURN_IF_ERROR(host_->Check(manifest));
  ASSIGN_OR_RETURN(const std::string together, LackWith(manifest, ""));
  if (!together.empty()) {
    // It is good before anything has to go for it.
    RETURN_IF_ERROR(VerifyAlone(entry, attempt, call));
    RETURN_IF_ERROR(MakeRoom(entry));
    ASSIGN_OR_RETURN(const std::string still, LackWith(manifest, ""));
    if (!still.empty()) return absl::OkStatus();  // requests hold the old one
  }
  const LoadStageScope stage(LoadStage::kLoading, FilesToRead(manifest), entry, table_, clock_);
  ASSIGN_OR_RETURN(GenerationHost::Loaded loaded,
                   host_->Load(manifest, attempt->verified == attempt->identity, call));
  entry->held = janitor_->Adopt(std::move(loaded.held));
  entry->memory = loaded.memory != nullptr ? loaded.memory : entry->held;
  return absl::OkStatus();
}

absl::Status GenerationFollower::VerifyAlone(HeldGeneration* entry, Attempt* attempt,
                                             const CallContext& call) {
  if (attempt->verified == attempt->identity) return absl::OkStatus();
  const Manifest& manifest = *entry->manifest;
  const LoadStageScope stage(LoadStage::kVerifying, FilesToRead(manifest), entry, table_, clock_);
  RETURN_IF_ERROR(host_->Verify(manifest, call));
  attempt->verified = attempt->identity;
  return absl::OkStatus();
}

// All but the manifests, which were read to know of the others.
ReadProgress::Files GenerationFollower::FilesToRead(const Manifest& manifest) const {
  ReadProgress::Files files;
  for (const std::string& path : host_->Files(manifest)) {
    const absl::StatusOr<int64_t> length = FileSize(path);
    if (length.ok() && !absl::EndsWith(path, kManifestFile)) files[path] = *length;
  }
  return files;
}

void GenerationFollower::Refuse(HeldGeneration entry, const absl::Status& refusal,
                                Attempt* attempt) {
  attempt->NoteRefusal(refusal, clock_->Now());
  if (RetryOf(refusal) == Retry::kLater) TryAgainAt(entry.index, attempt->retry_at);
  PutRefused(std::move(entry), refusal, attempt);
}

void GenerationFollower::PutRefused(HeldGeneration entry, const absl::Status& refusal,
                                    Attempt* attempt) {
  const std::string reason = ReasonOf(refusal);
  if (OutlastsRestarts(refusal)) {
    const absl::Status kept =
        refusals_.Remember(entry.index, entry.generation, attempt->identity, refusal);
    if (!kept.ok()) Log(Severity::kWarning, "a refusal is not remembered", {{"error", kept}});
  }
  const bool mended = std::exchange(attempt->is_mended, false);
  const std::string tells = mended ? "mended" : reason;
  const bool news = attempt->told != tells;
  attempt->told = tells;
  entry.state = HoldState::kRefused;
  entry.refusal = refusal;
  if (news) {
    LoadsOf(entry.index, reason).Increment();
    Log(mended ? Severity::kWarning : Severity::kError,
        mended ? "generation is mended" : "generation refused",
        {{"index", entry.index},
         {"generation", entry.generation},
         {"reason", reason},
         {"error", refusal}});
  }
  table_->Put(std::move(entry));
}

Counter GenerationFollower::LoadsOf(const std::string& index, const std::string& result) const {
  return metrics_->AddCounter("generation_loads_total",
                              "Generations that became ready, or were refused.",
                              {{"index", index}, {"result", result}});
}

}  // namespace sightline
