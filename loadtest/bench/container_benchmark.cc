// Opening a generation's files, and verifying them as a server does before it serves.
//
// memory_share is of the bandwidth of all cores; verifying reads with one.  Opening reads the
// header and the item ids, a small part of the file, so there are no bytes to take a share of.
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/verify.h"
#include "loadtest/bench/bench_main.h"
#include "loadtest/synthesize/synthesis.h"

namespace sightline {
namespace {

constexpr char kIndex[] = "bench";

// A generation in a folder of its own, which goes with the process.
class Store {
 public:
  Store() {
    const char* const base = std::getenv("TMPDIR");
    path_ = JoinPath(base != nullptr ? base : "/tmp", "sightline-bench-XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) {
      status_ = absl::UnavailableError("cannot make a folder; is there room in $TMPDIR?");
      return;
    }
    status_ = Make();
  }
  ~Store() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const absl::Status& status() const { return status_; }
  const std::string& path() const { return path_; }
  const bundle::v1::GenerationManifest& manifest() const { return manifest_; }

 private:
  absl::Status Make() {
    SynthesisOptions options;
    options.store = path_;
    options.index = kIndex;
    options.items = 50'000;  // 154 MB
    options.vectors.dimension = 768;
    ASSIGN_OR_RETURN(const SynthesisPlan plan, PlanSynthesis(options));
    Progress progress(Progress::Options(), Clock::Real());
    ASSIGN_OR_RETURN(const SynthesisSummary made,
                     Synthesize(plan, CallContext::Unbounded(), &BenchPool(), &progress));
    ASSIGN_OR_RETURN(manifest_, ReadGenerationManifest(path_, kIndex, made.generation));
    return absl::OkStatus();
  }

  std::string path_;
  absl::Status status_;
  bundle::v1::GenerationManifest manifest_;
};

const Store& TheStore() {
  static const Store store;
  return store;
}

void OpenVectors(benchmark::State& state) {
  const Store& store = TheStore();
  if (!store.status().ok()) return state.SkipWithError(store.status().ToString().c_str());
  const auto& shard = store.manifest().shards(0);
  const std::string path =
      JoinPath(GenerationDirectory(store.path(), kIndex, store.manifest().generation()),
               shard.vectors().path());
  Rounds rounds(&state, [&] {
    return ShardVectors::Open(path, shard, store.manifest().embedding().dimension()).status();
  });
  rounds.Items("files_per_second", 1);
}
BENCHMARK(OpenVectors)->UseRealTime()->Unit(benchmark::kMicrosecond);

void Verify(benchmark::State& state) {
  const Store& store = TheStore();
  if (!store.status().ok()) return state.SkipWithError(store.status().ToString().c_str());
  VerifyOptions options;
  options.sha256 = state.range(0) != 0;
  VerifySummary summary;
  Rounds rounds(&state, [&] {
    return VerifyGeneration(store.path(), store.manifest(), options, CallContext::Unbounded(),
                            &summary);
  });
  rounds.Bytes(static_cast<double>(summary.bytes_read), Peak().read_bytes);
}
BENCHMARK(Verify)->ArgName("sha256")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sightline
