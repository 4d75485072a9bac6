#include "common/models/model_cache.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/device/loss_watch.h"
#include "common/device/product.h"
#include "common/metrics/metrics.h"
#include "common/models/family_manifests.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("a model is loaded once, lives as long as it is held, and is the one asked for") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelOptions options;
  options.pool = store.pool.get();
  ModelCache cache({dir.path(), options});
  CHECK(cache.Loaded().empty());

  auto first = cache.Get(id);
  REQUIRE(first.status() == absl::OkStatus());
  REQUIRE((*first)->id() == id);
  REQUIRE(cache.Get(id)->get() == first->get());
  REQUIRE(cache.Loaded().size() == 1);
  CHECK(cache.Loaded().count(id) == 1);

  first = absl::UnknownError("let go");
  CHECK(cache.Loaded().empty());
  CHECK(cache.Get(id).ok());

  const std::string missing(64, '0');
  CHECK(absl::IsNotFound(cache.Get(missing).status()));
  // A bundle in another's folder is not taken for it.
  std::filesystem::copy(ModelDirectory(dir.path(), id), ModelDirectory(dir.path(), missing),
                        std::filesystem::copy_options::recursive);
  CHECK(absl::IsDataLoss(cache.Get(missing).status()));
}

TEST_CASE("who waits for a model knows when nothing of it is left to read, and what never was") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelOptions options;
  options.pool = store.pool.get();
  for (const bool verify : {true, false}) {
    CAPTURE(verify);
    ModelCache cache({dir.path(), options, {}, verify});
    ReadProgress::Files files;
    for (const std::string& path : cache.Files(id)) files[path] = *FileSize(path);
    ReadProgress first(files), again(files);
    std::shared_ptr<const Model> model;
    {
      const ReadProgress::Scope scope(&first);
      model = *cache.Get(id);
    }
    if (verify) CHECK(first.bytes().done == FileBytes(cache.Loaded().at(id).manifest));
    CHECK(first.bytes().done == first.bytes().all);
    const ReadProgress::Scope scope(&again);
    REQUIRE(*cache.Get(id) == model);
    CHECK(again.bytes().done == 0);
    CHECK(again.bytes().all == 0);
  }
}

TEST_CASE("a model computes in the precision that is chosen for it, and says so while it lives") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  MetricsRegistry metrics;
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 0};
  options.metrics = &metrics;
  ModelCache cache(options);
  auto model = cache.Get(id);
  REQUIRE(model.status() == absl::OkStatus());
  const LoadedModel loaded = cache.Loaded().at(id);
  CHECK(loaded.precision == "int8");
  const std::string line = absl::StrCat("sightline_model_agreement{model=\"", id.substr(0, 12),
                                        "\",precision=\"int8\"} ");
  const std::string page = metrics.Render();
  REQUIRE_THAT(page, Contains(line));
  double shown = -1;
  REQUIRE(absl::SimpleAtod(page.substr(page.find(line) + line.size(), 5), &shown));
  CHECK(shown == Approx(loaded.agreement).margin(1e-3));

  model = absl::UnknownError("let go");
  CHECK_THAT(metrics.Render(), Contains(line + "0\n"));
}

TEST_CASE("a precision that agrees too little is no model") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 1.01};
  ModelCache cache(options);
  CHECK(HasReason(cache.Get(store.model->id()).status(), reasons::kPrecisionTooFar));
  CHECK(cache.Loaded().empty());
}

TEST_CASE("what models take of a device is told before they are loaded, and until they have gone") {
  TempDir dir;
  const int64_t memory = int64_t{1} << 40;
  const auto devices = std::make_shared<const kernels::HostStackDevices>(memory);
  const auto used = [&] { return memory - devices->device().free_bytes(); };
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const ModelBundle bundle = MakeTinyBundle(dir.path(), family);
    ModelCacheOptions options{dir.path()};
    options.model.execution = {"cuda:0", "float32", devices};
    ModelCache cache(options);
    const auto told = cache.DeviceFootprints({bundle.id});
    REQUIRE(told.status() == absl::OkStatus());
    REQUIRE(told->size() == (family.manifest.has_transformer() ? 1 : 0));
    if (told->empty()) continue;  // it asks nothing of a device
    CHECK(told->front().device == 0);
    CHECK(told->front().limit == memory / 10 * 9);
    auto model = cache.Get(bundle.id);
    REQUIRE(model.status() == absl::OkStatus());
    // Plain products take none for themselves.
    const int64_t streams = TransformerCountOf(family.manifest) + kernels::kLinearPlaces;
    CHECK(told->front().bytes == used() + streams * device::kWorkspaceBytes);
    CHECK(used() > 0);
    CHECK(cache.DeviceFootprints({bundle.id})->front().bytes == told->front().bytes);
    const DeviceStatus status = cache.Devices().at(0);
    CHECK(status.number == 0);
    CHECK(status.name == "Host");
    CHECK(status.memory_bytes == memory);
    CHECK(status.held_bytes == told->front().bytes);
    model = absl::UnknownError("let go");
    CHECK(used() == 0);
    CHECK(cache.Devices().at(0).held_bytes == 0);
  }
}

