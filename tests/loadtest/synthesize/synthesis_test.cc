#include "loadtest/synthesize/synthesis.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/publication.h"
#include "common/bundle/store_lock.h"
#include "common/bundle/verify.h"
#include "common/index/shard_view.h"
#include "common/index/vector_index.h"
#include "loadtest/synthesize/synthetic_shard.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

constexpr int kDimension = 21;  // rows need padding

SynthesisOptions Options(const TempDir& store) {
  SynthesisOptions options;
  options.store = store.path();
  options.index = "images";
  options.items = 5000;
  options.shards = 3;
  options.vectors.dimension = kDimension;
  return options;
}

absl::StatusOr<SynthesisSummary> Run(const SynthesisOptions& options, int threads = 2,
                                     const CallContext& call = CallContext::Unbounded()) {
  const absl::StatusOr<SynthesisPlan> plan = PlanSynthesis(options);
  if (!plan.ok()) return plan.status();
  ComputePool pool(threads);
  Progress progress(Progress::Options(), Clock::Real());
  return Synthesize(*plan, call, &pool, &progress);
}

GenerationManifest ReadManifest(const TempDir& store, const std::string& generation) {
  const auto manifest = ReadGenerationManifest(store.path(), "images", generation);
  INFO(manifest.status());
  REQUIRE(manifest.ok());
  return *manifest;
}

std::unique_ptr<ShardVectors> OpenVectors(const TempDir& store, const GenerationManifest& manifest,
                                          int shard) {
  const std::string directory =
      GenerationDirectory(store.path(), manifest.index(), manifest.generation());
  auto vectors = ShardVectors::Open(JoinPath(directory, manifest.shards(shard).vectors().path()),
                                    manifest.shards(shard), manifest.embedding().dimension());
  REQUIRE(vectors.ok());
  REQUIRE((*vectors)->Load(CallContext::Unbounded()).ok());
  return *std::move(vectors);
}

TEST_CASE("equal options give equal files, whatever the threads") {
  TempDir one, other;
  REQUIRE(Run(Options(one), 1).ok());
  REQUIRE(Run(Options(other), 3).ok());
  const std::vector<std::string> files = *ListFilesBelow(one.path());
  REQUIRE(files == *ListFilesBelow(other.path()));
  REQUIRE(files.size() == 10);  // CURRENT, lock, manifest, synthesis.json; of three shards, two
  for (const std::string& file : files) {
    REQUIRE(*Sha256HexOfFile(one.File(file)) == *Sha256HexOfFile(other.File(file)));
  }
}

TEST_CASE("all that decides the content decides the generation's name") {
  TempDir store;
  const SynthesisOptions options = Options(store);
  std::vector<SynthesisOptions> others(6, options);
  others[0].vectors.seed = 7;
  others[1].items = 5001;
  others[2].shards = 2;
  others[3].vectors.shape.items.exponents[1] = 0.6;
  others[4].vectors.clusters = 3;
  others[5].vectors.dimension = 22;
  std::vector<std::string> names = {PlanSynthesis(options)->options.generation};
  for (const SynthesisOptions& other : others) {
    names.push_back(PlanSynthesis(other)->options.generation);
  }
  std::sort(names.begin(), names.end());
  REQUIRE(std::unique(names.begin(), names.end()) == names.end());
}

TEST_CASE("what was made passes the verification of a server") {
  TempDir store;
  const auto summary = Run(Options(store));
  REQUIRE(summary.ok());
  const GenerationManifest manifest = ReadManifest(store, summary->generation);
  VerifyOptions verify;
  verify.sha256 = true;
  VerifySummary verified;
  REQUIRE(
      VerifyGeneration(store.path(), manifest, verify, CallContext::Unbounded(), &verified).ok());
  REQUIRE(verified.files_read == 6);
  REQUIRE(verified.bytes_read == summary->byte_count);
  REQUIRE(manifest.item_count() == 5000);
  REQUIRE(manifest.reranker_model().empty());
  // The estimate, by which a disk is found too small, is near and on the safe side.
  const int64_t estimate = PlanSynthesis(Options(store))->byte_count;
  REQUIRE(estimate > summary->byte_count);
  REQUIRE(estimate < 1.2 * static_cast<double>(summary->byte_count));
}

TEST_CASE("an index is built as it is asked for, and is part of what names the generation") {
  TempDir store;
  SynthesisOptions options = Options(store);
  options.items = 800;
  options.vector_dtype = Dtype::kFloat16;
  const std::string plain = PlanSynthesis(options)->options.generation;
  options.index_wish.spec.set_kind("hnsw");
  options.index_wish.spec.set_seed(1);
  const auto summary = Run(options);
  REQUIRE(summary.ok());
  REQUIRE(summary->generation != plain);
  const GenerationManifest manifest = ReadManifest(store, summary->generation);
  REQUIRE(manifest.index_spec().kind() == "hnsw");
  REQUIRE(manifest.vector_dtype() == "float16");
  REQUIRE(manifest.recall_probe().query_count() == 512);
  REQUIRE(manifest.shards(0).efforts_size() > 0);
  REQUIRE(VerifyGeneration(store.path(), manifest, {}).ok());
  REQUIRE(Run(options)->already_there);
}

