#include "common/indexing/make_index.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/manifest.h"
#include "common/bundle/verify.h"
#include "common/index/index_builder.h"
#include "common/index/index_kinds.h"
#include "common/index/probe_queries.h"
#include "common/indexing/index_report.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Rig {
  Rig() {
    manifest = *WriteTestGeneration(store.path(), "g1", 80, 2);
    directory = GenerationDirectory(store.path(), "images", "g1");
  }
  absl::Status Make(const IndexWish& wish) {
    const QuerySource queries = [this](int count) {
      ++asked;
      return ProbeQueries(directory, {manifest.shards().begin(), manifest.shards().end()},
                          kTestDimension, count);
    };
    return MakeIndex(directory, wish, queries, {}, &pool, CallContext::Unbounded(), nullptr,
                     &manifest);
  }
  nlohmann::json Report() const {
    return nlohmann::json::parse(*ReadFile(JoinPath(directory, kReportFile)));
  }

  TempDir store;
  std::string directory;
  bundle::v1::GenerationManifest manifest;
  ComputePool pool{2};
  int asked = 0;
};

TEST_CASE("without a wish a generation is probed, and has no report") {
  Rig rig;
  REQUIRE(rig.Make({}).ok());
  CHECK(!rig.manifest.has_index_spec());
  CHECK(rig.manifest.recall_probe().query_count() == 64);
  CHECK(rig.manifest.recall_probe().floor() == 0.99);
  CHECK(!FileExists(JoinPath(rig.directory, kReportFile)));
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
}

TEST_CASE("a kind is built as it is said, what is left open filled in, and reported") {
  Rig rig;
  IndexWish wish;
  wish.spec.set_kind("hnsw");
  REQUIRE(rig.Make(wish).ok());
  CHECK(rig.manifest.index_spec().hnsw().link_count() == 16);
  CHECK(rig.manifest.recall_probe().neighbor_count() == 100);
  CHECK(rig.manifest.recall_probe().floor() > 0.5);
  CHECK(CheckGenerationManifest(rig.manifest).ok());
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
  const nlohmann::json report = rig.Report();
  CHECK(report["spec"]["kind"] == "hnsw");
  CHECK(report["shards"].size() == 2);
  CHECK(report["shards"][0]["memory_bytes"].get<int64_t>() > 0);
  CHECK(report["shards"][0]["efforts"].size() ==
        static_cast<size_t>(rig.manifest.shards(0).efforts_size()));
  CHECK(!report.contains("choice"));
  const std::string page = *ReadFile(JoinPath(rig.directory, kReportPage));
  CHECK(absl::StrContains(page, "Recall over time"));
  CHECK(absl::StrContains(page, "hnsw rows, 16 links"));
  CHECK(!absl::StrContains(page, "Tried"));
}

TEST_CASE("a target is chosen for, and the report says what was tried and why") {
  Rig rig;
  IndexWish wish;
  wish.target = IndexTarget();
  wish.target->recall = 0.9;
  REQUIRE(rig.Make(wish).ok());
  CHECK(rig.asked == 2);
  const nlohmann::json report = rig.Report();
  const nlohmann::json& choice = report["choice"];
  CHECK(choice["target"]["recall"] == 0.9);
  CHECK(choice["sample_rows"] == choice["shard_rows"]);
  REQUIRE(choice["tried"].size() > 1);
  const nlohmann::json& chosen = choice["tried"][choice["chosen"].get<int>()];
  CHECK(chosen["verdict"] == "chosen");
  CHECK(chosen["spec"]["kind"] == rig.manifest.index_spec().kind());
  CHECK(rig.manifest.index_spec().default_recall() == 0.9);
  CHECK(absl::StrContains(*ReadFile(JoinPath(rig.directory, kReportPage)), "<td>chosen</td>"));
  REQUIRE(RemoveIndexWork(rig.directory).ok());
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
}

TEST_CASE("memory that is too little ends it before queries are asked for") {
  Rig rig;
  IndexWish wish;
  wish.spec.set_kind("hnsw");
  wish.max_bytes = 1;
  CHECK(absl::IsResourceExhausted(rig.Make(wish)));
  CHECK(rig.asked == 0);
}

}  // namespace
}  // namespace sightline
