#include "loadtest/faults/fleet_faults.h"

#include <signal.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/publication.h"
#include "common/clients/admin_client.h"
#include "loadtest/fleet/process_names.h"

namespace sightline {
namespace {

constexpr absl::Duration kStatusPatience = absl::Seconds(2);

// A new generation has just been fetched by another process, or written and synced long ago:
// none of it need be in memory.
absl::Status DropFromCache(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(directory));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                     RandomAccessFile::Open(JoinPath(directory, name)));
    file->DropFromCache(0, file->size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RelayedProcesses(const FleetSpec& fleet,
                                                          const std::vector<FaultSpec>& faults) {
  const std::vector<std::string> names =
      ProcessNames(fleet.query_encoders, fleet.rerankers, fleet.shards, fleet.replicas_per_shard);
  std::vector<std::string> relayed;
  for (const FaultSpec& fault : faults) {
    if (fault.kind == FaultKind::kPublish) continue;
    ASSIGN_OR_RETURN(std::string name, ResolveProcess(names, fault.target));
    if (fault.kind != FaultKind::kDelay) continue;
    if (std::count(relayed.begin(), relayed.end(), name) == 0) relayed.push_back(name);
  }
  return relayed;
}

absl::Status FleetFaults::Do(const FaultSpec& fault) {
  if (fault.kind == FaultKind::kPublish) return Publish(fault.target);
  ASSIGN_OR_RETURN(const std::string name, ResolveProcess(fleet_->names(), fault.target));
  if (fault.kind == FaultKind::kKill) return fleet_->Kill(name);
  if (fault.kind == FaultKind::kPause) return fleet_->Signal(name, SIGSTOP);
  return SetDelay(name, fault.delay);
}

absl::Status FleetFaults::Undo(const FaultSpec& fault) {
  if (fault.kind == FaultKind::kPublish) return CheckServed(fault.target);
  ASSIGN_OR_RETURN(const std::string name, ResolveProcess(fleet_->names(), fault.target));
  if (fault.kind == FaultKind::kKill) return fleet_->Launch(name);
  if (fault.kind == FaultKind::kPause) return fleet_->Signal(name, SIGCONT);
  return SetDelay(name, absl::ZeroDuration());
}

absl::Status FleetFaults::Check(const std::string& target) {
  ASSIGN_OR_RETURN(const std::string name, ResolveProcess(fleet_->names(), target));
  return fleet_->Check(name);
}

absl::Status FleetFaults::SetDelay(const std::string& name, absl::Duration each_way) {
  ASSIGN_OR_RETURN(Relay* const relay, fleet_->RelayOf(name));
  if (relay == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " is not reached through a relay, so it cannot be delayed; name it in `relayed`"));
  }
  relay->SetDelay(each_way);
  return absl::OkStatus();
}

absl::Status FleetFaults::Publish(const std::string& index) {
  const std::string& store = fleet_->store();
  ASSIGN_OR_RETURN(const auto current, ReadCurrent(store, index));
  ASSIGN_OR_RETURN(const std::vector<std::string> generations,
                   ListDirectory(JoinPath(IndexDirectory(store, index), "generations")));
  if (generations.size() < 2) {
    return absl::FailedPreconditionError(absl::StrCat(
        "index ", index, " of ", store, " has no other generation than ", current.generation()));
  }
  auto next = std::upper_bound(generations.begin(), generations.end(), current.generation());
  if (next == generations.end()) next = generations.begin();
  RETURN_IF_ERROR(DropFromCache(GenerationDirectory(store, index, *next)));
  return PublishGeneration(store, index, *next).status();
}

absl::Status FleetFaults::CheckServed(const std::string& index) {
  ASSIGN_OR_RETURN(const auto current, ReadCurrent(fleet_->store(), index));
  const CallContext call(Clock::Real(), Clock::Real()->Now() + kStatusPatience);
  ASSIGN_OR_RETURN(const ServerStatus status,
                   MakeGrpcAdminClient(fleet_->address())->GetStatus(call));
  for (const GenerationStatus& generation : status.generations) {
    const GenerationRef& served = generation.info.ref;
    if (served.index != index) continue;
    if (served.generation == current.generation()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("still serves ", served.generation, " in place of ", current.generation()));
  }
  return absl::FailedPreconditionError(absl::StrCat("serves nothing of ", index));
}

}  // namespace sightline