TEST_CASE("the items are those that the numbers say, in their shards") {
  TempDir store;
  const auto summary = Run(Options(store));
  const GenerationManifest manifest = ReadManifest(store, summary->generation);
  VectorSpec spec = PlanSynthesis(Options(store))->options.vectors;
  const SyntheticVectors vectors(spec);
  for (const uint32_t item : {0u, 17u, 4999u}) {
    const std::string id = SyntheticItemId(item);
    const auto shard = OpenVectors(store, manifest, ShardOf(id, 3));
    const int64_t row = shard->Find(id);
    REQUIRE(row >= 0);
    std::vector<float> expected(kDimension);
    vectors.Fill({item}, expected.data());
    REQUIRE(StoredEmbedding(*shard, row) == expected);
    REQUIRE(absl::StrContains(shard->Record(row)->caption, absl::StrCat("item ", item, " ")));
  }
}

TEST_CASE("a search over it finds what comparing with every item finds") {
  TempDir store;
  const auto summary = Run(Options(store));
  const GenerationManifest manifest = ReadManifest(store, summary->generation);
  VectorSpec spec = PlanSynthesis(Options(store))->options.vectors;
  const SyntheticVectors vectors(spec);
  std::vector<uint32_t> numbers(5000);
  for (uint32_t i = 0; i < 5000; ++i) numbers[i] = i;
  std::vector<float> all(5000 * kDimension);
  vectors.Fill(numbers, all.data());

  ComputePool pool(2);
  for (const uint32_t asked : {3u, 1234u}) {
    EmbeddingMatrix query(1, kDimension);
    vectors.Fill({asked}, query.mutable_data());
    std::vector<std::pair<double, std::string>> expected;
    for (const uint32_t item : numbers) {
      double score = 0;
      for (int k = 0; k < kDimension; ++k) {
        score += static_cast<double>(query.data()[k]) * all[item * kDimension + k];
      }
      expected.emplace_back(-score, SyntheticItemId(item));
    }
    std::sort(expected.begin(), expected.end());

    std::vector<std::pair<double, std::string>> found;
    for (int shard = 0; shard < 3; ++shard) {
      const auto opened = OpenVectors(store, manifest, shard);
      const auto index = OpenFlatIndex(ViewOf(*opened), &pool);
      const auto neighbors = (*index)->Search(query, {10}, CallContext::Unbounded());
      for (const Neighbor& neighbor : neighbors->at(0)) {
        found.emplace_back(-neighbor.score, std::string(opened->item_id(neighbor.row)));
      }
    }
    std::sort(found.begin(), found.end());
    REQUIRE(found[0].second == SyntheticItemId(asked));
    for (int k = 0; k < 10; ++k) {
      REQUIRE(found[k].second == expected[k].second);
      REQUIRE(found[k].first == Approx(expected[k].first).margin(1e-6));
    }
  }
}

TEST_CASE("the probes are queries about items, not items") {
  TempDir store;
  const auto summary = Run(Options(store));
  const GenerationManifest manifest = ReadManifest(store, summary->generation);
  const std::string directory =
      GenerationDirectory(store.path(), manifest.index(), manifest.generation());
  const auto probes =
      ReadProbes(JoinPath(directory, manifest.shards(0).probes().path()), manifest, 0);
  REQUIRE(probes.ok());
  REQUIRE(probes->queries.rows() == manifest.recall_probe().query_count());
  const SyntheticVectors vectors(PlanSynthesis(Options(store))->options.vectors);
  for (int64_t i = 0; i < probes->queries.rows(); ++i) {
    const auto item = static_cast<uint32_t>(i * 5000 / probes->queries.rows());
    std::vector<float> expected(kDimension);
    vectors.FillQueries({item}, expected.data());
    REQUIRE(std::equal(expected.begin(), expected.end(), probes->queries.row(i).begin()));
  }
}

TEST_CASE("the generation is published, and made only once") {
  TempDir store;
  const auto first = Run(Options(store));
  REQUIRE(first->published);
  REQUIRE_FALSE(first->already_there);
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  const auto again = Run(Options(store));
  REQUIRE(again->already_there);
  REQUIRE_FALSE(again->published);
  REQUIRE(again->byte_count == first->byte_count);
  REQUIRE(ReadCurrent(store.path(), "images")->sequence() == 1);

  SynthesisOptions next = Options(store);
  next.vectors.seed = 2;
  next.publish = false;
  const auto second = Run(next);
  REQUIRE_FALSE(second->published);
  REQUIRE(ReadCurrent(store.path(), "images")->generation() == first->generation);
  REQUIRE(ReadManifest(store, second->generation).parent_generation() == first->generation);
}

