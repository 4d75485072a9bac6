#include "loadtest/run/device_uses.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/clients/admin_client.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(2);

void NoteSilence(const std::string& address, const absl::Status& why) {
  Log(Severity::kWarning, "a server does not tell its devices",
      {{"address", address}, {"error", why}});
}

}  // namespace

AskStatus AskStatusByGrpc(const CallContext& call) {
  return [call](const std::string& address) {
    return MakeGrpcAdminClient(address)->GetStatus(
        call.WithDeadline(call.clock()->Now() + kPatience));
  };
}

std::vector<DeviceUse> AskDevices(const std::vector<std::string>& routers, const AskStatus& ask) {
  std::set<std::string> servers;
  for (const std::string& router : routers) {
    const absl::StatusOr<ServerStatus> status = ask(router);
    if (!status.ok()) {
      NoteSilence(router, status.status());
      continue;
    }
    for (const BackendStatus& backend : status->backends) {
      if (backend.reachable) servers.insert(backend.address);
    }
  }
  std::vector<DeviceUse> uses;
  for (const std::string& server : servers) {
    const absl::StatusOr<ServerStatus> status = ask(server);
    if (!status.ok()) {
      NoteSilence(server, status.status());
      continue;
    }
    for (const DeviceStatus& device : status->devices) {
      uses.push_back({absl::StrCat(status->service, " ", server), device});
    }
  }
  return uses;
}

std::vector<DeviceUse> UsesBetween(const std::vector<DeviceUse>& before,
                                   std::vector<DeviceUse> after) {
  for (DeviceUse& use : after) {
    const auto earlier = std::find_if(before.begin(), before.end(), [&](const DeviceUse& other) {
      return other.server == use.server && other.device.number == use.device.number;
    });
    if (earlier == before.end()) continue;
    DeviceWork& work = use.device.work;
    const DeviceWork& then = earlier->device.work;
    const bool started_anew = work.pass_count < then.pass_count || work.took < then.took ||
                              work.waited < then.waited || work.bytes_in < then.bytes_in ||
                              work.bytes_out < then.bytes_out ||
                              work.recorded_count < then.recorded_count;
    if (started_anew) continue;
    work.pass_count -= then.pass_count;
    work.recorded_count -= then.recorded_count;
    work.took -= then.took;
    work.waited -= then.waited;
    work.bytes_in -= then.bytes_in;
    work.bytes_out -= then.bytes_out;
  }
  return after;
}

}  // namespace sightline
