// The part of the follower that has files brought from where the store has them.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/generations/ancestors.h"
#include "common/generations/generation_follower.h"
#include "common/generations/load_stage.h"

namespace sightline {
namespace {

constexpr int kKeptAncestors = 2;
// Longer, and other indexes wait in vain.
constexpr absl::Duration kManifestTime = absl::Seconds(10);

// Whatever a store answers may be otherwise in a moment: its bucket, its clock, our rights.  Only
// that this program is too old, and that there is no room, is no news then.
absl::Status AsTrouble(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return status;
    default:
      break;
  }
  if (HasReason(status, reasons::kNewerFormat) || HasReason(status, reasons::kCacheFull)) {
    return status;
  }
  return MakeError(reasons::kFetchFailed,
                   absl::StatusCodeToString(status.code()) + ": " + std::string(status.message()));
}

}  // namespace

// What could not be brought is asked for again when that is due.
absl::StatusOr<bundle::v1::GenerationManifest> GenerationFollower::GetManifest(
    const std::string& index, const std::string& generation, const Attempt& attempt) const {
  const absl::Time now = clock_->Now();
  if (now >= attempt.retry_at) {
    RETURN_IF_ERROR(AsTrouble(options_.source->FetchManifest(
        index, generation, call_.WithDeadline(now + kManifestTime))));
  }
  return ReadGenerationManifest(options_.store, index, generation);
}

// Models' manifests: they tell what memory it takes, and how much there is to come.
absl::Status GenerationFollower::FetchManifests(const Manifest& manifest, const CallContext& call) {
  const auto manifests = [&] {
    std::vector<std::string> paths = host_->Files(manifest);
    paths.erase(std::remove_if(
                    paths.begin(), paths.end(),
                    [](const std::string& path) { return !absl::EndsWith(path, kManifestFile); }),
                paths.end());
    return paths;
  };
  return AsTrouble(options_.source->FetchFiles(
      manifest, manifests, [this] { return FilesInUse(); }, call));
}

absl::Status GenerationFollower::Fetch(HeldGeneration* entry, Attempt* attempt,
                                       const CallContext& call) {
  const Manifest& manifest = *entry->manifest;
  GenerationSource& source = *options_.source;
  const auto files = [&] { return host_->Files(manifest); };
  ReadProgress::Files missing = source.Missing(manifest, files());
  if (!missing.empty()) {
    const LoadStageScope stage(LoadStage::kFetching, std::move(missing), entry, table_, clock_);
    RETURN_IF_ERROR(AsTrouble(source.FetchFiles(
        manifest, files, [this] { return FilesInUse(); }, call)));
  }
  attempt->identity = IdentityOf(entry->index, entry->generation, &manifest);
  return absl::OkStatus();
}

// Of what is held, is still leaving, is being loaded or waits for room; and of an index that has
// nothing to serve, what it may have to fall back to.
std::vector<std::string> GenerationFollower::FilesInUse() const {
  std::vector<std::string> files;
  const auto add_manifest = [&](const Manifest& manifest) {
    files.push_back(
        JoinPath(GenerationDirectory(options_.store, manifest.index(), manifest.generation()),
                 kManifestFile));
  };
  const auto add = [&](const Manifest& manifest) {
    for (std::string& file : host_->Files(manifest)) files.push_back(std::move(file));
    add_manifest(manifest);
  };
  for (const HeldGeneration& entry : table_->All()) {
    const bool unused = entry.state == HoldState::kRefused && !entry.failed && !entry.needs_room;
    if (entry.manifest == nullptr) continue;
    // Of what waits for another try the manifest: without it, it would be another generation.
    unused ? add_manifest(*entry.manifest) : add(*entry.manifest);
  }
  janitor_->Flush();  // what is let go of has gone
  for (const Leaving& leaving : leaving_) {
    if (!leaving.memory.expired()) add(*leaving.manifest);
  }
  for (const std::string& index : options_.indexes) {
    const auto wanted = view_.Get(index);
    if (HoldsAny(index) || !wanted.has_value()) continue;
    int kept = 0;
    const auto is_here = [&](const std::string& generation) {
      return FileExists(
          JoinPath(GenerationDirectory(options_.store, index, generation), kManifestFile));
    };
    const auto keep = [&](const std::string& generation, int64_t /*sequence*/) {
      const auto manifest = ReadGenerationManifest(options_.store, index, generation);
      if (manifest.ok()) add(*manifest);
      return ++kept < kKeptAncestors;
    };
    if (is_here(wanted->current.generation())) keep(wanted->current.generation(), 0);
    sightline::VisitAncestors(options_.store, index, wanted->current, is_here, keep);
  }
  return files;
}

// What is damaged here may be sound where it came from: then it is brought anew, and nobody has to
// do what the refusal advises.
absl::Status GenerationFollower::Mend(const HeldGeneration& entry, const absl::Status& refusal,
                                      const CallContext& call, Attempt* attempt) {
  const bool damaged = absl::IsDataLoss(refusal) ||
                       (IsFailedRead(refusal) && attempt->failures >= kTriesBeforeFallback);
  if (!damaged || entry.manifest == nullptr ||
      !options_.source->DiscardDamaged(*entry.manifest, host_->Files(*entry.manifest), call)) {
    return refusal;
  }
  attempt->is_mended = true;
  return MakeError(reasons::kFetchFailed,
                   "what this disk has damaged of it is fetched anew; nothing has to be done");
}

// Those that were pruned are no news.
void GenerationFollower::VisitAncestors(const std::string& index,
                                        const bundle::v1::CurrentGeneration& current,
                                        const Visit& visit) {
  const auto is_there = [&](const std::string& generation) {
    const absl::Status fetched = options_.source->FetchManifest(
        index, generation, call_.WithDeadline(clock_->Now() + kManifestTime));
    return fetched.ok() &&
           FileExists(
               JoinPath(GenerationDirectory(options_.store, index, generation), kManifestFile));
  };
  sightline::VisitAncestors(options_.store, index, current, is_there, visit);
}

}  // namespace sightline
