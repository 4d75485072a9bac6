// The program's own job with an encoder on a device, which is the host here, and in precisions.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"
#include "common/config/exit_status.h"
#include "common/dataset/region_file.h"
#include "services/corpus_encoder/corpus_encoder.h"
#include "services/corpus_encoder/work_folder.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 60;

RegionFileItem ItemOf(int64_t i) {
  RegionFileItem item;
  item.line.id = absl::StrCat("item/", i);
  item.line.captions = {{"en", i % 2 == 0 ? "a red fish" : "a fish"}};
  const ImageInput image = RandomImage(3 + i % 5, static_cast<uint32_t>(i));
  item.regions = image.regions;
  return item;
}

// One for all: where items lie is part of what they are.
const std::string& CorpusFile() {
  static const auto* const folder = new TempDir;
  static const auto* const path = [] {
    auto* const file = new std::string(folder->File("items.regions"));
    REQUIRE(WriteRegionFile(*file, kItems, Dtype::kFloat32, ItemOf).ok());
    return file;
  }();
  return *path;
}

class Rig {
 public:
  Rig() {
    bundle::v1::ModelBundleManifest manifest = TinyManifest();
    manifest.clear_grid_extractor();
    config_.model = MakeBundle(store_.path(), manifest).id;
    config_.compute.threads = 1;
    config_.job.store = store_.path();
    config_.job.unit_size = 4;
    config_.job.decode_threads = 2;
    CorpusSpec corpus;
    corpus.kind = CorpusKind::kRegions;
    corpus.root = CorpusFile();
    corpus.languages = {"en"};
    config_.corpora = {corpus};
  }

  CorpusEncoderConfig& config() { return config_; }
  const std::string& store() const { return store_.path(); }
  std::string WorkFile(absl::string_view name) const {
    return JoinPath(WorkDirectory(store(), "images"), name);
  }

  void UseDevice(std::shared_ptr<const kernels::StackDevices> devices) {
    config_.place.execution.device = "cuda:0";
    config_.place.execution.devices = std::move(devices);
  }

  absl::StatusOr<EncodeSummary> Run() const {
    return RunCorpusEncoder(config_, /*starter=*/nullptr, /*terminal=*/false,
                            CallContext::Unbounded());
  }

  bundle::v1::GenerationManifest ManifestOf(const EncodeSummary& summary) const {
    return *ReadGenerationManifest(store(), "images", summary.generation);
  }

  // Of all pictures, by rows.
  std::vector<float> EmbeddingsOf(const EncodeSummary& summary) const {
    const std::string directory = GenerationDirectory(store(), "images", summary.generation);
    const auto manifest = ManifestOf(summary);
    const bundle::v1::ShardManifest& shard = manifest.shards(0);
    const int dimension = manifest.embedding().dimension();
    const auto file =
        VectorsFile::Open(JoinPath(directory, shard.vectors().path()), shard, dimension);
    REQUIRE(file.status() == absl::OkStatus());
    VectorsReader reader(**file);
    std::vector<float> numbers((*file)->size() * dimension);
    for (int64_t i = 0; i < (*file)->size(); ++i) {
      const absl::Span<float> row(&numbers[i * dimension], dimension);
      REQUIRE(reader.Embedding(i, row) == absl::OkStatus());
    }
    return numbers;
  }

 private:
  TempDir store_;
  CorpusEncoderConfig config_;
};

float GreatestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float greatest = 0;
  for (size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, std::abs(a[i] - b[i]));
  return greatest;
}

TEST_CASE(
    "a job on a device makes the collection that a CPU makes, and tells what the device did") {
  Rig on_cpu, on_device;
  const auto reference = on_cpu.Run();
  REQUIRE(reference.status() == absl::OkStatus());
  CHECK(!reference->device.has_value());
  on_device.UseDevice(std::make_shared<const kernels::HostStackDevices>());
  const auto summary = on_device.Run();
  REQUIRE(summary.status() == absl::OkStatus());
  CHECK(summary->encoded_image_count == kItems);
  CHECK(summary->encoded_caption_count == kItems);
  CHECK(summary->unit_count > 6);
  REQUIRE(summary->device.has_value());
  CHECK(summary->device->pass_count >= 2 * summary->unit_count);
  CHECK(summary->device->busy > absl::ZeroDuration());
  CHECK(summary->device->for_host > absl::ZeroDuration());
  CHECK_THAT(summary->Report(), Catch::Contains("device    busy "));
  // Where it was computed is no part of what it is.
  CHECK(summary->generation == reference->generation);
  CHECK(!on_device.ManifestOf(*summary).has_encoding());
  CHECK(GreatestDifference(on_cpu.EmbeddingsOf(*reference), on_device.EmbeddingsOf(*summary)) <
        1e-5f);
}

