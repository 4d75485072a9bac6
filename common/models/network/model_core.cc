#include "common/models/network/model_core.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/device/pass_watch.h"
#include "common/models/device_passes.h"

namespace sightline {

GroupingOptions ModelCore::grouping() const {
  GroupingOptions grouping;
  if (options.execution.on_cpu()) {
    grouping.threads = options.pool == nullptr ? 1 : options.pool->threads();
  } else {
    grouping.max_rows = kDevicePassRows;  // which is shared by nobody
  }
  grouping.one_each = options.deterministic;
  grouping.equal_shapes = network->wants_equal_shapes();
  return grouping;
}

absl::Status ModelCore::Run(absl::Span<const Group> groups, const CallContext& call,
                            absl::string_view what,
                            const std::function<absl::Status(const Group&)>& run) const {
  absl::Status done = RunGroups(options.pool, groups, call, what, [&](const Group& group) {
    const device::PassScope pass(gate.passes());
    return run(group);
  });
  const std::shared_ptr<std::atomic<bool>>& failed = options.execution.failed;
  if (failed != nullptr && HasReason(done, reasons::kDeviceFailed)) *failed = true;
  return done;
}

absl::Status AtItem(absl::string_view kind, size_t index, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(kind, " ", index, " ", status.message()));
}

absl::StatusOr<std::vector<ImageNumbers>> ReadImages(const Network& network,
                                                     absl::Span<const ImageInput> images) {
  std::vector<ImageNumbers> list;
  list.reserve(images.size());
  for (const ImageInput& image : images) {
    auto numbers = network.ReadImage(image);
    if (!numbers.ok()) return AtItem("image", list.size(), numbers.status());
    list.push_back(*std::move(numbers));
  }
  return list;
}

}  // namespace sightline
