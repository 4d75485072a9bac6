#include "loadtest/run/device_uses.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

DeviceWork WorkOf(int64_t passes) {
  return {passes,       passes / 2, absl::Milliseconds(3 * passes), absl::Milliseconds(passes),
          100 * passes, 10 * passes};
}

ServerStatus ServerWith(std::vector<DeviceStatus> devices) {
  ServerStatus status;
  status.service = "reranker";
  status.devices = std::move(devices);
  return status;
}

TEST_CASE("devices are those of all servers that routers reach, each server asked once") {
  ServerStatus router;
  router.service = "router";
  router.backends = {{"reranker", "b:2", true, "", {}},
                     {"index_search", "a:1", true, "", {}},
                     {"reranker", "lost:3", false, "down", {}},
                     {"reranker", "silent:4", true, "", {}}};
  std::map<std::string, ServerStatus> servers = {{"r:1", router}, {"r:2", router}};
  servers["b:2"] = ServerWith({{0, "A", 80, 8, WorkOf(4)}, {1, "B", 80, 0, {}}});
  servers["a:1"] = ServerWith({});
  std::map<std::string, int> asked;
  const auto ask = [&](const std::string& address) -> absl::StatusOr<ServerStatus> {
    ++asked[address];
    if (servers.count(address) == 0) return absl::UnavailableError("no answer");
    return servers.at(address);
  };
  const std::vector<DeviceUse> uses = AskDevices({"r:1", "r:2", "gone:1"}, ask);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].server == "reranker b:2");
  CHECK(uses[0].device.name == "A");
  CHECK(uses[0].device.work.pass_count == 4);
  CHECK(uses[1].device.number == 1);
  CHECK(asked ==
        std::map<std::string, int>{
            {"r:1", 1}, {"r:2", 1}, {"gone:1", 1}, {"a:1", 1}, {"b:2", 1}, {"silent:4", 1}});
}

TEST_CASE("a run's work is what was done meanwhile; of a server that is new, all that it did") {
  DeviceWork slow = WorkOf(2);  // started anew since, and faster
  slow.took = absl::Hours(1);
  const std::vector<DeviceUse> before = {{"reranker b:2", {0, "A", 80, 8, WorkOf(10)}},
                                         {"reranker c:3", {0, "A", 80, 8, WorkOf(50)}},
                                         {"reranker d:4", {0, "A", 80, 8, slow}}};
  const std::vector<DeviceUse> after = {{"reranker b:2", {0, "A", 80, 9, WorkOf(16)}},
                                        {"reranker b:2", {1, "A", 80, 9, WorkOf(2)}},
                                        {"reranker c:3", {0, "A", 80, 9, WorkOf(4)}},
                                        {"reranker d:4", {0, "A", 80, 9, WorkOf(3)}}};
  const std::vector<DeviceUse> uses = UsesBetween(before, after);
  REQUIRE(uses.size() == 4);
  const DeviceWork& work = uses[0].device.work;
  CHECK(work.pass_count == 6);
  CHECK(work.recorded_count == 3);
  CHECK(work.took == absl::Milliseconds(18));
  CHECK(work.waited == absl::Milliseconds(6));
  CHECK(work.bytes_in == 600);
  CHECK(work.bytes_out == 60);
  CHECK(uses[0].device.held_bytes == 9);
  CHECK(uses[1].device.work.pass_count == 2);
  CHECK(uses[2].device.work.pass_count == 4);
  CHECK(uses[3].device.work.pass_count == 3);
  CHECK(uses[3].device.work.took == absl::Milliseconds(9));
}

}  // namespace
}  // namespace sightline