TEST_CASE("what was encoded in another precision says so, with how far it agrees") {
  Rig rig;
  const auto reference = rig.Run();
  REQUIRE(reference.status() == absl::OkStatus());
  const std::vector<float> exact = rig.EmbeddingsOf(*reference);
  rig.UseDevice(std::make_shared<const kernels::HostStackDevices>());
  rig.config().precision.policy.precision = "bfloat16";
  rig.config().precision.policy.least_agreement = 0.5;
  const auto rounded = rig.Run();
  REQUIRE(rounded.status() == absl::OkStatus());
  CHECK(rounded->generation != reference->generation);
  // Nothing of the other precision is taken over.
  CHECK(rounded->reused_unit_count == 0);
  CHECK(rounded->carried_image_count == 0);
  for (const char* index : {"images", "captions"}) {
    const auto manifest = ReadGenerationManifest(rig.store(), index, rounded->generation);
    REQUIRE(manifest.status() == absl::OkStatus());
    CHECK(manifest->encoding().precision() == "bfloat16");
    CHECK(manifest->encoding().agreement() >= 0.5);
    CHECK(manifest->encoding().agreement() <= 1);
  }
  const float difference = GreatestDifference(exact, rig.EmbeddingsOf(*rounded));
  CHECK(difference > 0);
  CHECK(difference < 0.05f);
  // The report lies in the work folder, and what follows is carried over from the same precision.
  CHECK(!ListFilesBelow(rig.WorkFile("precision"))->empty());
  rig.config().job.unit_size = 5;
  const auto next = rig.Run();
  REQUIRE(next.status() == absl::OkStatus());
  CHECK(next->base == rounded->generation);
  CHECK(next->carried_image_count == kItems);
  rig.config().job.base = reference->generation;
  rig.config().job.unit_size = 6;
  CHECK_THAT(std::string(rig.Run().status().message()),
             Catch::Contains("has embeddings computed in float32, not bfloat16"));
}

TEST_CASE("what a precision is measured by is no work of the job") {
  Rig plain, measured;
  for (Rig* rig : {&plain, &measured}) {
    rig->UseDevice(std::make_shared<const kernels::HostStackDevices>());
    rig->config().precision.policy.least_agreement = 0;
  }
  measured.config().precision.policy.precision = "bfloat16";
  const auto first = plain.Run(), second = measured.Run();
  REQUIRE(first.status() == absl::OkStatus());
  REQUIRE(second.status() == absl::OkStatus());
  CHECK(second->device->pass_count == first->device->pass_count);
}

TEST_CASE("a precision that agrees too little is refused before anything is encoded") {
  Rig rig;
  rig.UseDevice(std::make_shared<const kernels::HostStackDevices>());
  rig.config().precision.policy.precision = "int8";
  CHECK(HasReason(rig.Run().status(), reasons::kPrecisionMissing));
  CHECK(!FileExists(rig.WorkFile("FORMAT")));
}

TEST_CASE("a device that cannot be used ends the job, which may be tried again") {
  Rig rig;
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  devices->device().Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
  rig.UseDevice(devices);
  const absl::Status failed = rig.Run().status();
  CHECK(HasReason(failed, reasons::kDeviceFailed));
  CHECK(ExitStatusOf(failed) == kRunAgain);
  devices->device().Break(absl::OkStatus());
  const auto summary = rig.Run();
  REQUIRE(summary.status() == absl::OkStatus());
  CHECK(summary->image_count == kItems);
}

TEST_CASE("of a job whose device fails midway the units that were finished are kept") {
  Rig rig;
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  rig.UseDevice(devices);
  // Some passes' worth, beside what loading asks for.
  devices->device().BreakAfter(400, MakeError(reasons::kDeviceFailed, "fell off the bus"));
  const absl::Status failed = rig.Run().status();
  CHECK(HasReason(failed, reasons::kDeviceFailed));
  devices->device().Break(absl::OkStatus());
  const auto summary = rig.Run();
  REQUIRE(summary.status() == absl::OkStatus());
  CHECK(summary->reused_unit_count > 0);
  CHECK(summary->reused_unit_count < summary->unit_count);
  CHECK(summary->image_count == kItems);
}

TEST_CASE("a model that a device has no room for is refused with how much it takes") {
  Rig rig;
  rig.UseDevice(std::make_shared<const kernels::HostStackDevices>());
  rig.config().place.device_memory_limit = 1000;
  const absl::Status refused = rig.Run().status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("bytes of device 0, of which 1000 may be used"));
}

}  // namespace
}  // namespace sightline
