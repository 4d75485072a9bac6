// A feature file that is much larger than the memory that encoding it takes.
//
// SIGHTLINE_REGION_MEGABYTES sets its size (default 500).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/dataset/region_file.h"
#include "loadtest/fleet/process.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kFeatureSize = 2048;
constexpr int kRegions = 36;
constexpr int64_t kItemBytes = int64_t{kRegions} * kFeatureSize * 2;  // as float16
constexpr int64_t kMega = 1'000'000;

int64_t FileMegabytes() {
  int64_t megabytes = 500;
  const char* const given = std::getenv("SIGHTLINE_REGION_MEGABYTES");
  if (given != nullptr) REQUIRE(absl::SimpleAtoi(given, &megabytes));
  return megabytes;
}

// Regions that no two items have alike.
RegionFileItem ItemOf(int64_t i) {
  RegionFileItem item;
  item.line.id = absl::StrCat("item/", i);
  item.line.captions = {{"en", "a red fish"}};
  item.regions.count = kRegions;
  item.regions.feature_size = kFeatureSize;
  item.regions.features.assign(kRegions * kFeatureSize, 0.25f);
  for (int k = 0; k < 64; ++k) {
    item.regions.features[k * 997 % kFeatureSize] = static_cast<float>((i >> (k % 16)) % 7 - 3);
  }
  for (int row = 0; row < kRegions; ++row) {
    item.regions.boxes.insert(item.regions.boxes.end(), {0.25f, 0, 0.75f, 0.5f});
  }
  return item;
}

// Private memory of a process in bytes; 0 when it is gone.
int64_t AnonymousBytes(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  while (status >> word) {
    int64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

TEST_CASE("a large feature file is encoded in the memory of the weights and 300 MB") {
  const TempDir directory;
  const std::string store = directory.File("store");
  REQUIRE(MakeDirectories(store).ok());
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.clear_grid_extractor();
  manifest.mutable_transformer()->set_region_feature_size(kFeatureSize + 6);
  manifest.mutable_transformer()->set_max_region_count(kRegions);
  const ModelBundle model = MakeBundle(store, manifest);
  const int64_t weights = *FileSize(model.FilePath("weights.safetensors"));

  const int64_t count = FileMegabytes() * kMega / kItemBytes;
  const std::string features = directory.File("features.regions");
  REQUIRE(WriteRegionFile(features, count, Dtype::kFloat16, ItemOf).ok());
  REQUIRE(*FileSize(features) > count * kItemBytes);

  const std::string log = directory.File("log");
  const auto job =
      Process::Start({"services/corpus_encoder/corpus_encoder", "--store", store, "--model",
                      model.id, "--corpus", absl::StrCat("regions:", features), "--threads", "2"},
                     log);
  REQUIRE(job.ok());
  int64_t peak = 0;
  // It is looked at two hundred times a second; a unit takes longer than that.
  while (!(*job)->Wait(absl::Now() + absl::Milliseconds(5)).has_value()) {
    peak = std::max(peak, AnonymousBytes((*job)->pid()));
  }
  INFO(EndOfLog(log, 20));
  REQUIRE(*(*job)->exit_status() == 0);
  std::fprintf(stderr, "%ld items, %ld MB of features, weights of %ld kB: RssAnon %ld MB\n",
               static_cast<long>(count), static_cast<long>(count * kItemBytes / kMega),
               static_cast<long>(weights / 1000), static_cast<long>(peak / kMega));
  REQUIRE(peak > 10 * kMega);  // it was seen
  REQUIRE(peak <= weights + 300 * kMega);
}

}  // namespace
}  // namespace sightline
