#include "common/clients/convert_admin.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/clients/convert.h"
#include "common/clients/convert_internal.h"

namespace sightline {
namespace {

using convert_internal::AsBadAnswer;
using convert_internal::CheckIndex;
using convert_internal::DurationFromProto;
using convert_internal::DurationToProto;
using convert_internal::FromWire;
using convert_internal::ToWire;
using convert_internal::WireValue;

constexpr WireValue<GenerationState, v1::GenerationStatus::State> kStates[] = {
    {GenerationState::kLoading, v1::GenerationStatus::LOADING},
    {GenerationState::kReady, v1::GenerationStatus::READY},
    {GenerationState::kRefused, v1::GenerationStatus::REFUSED},
};
static_assert(std::size(kStates) == v1::GenerationStatus::State_MAX);

constexpr WireValue<LoadStage, v1::LoadProgress::Stage> kStages[] = {
    {LoadStage::kVerifying, v1::LoadProgress::VERIFYING},
    {LoadStage::kLoading, v1::LoadProgress::LOADING},
    {LoadStage::kFetching, v1::LoadProgress::FETCHING},
};
static_assert(std::size(kStages) == v1::LoadProgress::Stage_MAX);

void ProgressToProto(const LoadProgress& progress, v1::LoadProgress* out) {
  out->set_stage(ToWire(kStages, progress.stage));
  out->set_read_bytes(progress.read_bytes);
  out->set_total_bytes(progress.total_bytes);
  DurationToProto(progress.elapsed, out->mutable_elapsed());
}

// No load takes longer; what JSON can say is a hundred times as much.
constexpr absl::Duration kCentury = absl::Hours(24 * 365 * 100);

// None if nothing is told, or what makes no sense or is of a newer server: it is for people, and
// no answer is refused for it.
absl::optional<LoadProgress> ProgressFromProto(const v1::GenerationStatus& status) {
  const v1::LoadProgress& told = status.progress();
  const auto stage = FromWire(kStages, told.stage());
  const absl::Duration elapsed = DurationFromProto(told.elapsed());
  const bool sound = told.read_bytes() >= 0 && told.read_bytes() <= told.total_bytes() &&
                     elapsed >= absl::ZeroDuration() && elapsed < kCentury;
  if (!status.has_progress() || !stage.has_value() || !sound) return absl::nullopt;
  return LoadProgress{*stage, told.read_bytes(), told.total_bytes(), elapsed};
}

// The default also where older readers look for the only one.
void RerankersToProto(const std::vector<RerankerInfo>& rerankers, v1::GenerationStatus* out) {
  ToProto(rerankers.empty() ? Combination() : rerankers.front().declared.combination,
          out->mutable_combination());
  if (!rerankers.empty()) out->set_reranker_model(rerankers.front().model);
  for (const RerankerInfo& reranker : rerankers) {
    v1::NamedReranker* const message = out->add_rerankers();
    message->set_name(reranker.name);
    message->set_model(reranker.model);
    ToProto(reranker.declared.combination, message->mutable_combination());
    message->set_only_on_request(!reranker.declared.by_default);
  }
}

absl::StatusOr<std::vector<RerankerInfo>> RerankersFromProto(const v1::GenerationStatus& status,
                                                             const FieldPath& path) {
  std::vector<RerankerInfo> rerankers;
  if (status.rerankers_size() == 0 && !status.reranker_model().empty()) {
    ASSIGN_OR_RETURN(const Combination combination,
                     FromProto(status.combination(), FieldPath(path, "combination")));
    rerankers.push_back({kDefaultReranker, status.reranker_model(), {combination}});
  }
  for (int i = 0; i < status.rerankers_size(); ++i) {
    const v1::NamedReranker& reranker = status.rerankers(i);
    const FieldPath at(path, "rerankers", i);
    if (!IsValidName(reranker.name(), limits::kMaxRerankerNameLength)) {
      return InvalidField(FieldPath(at, "name"), "is no name");
    }
    ASSIGN_OR_RETURN(const Combination combination,
                     FromProto(reranker.combination(), FieldPath(at, "combination")));
    rerankers.push_back(
        {reranker.name(), reranker.model(), {combination, !reranker.only_on_request()}});
  }
  return rerankers;
}

void GenerationToProto(const GenerationStatus& status, v1::GenerationStatus* out) {
  const GenerationInfo& info = status.info;
  ToProto(info.ref, out->mutable_generation());
  out->set_state(ToWire(kStates, status.state));
  out->set_reason(status.reason);
  out->set_sequence(status.sequence);
  out->set_item_kind(info.content == IndexContent::kCaptions ? v1::GenerationStatus::CAPTION
                                                             : v1::GenerationStatus::IMAGE);
  out->set_dimension(info.dimension);
  out->set_shard_count(info.shard_count);
  out->set_item_count(info.item_count);
  *out->mutable_held_shards() = {status.held_shards.begin(), status.held_shards.end()};
  out->set_encoder_model(info.encoder_model);
  out->set_needs_room(status.needs_room);
  RerankersToProto(info.rerankers, out);
  if (status.progress.has_value()) ProgressToProto(*status.progress, out->mutable_progress());
}

// What the router builds on, so all of it must be there.
absl::Status ReadReady(const v1::GenerationStatus& status, const FieldPath& path,
                       GenerationStatus* result) {
  GenerationInfo& info = result->info;
  ASSIGN_OR_RETURN(info.ref, FromProto(status.generation(), FieldPath(path, "generation")));
  if (status.item_kind() != v1::GenerationStatus::IMAGE &&
      status.item_kind() != v1::GenerationStatus::CAPTION) {
    return InvalidField(FieldPath(path, "item_kind"), "must be IMAGE or CAPTION");
  }
  if (status.dimension() < 1 || status.dimension() > limits::kMaxDimension) {
    return InvalidField(
        FieldPath(path, "dimension"),
        absl::StrCat("is ", status.dimension(), ", must be 1 to ", limits::kMaxDimension));
  }
  if (status.shard_count() < 1) {
    return InvalidField(FieldPath(path, "shard_count"), "must be at least 1");
  }
  for (int i = 0; i < status.held_shards_size(); ++i) {
    if (status.held_shards(i) < 0 || status.held_shards(i) >= status.shard_count()) {
      return InvalidField(
          FieldPath(path, "held_shards", i),
          absl::StrCat("is ", status.held_shards(i), ", of ", status.shard_count(), " shards"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GenerationStatus> GenerationFromProto(const v1::GenerationStatus& status,
                                                     GenerationState state, const FieldPath& path) {
  GenerationStatus result;
  result.state = state;
  result.reason = status.reason();
  result.sequence = status.sequence();
  result.needs_room = status.needs_room();
  GenerationInfo& info = result.info;
  info.ref = {status.generation().index(), status.generation().generation(),
              status.generation().space()};
  info.content = status.item_kind() == v1::GenerationStatus::CAPTION ? IndexContent::kCaptions
                                                                     : IndexContent::kImages;
  info.dimension = status.dimension();
  info.shard_count = status.shard_count();
  info.item_count = status.item_count();
  info.encoder_model = status.encoder_model();
  ASSIGN_OR_RETURN(info.rerankers, RerankersFromProto(status, path));
  result.progress = ProgressFromProto(status);
  result.held_shards.assign(status.held_shards().begin(), status.held_shards().end());
  if (state == GenerationState::kReady) RETURN_IF_ERROR(ReadReady(status, path, &result));
  return result;
}

absl::StatusOr<ServerStatus> ReadAnswer(const v1::GetStatusResponse& response) {
  ServerStatus result;
  result.service = response.service();
  result.draining = response.draining();
  for (int i = 0; i < response.generations_size(); ++i) {
    const auto state = FromWire(kStates, response.generations(i).state());
    if (!state.has_value()) continue;
    ASSIGN_OR_RETURN(
        GenerationStatus generation,
        GenerationFromProto(response.generations(i), *state, FieldPath("generations", i)));
    result.generations.push_back(std::move(generation));
  }
  for (const v1::ModelStatus& model : response.models()) {
    result.models.push_back({model.model(), model.family(), model.space(), model.description(),
                             model.precision(), model.precision().empty() ? 1 : model.agreement()});
  }
  for (const v1::BackendStatus& backend : response.backends()) {
    result.backends.push_back({backend.service(),
                               backend.address(),
                               backend.reachable(),
                               backend.error(),
                               {backend.shards().begin(), backend.shards().end()}});
  }
  for (const v1::IndexStatus& index : response.indexes()) {
    result.indexes.push_back({index.index(), index.generation(), index.sequence(), index.error()});
  }
  for (const v1::CacheStatus& cache : response.caches()) {
    result.caches.push_back({cache.name(), cache.entries(), cache.bytes(), cache.max_bytes(),
                             cache.hits(), cache.shared(), cache.misses()});
  }
  for (const v1::DeviceStatus& device : response.devices()) {
    const v1::DeviceWork& work = device.work();
    result.devices.push_back(
        {device.number(),
         device.name(),
         device.memory_bytes(),
         device.held_bytes(),
         {work.pass_count(), work.recorded_count(), absl::Seconds(work.seconds()),
          absl::Seconds(work.waited_seconds()), work.bytes_in(), work.bytes_out()}});
  }
  return result;
}

}  // namespace

void ToProto(const StatusRequest& request, v1::GetStatusRequest* out) {
  out->set_router(request.router);
  for (const StatusRequest::Use& use : request.uses) {
    v1::GenerationUse* message = out->add_uses();
    ToProto(use.generation, message->mutable_generation());
    message->set_may_release(use.may_release);
  }
}

absl::StatusOr<StatusRequest> FromProto(const v1::GetStatusRequest& request) {
  StatusRequest result;
  if (request.router().size() > limits::kMaxRouterNameLength) {
    return InvalidField(FieldPath("router"),
                        absl::StrCat("has ", request.router().size(), " bytes, at most ",
                                     limits::kMaxRouterNameLength));
  }
  if (request.uses_size() > limits::kMaxStatusUses) {
    return InvalidField(
        FieldPath("uses"),
        absl::StrCat("has ", request.uses_size(), " entries, at most ", limits::kMaxStatusUses));
  }
  result.router = request.router();
  for (int i = 0; i < request.uses_size(); ++i) {
    const FieldPath path("uses", i);
    ASSIGN_OR_RETURN(GenerationRef generation,
                     FromProto(request.uses(i).generation(), FieldPath(path, "generation")));
    result.uses.push_back({std::move(generation), request.uses(i).may_release()});
  }
  return result;
}

void ToProto(const ServerStatus& status, v1::GetStatusResponse* out) {
  out->set_service(status.service);
  out->set_draining(status.draining);
  for (const GenerationStatus& generation : status.generations) {
    GenerationToProto(generation, out->add_generations());
  }
  for (const ModelStatus& model : status.models) {
    v1::ModelStatus* message = out->add_models();
    message->set_model(model.model);
    message->set_family(model.family);
    message->set_space(model.space);
    message->set_description(model.description);
    message->set_precision(model.precision);
    // Of a model that computes nothing there is none to tell.
    if (!model.precision.empty()) message->set_agreement(model.agreement);
  }
  for (const BackendStatus& backend : status.backends) {
    v1::BackendStatus* message = out->add_backends();
    message->set_service(backend.service);
    message->set_address(backend.address);
    message->set_reachable(backend.reachable);
    message->set_error(backend.error);
    *message->mutable_shards() = {backend.shards.begin(), backend.shards.end()};
  }
  for (const IndexStatus& index : status.indexes) {
    v1::IndexStatus* message = out->add_indexes();
    message->set_index(index.index);
    message->set_generation(index.generation);
    message->set_sequence(index.sequence);
    message->set_error(index.error);
  }
  for (const CacheStatus& cache : status.caches) {
    v1::CacheStatus* message = out->add_caches();
    message->set_name(cache.name);
    message->set_entries(cache.entries);
    message->set_bytes(cache.bytes);
    message->set_max_bytes(cache.max_bytes);
    message->set_hits(cache.hits);
    message->set_shared(cache.shared);
    message->set_misses(cache.misses);
  }
  for (const DeviceStatus& device : status.devices) {
    v1::DeviceStatus* message = out->add_devices();
    message->set_number(device.number);
    message->set_name(device.name);
    message->set_memory_bytes(device.memory_bytes);
    message->set_held_bytes(device.held_bytes);
    if (device.work.pass_count == 0) continue;
    v1::DeviceWork* work = message->mutable_work();
    work->set_pass_count(device.work.pass_count);
    work->set_recorded_count(device.work.recorded_count);
    work->set_seconds(absl::ToDoubleSeconds(device.work.took));
    work->set_waited_seconds(absl::ToDoubleSeconds(device.work.waited));
    work->set_bytes_in(device.work.bytes_in);
    work->set_bytes_out(device.work.bytes_out);
  }
}

absl::StatusOr<ServerStatus> FromProto(const v1::GetStatusResponse& response) {
  return AsBadAnswer(ReadAnswer(response));
}

}  // namespace sightline