TEST_CASE("the metrics page shows what is on a device, and its passes") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  MetricsRegistry metrics;
  ModelCacheOptions options{dir.path()};
  options.model.execution = {"cuda:0", "float32",
                             std::make_shared<const kernels::HostStackDevices>()};
  options.metrics = &metrics;
  ModelCache cache(options);
  auto model = cache.Get(store.model->id());
  REQUIRE(model.status() == absl::OkStatus());
  const int64_t held = cache.Devices().at(0).held_bytes;
  const auto shows = [&](const std::string& line) {
    INFO(metrics.Render());
    return metrics.Render().find("sightline_" + line + "\n") != std::string::npos;
  };
  CHECK(shows(absl::StrCat("device_held_bytes{device=\"0\"} ", held)));
  const auto encode = [&] {
    const auto text = *(*model)->Tokenize("a red fish");
    REQUIRE((*model)->text_encoder()->Encode({text}, CallContext::Unbounded()).ok());
  };
  for (int i = 0; i < 3; ++i) encode();
  // In each of the two places of a stack.
  CHECK(shows("device_passes_total{device=\"0\",launches=\"single\"} 2"));
  CHECK(shows("device_passes_total{device=\"0\",launches=\"recorded\"} 1"));
  CHECK(shows("device_pass_seconds_count{device=\"0\"} 3"));
  CHECK(shows(absl::StrCat("device_copied_bytes_total{device=\"0\",direction=\"out\"} ",
                           3 * 4 * store.model->dimension())));
  model = absl::UnknownError("let go");
  CHECK(shows("device_held_bytes{device=\"0\"} 0"));
}

TEST_CASE("models on the CPU take nothing of a device") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  ModelCache cache({dir.path()});
  CHECK(cache.DeviceFootprints({store.model->id()})->empty());
  CHECK(cache.Devices().empty());
}

TEST_CASE("a model whose device has failed is given to nobody else, and a lost device is told of") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  ModelCacheOptions options{dir.path()};
  options.model.execution = {"cuda:0", "float32", devices};
  options.device_memory_limit = 12345;
  std::vector<absl::Status> lost;
  options.on_device_lost = [&](const absl::Status& why) { lost.push_back(why); };
  ModelCache cache(options);
  auto first = cache.Get(id);
  REQUIRE(first.status() == absl::OkStatus());
  const int64_t bytes = cache.DeviceFootprints({id})->front().bytes;
  CHECK(cache.DeviceFootprints({id})->front().limit == 12345);
  const auto text = *(*first)->Tokenize("a red fish");
  const auto encode = [&](const Model& model) {
    return model.text_encoder()->Encode({text}, CallContext::Unbounded()).status();
  };
  devices->device().Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
  CHECK(HasReason(encode(**first), reasons::kDeviceFailed));
  devices->device().Break(absl::OkStatus());
  // Whoever holds it is told so on; others get another, and both count.
  const auto second = cache.Get(id);
  REQUIRE(second.status() == absl::OkStatus());
  CHECK(*first != *second);
  CHECK(HasReason(encode(**first), reasons::kDeviceFailed));
  CHECK(encode(**second) == absl::OkStatus());
  CHECK(cache.DeviceFootprints({id})->front().bytes == 2 * bytes);
  CHECK(cache.Devices().at(0).held_bytes == 2 * bytes);
  first = absl::UnknownError("let go");
  CHECK(cache.DeviceFootprints({id})->front().bytes == bytes);
  // Loads that fail, and not for want of memory.
  devices->device().Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
  CHECK(HasReason(encode(**second), reasons::kDeviceFailed));
  for (int i = 1; i <= device::LossWatch::kLostAfter + 1; ++i) {
    CHECK(HasReason(cache.Get(id).status(), reasons::kDeviceFailed));
    CHECK(lost.size() == (i < device::LossWatch::kLostAfter ? 0 : 1));
  }
}

TEST_CASE("a cross-encoder that prepares features alone has no use for a device") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const int64_t memory = int64_t{1} << 40;
  const auto devices = std::make_shared<const kernels::HostStackDevices>(memory);
  ModelCacheOptions options{dir.path()};
  options.model.execution = {"cuda:0", "float32", devices};
  ModelCache cache(options);
  const auto model = cache.GetPreparing(store.model->id());
  REQUIRE(model.status() == absl::OkStatus());
  CHECK(devices->device().free_bytes() == memory);
  CHECK(cache.Devices().at(0).held_bytes == 0);
}

TEST_CASE("a cross-encoder that prepares features alone is measured by nobody") {
  TempDir dir, state;
  const TinyStore store = MakeTinyStore(dir.path(), 1);
  const std::string id = store.model->id();
  ModelCacheOptions options{dir.path()};
  options.model.pool = store.pool.get();
  options.precision.policy = {"int8", 0};
  options.precision.state_dir = state.path();
  ModelCache cache(options);
  const auto preparing = cache.GetPreparing(id);
  REQUIRE(preparing.status() == absl::OkStatus());
  CHECK(cache.Loaded().at(id).precision.empty());
  CHECK(!FileExists(JoinPath(state.path(), "precision")));
  // Who computes with it needs another one, which then prepares features too.
  const auto computing = cache.GetCrossEncoder(id);
  REQUIRE(computing.status() == absl::OkStatus());
  CHECK(*computing != *preparing);
  CHECK(cache.Loaded().at(id).precision == "int8");
  CHECK(*cache.GetPreparing(id) == *computing);
}

}  // namespace
}  // namespace sightline
