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

// Longer, and other indexes wait in vain.
constexpr absl::Duration kManifestTime = absl::Seconds(10);

}  // namespace

// What could not be brought is asked for again when that is due.
absl::StatusOr<bundle::v1::GenerationManifest> GenerationFollower::GetManifest(
    const std::string& index, const std::string& generation, const Attempt& attempt) const {
  const absl::Time now = clock_->Now();
  if (now >= attempt.retry_at) {
    RETURN_IF_ERROR(
        options_.source->FetchManifest(index, generation, call_.WithDeadline(now + kManifestTime)));
  }
  return ReadGenerationManifest(options_.store, index, generation);
}

absl::Status GenerationFollower::Fetch(HeldGeneration* entry, Attempt* attempt,
                                       const CallContext& call) {
  const Manifest& manifest = *entry->manifest;
  GenerationSource& source = *options_.source;
  const auto files = [&] { return host_->Files(manifest); };
  const auto manifests = [&] {
    std::vector<std::string> paths = files();
    paths.erase(std::remove_if(
                    paths.begin(), paths.end(),
                    [](const std::string& path) { return !absl::EndsWith(path, kManifestFile); }),
                paths.end());
    return paths;
  };
  const auto in_use = [this] { return FilesInUse(); };
  // Models' manifests first: they tell how much there is to come.
  RETURN_IF_ERROR(source.FetchFiles(manifest, manifests, in_use, call));
  ReadProgress::Files missing = source.Missing(manifest, files());
  if (!missing.empty()) {
    const LoadStageScope stage(LoadStage::kFetching, std::move(missing), entry, table_, clock_);
    RETURN_IF_ERROR(source.FetchFiles(manifest, files, in_use, call));
  }
  attempt->identity = IdentityOf(entry->index, entry->generation, &manifest);
  return absl::OkStatus();
}

// Of what is held, is still leaving, or is being loaded.
std::vector<std::string> GenerationFollower::FilesInUse() const {
  std::vector<std::string> files;
  const auto add = [&](const Manifest& manifest) {
    for (std::string& file : host_->Files(manifest)) files.push_back(std::move(file));
    files.push_back(
        JoinPath(GenerationDirectory(options_.store, manifest.index(), manifest.generation()),
                 kManifestFile));
  };
  for (const HeldGeneration& entry : table_->All()) {
    const bool unused = entry.state == HoldState::kRefused && !entry.failed;
    if (entry.manifest != nullptr && !unused) add(*entry.manifest);
  }
  janitor_->Flush();  // what is let go of has gone
  for (const Leaving& leaving : leaving_) {
    if (!leaving.memory.expired()) add(*leaving.manifest);
  }
  return files;
}

// What is damaged here may be sound where it came from: then it is brought anew.
absl::Status GenerationFollower::Mend(const HeldGeneration& entry, const Attempt& attempt,
                                      const absl::Status& refusal) {
  const bool damaged = absl::IsDataLoss(refusal) ||
                       (IsFailedRead(refusal) && attempt.failures >= kTriesBeforeFallback);
  if (!damaged || entry.manifest == nullptr ||
      !options_.source->DiscardDamaged(*entry.manifest, host_->Files(*entry.manifest))) {
    return refusal;
  }
  return MakeError(reasons::kFetchFailed,
                   absl::StrCat("is fetched anew, since ", refusal.message()));
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