TEST_CASE("what another process is writing is left to it") {
  TempDir store;
  const SynthesisPlan plan = *PlanSynthesis(Options(store));
  const std::string directory =
      GenerationDirectory(store.path(), "images", plan.options.generation);
  REQUIRE(MakeDirectories(JoinPath(directory, "shards")).ok());
  const std::string half = JoinPath(directory, "shards/half.1.0.tmp");
  REQUIRE(WriteFileAtomically(half, "somebody's").ok());
  {
    const auto lock = LockGeneration(directory);
    REQUIRE(lock.ok());
    const absl::Status refused = Run(Options(store)).status();
    REQUIRE(absl::IsAborted(refused));
    REQUIRE(FileExists(half));
  }
  // Who had it is gone; what it left half is no part of what is made now.
  REQUIRE(Run(Options(store)).ok());
  REQUIRE_FALSE(FileExists(half));
}

TEST_CASE("an index that cannot be built is refused before anything is written") {
  TempDir store;
  SynthesisOptions options = Options(store);
  options.index_wish.spec.set_kind("ivf");
  options.index_wish.spec.mutable_ivf()->set_code("bar");
  REQUIRE(absl::IsInvalidArgument(PlanSynthesis(options).status()));
  options.index_wish.spec.mutable_ivf()->set_code("rows");
  options.index_wish.spec.set_rows_on_disk(true);
  const absl::Status status = PlanSynthesis(options).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "rows_on_disk"));
  REQUIRE(ListDirectory(store.path())->empty());
}

TEST_CASE("a name that is taken by other content is refused") {
  TempDir store;
  SynthesisOptions options = Options(store);
  options.generation = "mine";
  REQUIRE(Run(options).ok());
  REQUIRE(Run(options)->already_there);
  options.items = 10;
  const absl::Status status = Run(options).status();
  REQUIRE(absl::IsAlreadyExists(status));
  REQUIRE(absl::StrContains(status.message(), "another --generation"));
}

TEST_CASE("options that make no generation are refused with what to change") {
  TempDir store;
  const std::vector<std::pair<std::string, std::function<void(SynthesisOptions&)>>> changes = {
      {"--store", [](auto& o) { o.store.clear(); }},
      {"--index 'A B'", [](auto& o) { o.index = "A B"; }},
      {"--items is 0", [](auto& o) { o.items = 0; }},
      {"--items is 1000000001", [](auto& o) { o.items = 1'000'000'001; }},
      {"--shards is 0", [](auto& o) { o.shards = 0; }},
      {"--clusters is -2", [](auto& o) { o.vectors.clusters = -2; }},
      {"--dimension is 5000", [](auto& o) { o.vectors.dimension = 5000; }},
      {"give --dimension, or --encoder-model", [](auto& o) { o.vectors.dimension = 0; }},
      {"--regions 4 are for a reranker", [](auto& o) { o.regions = 4; }},
      {"--encoder-model 'x' is no bundle's id", [](auto& o) { o.encoder_model = "x"; }},
      {"--generation '../up'", [](auto& o) { o.generation = "../up"; }},
  };
  for (const auto& [problem, change] : changes) {
    SynthesisOptions options = Options(store);
    change(options);
    const absl::Status status = PlanSynthesis(options).status();
    CAPTURE(problem, std::string(status.message()));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), problem));
  }
  SynthesisOptions options = Options(store);
  options.reranker_model = Sha256Hex("nobody");
  const absl::Status status = PlanSynthesis(options).status();
  REQUIRE(absl::IsNotFound(status));
  REQUIRE(absl::StrContains(status.message(), "init-model"));
}

TEST_CASE("a disk that is too small is told of before anything is written") {
  TempDir store;
  SynthesisOptions options = Options(store);
  options.items = kMostSyntheticItems;
  options.vectors.dimension = 4096;  // 16 TB
  const absl::Status status = Run(options).status();
  REQUIRE(absl::IsResourceExhausted(status));
  REQUIRE(absl::StrContains(status.message(), "fewer --items"));
  REQUIRE(ListDirectory(store.path())->empty());
}

TEST_CASE("a run that is stopped leaves nothing behind") {
  TempDir store;
  const auto cancellation = std::make_shared<Cancellation>();
  cancellation->Cancel();
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), cancellation);
  REQUIRE(absl::IsCancelled(Run(Options(store), 2, call).status()));
  REQUIRE(ListFilesBelow(store.path())->empty());
}

}  // namespace
}  // namespace sightline
