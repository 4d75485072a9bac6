// A follower over a store of small generations, with a host that does as it is told.
#ifndef SIGHTLINE_TESTS_COMMON_GENERATIONS_FOLLOWER_RIG_H_
#define SIGHTLINE_TESTS_COMMON_GENERATIONS_FOLLOWER_RIG_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/publication.h"
#include "common/generations/generation_follower.h"
#include "common/generations/generation_table.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Holds names.  What it says of a generation is set by the test.
class FakeHost : public GenerationHost {
 public:
  explicit FakeHost(std::string store) : store_(std::move(store)) {}

  std::vector<std::string> Files(const Manifest& manifest) const override {
    return {JoinPath(GenerationDirectory(store_, manifest.index(), manifest.generation()),
                     manifest.shards(0).vectors().path())};
  }
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override {
    std::set<std::string> names;
    for (const Manifest* manifest : generations) names.insert(manifest->generation());
    return 100 * static_cast<int64_t>(names.size());
  }
  absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      absl::Span<const Manifest* const> generations) override {
    if (!device.ok()) return device.status();
    return std::vector<device::DeviceFootprint>{{3, *Footprint(generations), *device}};
  }
  absl::Status Verify(const Manifest& manifest, const CallContext&) override {
    verified.push_back(manifest.generation());
    if (during_verify != nullptr) during_verify();
    const auto bad = verify.find(manifest.generation());
    return bad == verify.end() ? absl::OkStatus() : bad->second;
  }
  absl::Status Check(const Manifest&) override {
    if (during_check != nullptr) during_check();
    return absl::OkStatus();
  }
  void Distrust(const Manifest& manifest) override {
    distrusted.push_back(manifest.generation());
    if (during_distrust != nullptr) during_distrust();
  }
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool already_verified,
                              const CallContext& call) override {
    if (!already_verified) {
      const absl::Status sound = Verify(manifest, call);
      if (!sound.ok()) return sound;
    }
    loaded.push_back(manifest.generation());
    if (during_load != nullptr) during_load(call);
    const auto bad = load.find(manifest.generation());
    if (bad != load.end()) return bad->second;
    return Loaded{std::make_shared<std::string>(manifest.generation()), nullptr};
  }

  absl::StatusOr<int64_t> device = INT64_MAX;  // what may be used of it
  std::map<std::string, absl::Status> verify, load;
  std::vector<std::string> verified, loaded, distrusted;
  std::function<void(const CallContext& call)> during_load;
  std::function<void()> during_check, during_verify, during_distrust;

 private:
  const std::string store_;
};

struct Rig {
  explicit Rig(int64_t memory_limit = INT64_MAX) : limit(memory_limit) { Restart(); }

  void Restart() {
    follower.reset();
    table = std::make_unique<GenerationTable>(&clock);
    host.verified.clear();
    host.loaded.clear();
    GenerationOptions options;
    options.store = store.path();
    if (source != nullptr) options.source = source;
    options.indexes = indexes;
    options.state_dir = state.path();
    options.memory_limit = limit;
    follower = std::make_unique<GenerationFollower>(options, &host, table.get(), &janitor, &metrics,
                                                    &clock, [this](bool serving) {
                                                      served.push_back(serving);
                                                      ready_calls += serving ? 1 : 0;
                                                    });
  }

  void Make(const std::string& generation) {
    const auto written = WriteTestGeneration(store.path(), generation, 4, 1);
    REQUIRE(written.ok());
  }
  void Publish(const std::string& generation) {
    REQUIRE(PublishGeneration(store.path(), "images", generation).ok());
  }
  void MakeAndPublish(const std::string& generation) {
    Make(generation);
    Publish(generation);
  }
  // What the follower's thread does, `after` a while.
  void Pass(absl::Duration after = absl::ZeroDuration()) {
    clock.Advance(after);
    follower->Pass();
  }
  absl::optional<HeldGeneration> Get(const std::string& generation) {
    return table->Get("images", generation);
  }
  bool Ready(const std::string& generation) {
    const auto entry = Get(generation);
    return entry.has_value() && entry->state == HoldState::kReady;
  }
  // A request meets trouble with a file of what is held.
  void Fail(const std::string& generation, const absl::Status& why,
            const std::string& index = "images") {
    const auto entry = table->Get(index, generation);
    table->Fail(index, generation, entry->held.get(), why);
  }
  // "READY", "LOADING", "", or why it was refused.
  std::string State(const std::string& generation, const std::string& index = "images") {
    const auto entry = table->Get(index, generation);
    if (!entry.has_value()) return "";
    if (entry->state == HoldState::kReady) return "READY";
    if (entry->state == HoldState::kLoading) return "LOADING";
    const auto reason = GetReason(entry->refusal);
    return reason.has_value() ? reason->reason : absl::StatusCodeToString(entry->refusal.code());
  }

  // The same of an index whose generations are the images' but for the name.
  void MakeAndPublishCaptions(const std::string& generation) {
    Make(generation);
    const std::string images = GenerationDirectory(store.path(), "images", generation);
    const std::string captions = GenerationDirectory(store.path(), "captions", generation);
    auto manifest = *ReadGenerationManifest(store.path(), "images", generation);
    manifest.set_index("captions");
    REQUIRE(
        MakeDirectories(JoinPath(IndexDirectory(store.path(), "captions"), "generations")).ok());
    REQUIRE(::rename(images.c_str(), captions.c_str()) == 0);
    REQUIRE(WriteFileAtomically(JoinPath(captions, "manifest.json"), ManifestJson(manifest)).ok());
    REQUIRE(PublishGeneration(store.path(), "captions", generation).ok());
  }
  std::string CurrentPath() { return JoinPath(IndexDirectory(store.path(), "images"), "CURRENT"); }
  // Lets the watch of a load have a look; for what runs during the load.
  void LetWatchLook() {
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(1));
    clock.AwaitSleepers(1);
  }

  std::vector<std::string> indexes = {"images"};
  TempDir store, state;
  std::shared_ptr<GenerationSource> source;  // null: the folder is the store
  FakeClock clock;
  MetricsRegistry metrics;
  Janitor janitor;
  FakeHost host{store.path()};
  const int64_t limit;
  int ready_calls = 0;
  std::vector<bool> served;  // what the follower said, in order
  std::unique_ptr<GenerationTable> table;
  std::unique_ptr<GenerationFollower> follower;
};

inline const absl::Status kDamaged = MakeError(reasons::kChecksumMismatch, "damaged");
inline const absl::Status kUnreadable =
    MakeError(reasons::kReadFailed, "read /store/file: Input/output error");

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_GENERATIONS_FOLLOWER_RIG_H_
