// What a server of generations says of itself while it loads its first one.
#include "common/rpc/backend_server.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/random_access_file.h"
#include "common/clients/admin_client.h"
#include "common/generations/generation_registry.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_service.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/common/rpc/health_of.h"
#include "tests/support/catch.h"
#include "tests/support/ready_generation.h"

namespace sightline {
namespace {

// Holds names of generations, and answers nothing.
struct NamesDomain {
  struct Config {
    RpcServerOptions server;
    GenerationOptions generations;
    std::function<void()> during_load;
    std::function<LoadedModels(GenerationRegistry<std::string>*)> models;  // may be null
  };
  struct Engine {
    void Drain() {}
  };
  struct Service : RpcService {
    Service(Engine*, CallGate* calls) : RpcService("sightline.v1.Names", calls) {}
  };
  static constexpr char kName[] = "names";
  static int Threads(const Config&) { return 1; }
  static void PrepareLibraries() {}
  static std::vector<int> ShardsOf(const HeldGeneration&) { return {}; }

  NamesDomain(const Config& config, MetricsRegistry*, ComputePool*, Janitor*)
      : host(config.generations.store) {
    host.during_load = [during_load = config.during_load](const CallContext&) { during_load(); };
    if (config.models != nullptr) {
      models = [this, of = config.models] { return of(&generations); };
    }
  }
  LoadedModels Models() const { return models(); }
  static std::vector<DeviceStatus> Devices() { return {{3, "a GPU", 100, 50}}; }

  GenerationRegistry<std::string> generations{Clock::Real()};
  FakeHost host;
  Engine engine;
  std::function<LoadedModels()> models = [] { return LoadedModels(); };
};

struct Said {
  std::string liveness, whole;
  ServerStatus status;
};

Said Ask(int port) {
  const std::string address = absl::StrCat("127.0.0.1:", port);
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
  const auto status = MakeGrpcAdminClient(address)->GetStatus(call);
  return {HealthOf(MakeChannel(address), "liveness"), HealthOf(MakeChannel(address), ""),
          status.ok() ? *status : ServerStatus()};
}

TEST_CASE("the port is open before anything is loaded, and tells that the server lives and loads") {
  TempDir store;
  const auto manifest = WriteTestGeneration(store.path(), "g1", 4, 1);
  REQUIRE(manifest.ok());
  REQUIRE(PublishGeneration(store.path(), "images", "g1").ok());
  NamesDomain::Config config;
  config.generations.store = store.path();
  config.generations.indexes = {"images"};
  RpcServer* rpc = nullptr;
  Said loading;
  config.during_load = [&] {
    const auto file = RandomAccessFile::Open(FakeHost(store.path()).Files(*manifest).front());
    std::string bytes(1000, '\0');
    (void)(*file)->Read(0, 1000, bytes.data());
    loading = Ask(rpc->port());
  };
  BackendServer<NamesDomain> server(config);
  rpc = server.rpc();
  REQUIRE(server.Start(std::make_shared<Cancellation>()).ok());
  CHECK(loading.liveness == "SERVING");
  CHECK(loading.whole == "NOT_SERVING");
  REQUIRE(loading.status.generations.size() == 1);
  CHECK(loading.status.generations[0].state == GenerationState::kLoading);
  REQUIRE(loading.status.generations[0].progress.has_value());
  CHECK(loading.status.generations[0].progress->stage == LoadStage::kLoading);
  CHECK(loading.status.generations[0].progress->read_bytes == 1000);
  CHECK(loading.status.generations[0].progress->total_bytes > 1000);

  const Said loaded = Ask(rpc->port());
  CHECK(loaded.liveness == "SERVING");
  CHECK(loaded.whole == "SERVING");
  REQUIRE(loaded.status.generations.size() == 1);
  CHECK(loaded.status.generations[0].state == GenerationState::kReady);
  REQUIRE(loaded.status.devices.size() == 1);
  CHECK(loaded.status.devices[0].name == "a GPU");
  CHECK_FALSE(loaded.status.generations[0].progress.has_value());
  REQUIRE(loaded.status.indexes.size() == 1);
  CHECK(loaded.status.indexes[0].index == "images");
  CHECK(loaded.status.indexes[0].generation == "g1");
  CHECK(loaded.status.indexes[0].sequence == 1);
  CHECK(loaded.status.indexes[0].error.empty());
}

TEST_CASE("a generation whose load ends while a status is made is not told without its models") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 4, 1).ok());
  REQUIRE(PublishGeneration(store.path(), "images", "g1").ok());
  NamesDomain::Config config;
  config.generations.store = store.path();
  config.generations.indexes = {"images"};
  config.during_load = [] {};
  config.models = [](GenerationRegistry<std::string>* generations) {
    bundle::v1::GenerationManifest late;
    late.set_index("images");
    late.set_generation("late");
    PutReady<std::string>(generations, late, std::make_shared<std::string>("late"));
    return LoadedModels();  // as they were before
  };
  BackendServer<NamesDomain> server(config);
  REQUIRE(server.Start(std::make_shared<Cancellation>()).ok());
  const Said said = Ask(server.rpc()->port());
  REQUIRE(said.status.generations.size() == 1);
  CHECK(said.status.generations[0].info.ref.generation == "g1");
}

TEST_CASE("a server that is told to stop while it loads has started, and serves nothing") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 4, 1).ok());
  REQUIRE(PublishGeneration(store.path(), "images", "g1").ok());
  NamesDomain::Config config;
  config.generations.store = store.path();
  config.generations.indexes = {"images"};
  const auto stop = std::make_shared<Cancellation>();
  int loads = 0;
  config.during_load = [&] {
    ++loads;
    stop->Cancel();
  };
  BackendServer<NamesDomain> server(config);
  REQUIRE(server.Start(stop).ok());
  CHECK(loads == 1);
  CHECK(!server.rpc()->serving());
}

}  // namespace
}  // namespace sightline
