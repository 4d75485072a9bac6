#include "services/index_search/search_devices.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/device/pass_watch.h"

namespace sightline {

namespace {

// Tells of each search.
class WatchedScan : public DeviceScan {
 public:
  WatchedScan(std::unique_ptr<DeviceScan> scan, std::shared_ptr<device::PassWatch> watch)
      : scan_(std::move(scan)), watch_(std::move(watch)) {
    rounding_ = scan_->rounding();
  }

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, int top_k,
                                       const RowSet* among, const CallContext& call) override {
    return Watched([&] { return scan_->Search(queries, top_k, among, call); });
  }
  absl::StatusOr<NeighborLists> SearchRanges(const EmbeddingMatrix& queries,
                                             absl::Span<const RowRanges> ranges, int top_k,
                                             const RowSet* among,
                                             const CallContext& call) override {
    return Watched([&] { return scan_->SearchRanges(queries, ranges, top_k, among, call); });
  }
  ScanBytes byte_count() const override { return scan_->byte_count(); }
  device::CopiedBytes copied() const override { return scan_->copied(); }

 private:
  template <typename Work>
  absl::StatusOr<NeighborLists> Watched(const Work& work) {
    watch_->Began();
    const absl::Time began = absl::Now();
    const device::CopiedBytes before = scan_->copied();
    absl::StatusOr<NeighborLists> lists = work();
    device::PassStats pass;
    pass.took = absl::Now() - began;
    pass.bytes_in = scan_->copied().in - before.in;
    pass.bytes_out = scan_->copied().out - before.out;
    watch_->Ended(lists.ok() ? &pass : nullptr);
    return lists;
  }

  const std::unique_ptr<DeviceScan> scan_;
  const std::shared_ptr<device::PassWatch> watch_;
};

}  // namespace

SearchDevices::SearchDevices(const SearchDeviceOptions& options, MetricsRegistry* metrics,
                             std::function<void(const absl::Status& why)> on_lost)
    : options_(options), losses_(std::move(on_lost)) {
  for (const int number : options.numbers) {
    const auto describe = [devices = options.devices, number] { return devices->Describe(number); };
    held_[number] = HeldDevice::Make(number, options.memory_limit, describe, metrics);
  }
}

int SearchDevices::NumberOf(int before) const {
  return options_.numbers[static_cast<size_t>(before) % options_.numbers.size()];
}

absl::StatusOr<int64_t> SearchDevices::Limit(int device) {
  return held_.at(device)->Limit();
}

absl::StatusOr<std::unique_ptr<DeviceScan>> SearchDevices::Load(const VectorView& vectors,
                                                                absl::Span<const int32_t> order,
                                                                int device,
                                                                const CallContext& call) {
  absl::StatusOr<std::unique_ptr<DeviceScan>> scan =
      options_.devices->Load(vectors, order, device, call);
  if (absl::IsInvalidArgument(scan.status())) {
    return MakeError(reasons::kNotOnDevice, scan.status().message());
  }
  losses_.NoteLoad(device, scan.status());
  RETURN_IF_ERROR(scan.status());
  return std::make_unique<WatchedScan>(*std::move(scan), held_.at(device));
}

absl::StatusOr<SearchDevices::Opened> SearchDevices::Open(
    const IndexKind& kind, absl::string_view directory,
    const bundle::v1::GenerationManifest& manifest, int shard, const VectorView& vectors,
    int device, ComputePool* pool, const CallContext& call) {
  Opened opened;
  const auto load =
      [&](const VectorView& rows,
          absl::Span<const int32_t> order) -> absl::StatusOr<std::unique_ptr<DeviceScan>> {
    ASSIGN_OR_RETURN(std::unique_ptr<DeviceScan> scan, Load(rows, order, device, call));
    opened.device_bytes = scan->byte_count().device;
    return scan;
  };
  ASSIGN_OR_RETURN(opened.index,
                   kind.on_device->open(directory, manifest, shard, vectors, load, pool, call));
  opened.memory = held_.at(device)->Hold(opened.device_bytes);
  return opened;
}

std::vector<DeviceStatus> SearchDevices::Describe() const {
  std::vector<DeviceStatus> described;
  for (const auto& [number, held] : held_) described.push_back(held->Status());
  return described;
}

}  // namespace sightline
