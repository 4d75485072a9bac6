// What holds of every family.
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "common/bundle/model_probes.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/model.h"
#include "tests/common/bundle/probes.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

TEST_CASE("what holds of every family here holds of every family that there is") {
  std::set<std::string> here, registered;
  for (const TinyFamily& family : TinyFamilies()) here.insert(family.manifest.family());
  for (const absl::string_view family : FamilyNames()) {
    registered.insert(std::string(family));
    bundle::v1::ModelBundleManifest manifest;
    manifest.set_family(std::string(family));
    REQUIRE_FALSE(absl::StrContains(CheckManifest(manifest).message(), "unknown model family"));
    REQUIRE(FindFamilyModel(family).ok());
  }
  REQUIRE(here == registered);
  REQUIRE(absl::StrContains(FindFamilyModel("clip").status().message(), "vldeformer"));
}

TEST_CASE("a batch of one equals a batch of many, in every family") {
  ComputePool pool(2);
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    ModelOptions options;
    options.pool = &pool;
    const auto model = MakeTinyModel(family, options);
    REQUIRE(Farthest(Everything(*model, family, true), Everything(*model, family, false)) < 2e-6);
  }
}

TEST_CASE("deterministic mode gives the same bits whatever the batch, in every family") {
  ComputePool pool(3);
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    ModelOptions options;
    options.deterministic = true;
    const std::vector<float> alone = Everything(*MakeTinyModel(family, options), family, false);
    options.pool = &pool;
    const std::vector<float> batch = Everything(*MakeTinyModel(family, options), family, true);
    REQUIRE(alone.size() == batch.size());
    REQUIRE(std::memcmp(alone.data(), batch.data(), alone.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("every family is the same model with probes beside it") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    TempDir store;
    const ModelBundle bundle = MakeTinyBundle(store.path(), family);
    const auto with = WithProbes(bundle, SoundProbes(), store.path());
    REQUIRE(with.ok());
    REQUIRE(with->id != bundle.id);
    REQUIRE(EmbeddingSpaceOf(with->manifest) == EmbeddingSpaceOf(bundle.manifest));
    REQUIRE(LoadModel(*with, {}).ok());
  }
}

TEST_CASE("on a device every family gives what it gives on the CPU") {
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const std::vector<float> cpu = Everything(*MakeTinyModel(family), family, true);
    const int64_t before = devices->device().launches();
    ModelOptions options;
    options.execution = {"cuda:0", "float32", devices};
    REQUIRE(Farthest(Everything(*MakeTinyModel(family, options), family, true), cpu) < 5e-6);
    // What has no blocks is computed on the CPU.
    REQUIRE((devices->device().launches() > before) == family.manifest.has_transformer());
    if (!family.manifest.has_transformer()) continue;
    options.execution.precision = "bfloat16";
    REQUIRE(Farthest(Everything(*MakeTinyModel(family, options), family, true), cpu) < 0.1);
  }
}

TEST_CASE("a device that fails is an error of every family, with its reason") {
  for (const TinyFamily& family : TinyFamilies()) {
    if (!family.manifest.has_transformer()) continue;
    INFO(family.name);
    const auto devices = std::make_shared<const kernels::HostStackDevices>();
    ModelOptions options;
    options.execution = {"cuda:0", "float32", devices};
    const auto model = MakeTinyModel(family, options);
    std::vector<absl::Status> statuses;
    const auto fail = [&] {
      devices->device().Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
    };
    if (model->cross_encoder() != nullptr) {
      const auto image = *model->cross_encoder()->PrepareImages({TinyImage(family, 7)}, kCall);
      const ItemFeatures text = *TextFeatures(*model, "a fish");
      fail();
      statuses.push_back(model->cross_encoder()->Score({{&text, &image[0]}}, kCall).status());
    }
    if (model->text_encoder() != nullptr) {
      fail();
      statuses.push_back(
          model->text_encoder()->Encode({*model->Tokenize("a fish")}, kCall).status());
      statuses.push_back(model->image_encoder()->Encode({TinyImage(family, 7)}, kCall).status());
    }
    REQUIRE_FALSE(statuses.empty());
    for (const absl::Status& status : statuses) {
      INFO(status);
      REQUIRE(absl::IsUnavailable(status));
      REQUIRE(HasReason(status, reasons::kDeviceFailed));
    }
  }
}

TEST_CASE("an execution that there is not is refused by every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    TempDir store;
    const ModelBundle bundle = MakeTinyBundle(store.path(), family);
    for (const Execution& execution : {Execution{"tpu", "float32"}, Execution{"cpu", "int3"}}) {
      ModelOptions options;
      options.execution = execution;
      REQUIRE(absl::IsInvalidArgument(LoadModel(bundle, options).status()));
    }
  }
}

TEST_CASE("region order matters where the family says so, and only there") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = MakeTinyModel(family);
    ImageInput image = TinyImage(family, 7);
    const int64_t count = image.regions.count;
    REQUIRE(count > 1);
    ImageInput turned = image;
    std::rotate(turned.regions.features.begin(), turned.regions.features.begin() + 10,
                turned.regions.features.end());
    std::rotate(turned.regions.boxes.begin(), turned.regions.boxes.begin() + 4,
                turned.regions.boxes.end());
    const float distance =
        Farthest(Seen(*model, "a red fish", image), Seen(*model, "a red fish", turned));
    if (family.region_order_matters) {
      REQUIRE(distance > 1e-6);
    } else {
      REQUIRE(distance < 1e-6);
    }
  }
}

TEST_CASE("words, their order and regions matter in every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = MakeTinyModel(family);
    const ImageInput image = TinyImage(family, 7);
    const std::vector<float> seen = Seen(*model, "a red fish", image);
    REQUIRE(Farthest(seen, Seen(*model, "a blue fish", image)) > 1e-6);
    REQUIRE(Farthest(seen, Seen(*model, "fish red a", image)) > 2e-6);
    REQUIRE(Farthest(seen, Seen(*model, "a red fish", TinyImage(family, 8))) > 1e-6);
  }
}

TEST_CASE("an image of another width, and one without regions, is refused by every family") {
  for (const TinyFamily& family : TinyFamilies()) {
    INFO(family.name);
    const auto model = MakeTinyModel(family);
    ImageInput narrow = TinyImage(family, 7);
    narrow.regions.feature_size = 5;
    narrow.regions.features.resize(narrow.regions.count * 5);
    for (const ImageInput& bad : {narrow, ImageInput()}) {
      if (model->image_encoder() != nullptr) {
        REQUIRE(absl::IsInvalidArgument(model->image_encoder()->Encode({bad}, kCall).status()));
      }
      if (model->cross_encoder() != nullptr) {
        REQUIRE(
            absl::IsInvalidArgument(model->cross_encoder()->PrepareImages({bad}, kCall).status()));
      }
    }
  }
}

}  // namespace
}  // namespace sightline
