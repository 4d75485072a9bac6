// Files of every kind of index that are not what was built: refused, or harmless.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 300;
constexpr int kDimension = 32;

ComputePool& Pool() {
  static ComputePool* const pool = new ComputePool(2);
  return *pool;
}

// Calls `test` with each kind that is built, and a place for its rows.
void ForEachBuiltShard(
    const std::function<void(const KindCase&, KindShard&, const GappedRows&)>& test) {
  const GappedRows rows(ClusteredRows(kRows, kDimension, 1), Dtype::kFloat16);
  for (const KindCase& kind_case : KindCases()) {
    KindShard shard(kind_case, rows.view());
    if (shard.kind().build == nullptr || !shard.Fits()) continue;
    INFO(kind_case.name);
    REQUIRE(shard.Build(&Pool()).ok());
    test(kind_case, shard, rows);
  }
}

// Whether the shard as its files are now is refused as one that is damaged.
bool IsRefused(const KindShard& shard, const VectorView& rows) {
  const auto index = shard.Open(rows, &Pool());
  INFO(index.status().ToString());
  if (index.ok()) return false;
  REQUIRE((HasReason(index.status(), reasons::kContentInvalid) ||
           HasReason(index.status(), reasons::kChecksumMismatch) ||
           HasReason(index.status(), reasons::kNewerFormat)));
  return true;
}

// That it is refused, or what it finds are rows that there are, with their scores.
void RequireHarmless(const KindCase& kind_case, const KindShard& shard, const GappedRows& rows) {
  if (IsRefused(shard, rows.view())) return;
  const auto index = shard.Open(rows.view(), &Pool());
  const EmbeddingMatrix queries = QueriesNear(ClusteredRows(kRows, kDimension, 1), 2, 2);
  for (const int effort : {kind_case.effort, limits::kMaxEffort}) {
    SearchOptions options;
    options.top_k = 20;
    options.effort = effort;
    REQUIRE(IsSound(Find(**index, queries, options), rows.view(), queries, options));
  }
}

TEST_CASE("a file that is cut anywhere is refused") {
  ForEachBuiltShard([](const KindCase&, KindShard& shard, const GappedRows& rows) {
    for (const std::string& path : shard.Files()) {
      const std::string sound = *ReadFile(path);
      std::vector<size_t> lengths = {0, 1, 39, 40, 41, sound.size() - 1};
      for (size_t i = 1; i < 30; ++i) lengths.push_back(sound.size() * i / 30);
      for (const size_t length : lengths) {
        INFO("cut to " << length << " bytes");
        Overwrite(path, sound.substr(0, length));
        REQUIRE(IsRefused(shard, rows.view()));
      }
      Overwrite(path, sound);
    }
  });
}

TEST_CASE("a file with a bit flipped is refused, or it was one that means nothing") {
  std::mt19937 random(3);
  ForEachBuiltShard([&](const KindCase& kind_case, KindShard& shard, const GappedRows& rows) {
    for (const std::string& path : shard.Files()) {
      const std::string sound = *ReadFile(path);
      for (int round = 0; round < 100; ++round) {
        std::string damaged = sound;
        const size_t at = round < 40 ? round : random() % sound.size();
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8);
        INFO("bit flipped in byte " << at);
        Overwrite(path, damaged);
        RequireHarmless(kind_case, shard, rows);
      }
      Overwrite(path, sound);
    }
  });
}

TEST_CASE("a file that lies under right checksums is refused or harmless") {
  std::mt19937 random(4);
  constexpr uint32_t kLies[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0x10000};
  ForEachBuiltShard([&](const KindCase& kind_case, KindShard& shard, const GappedRows& rows) {
    for (const std::string& path : shard.Files()) {
      const std::string sound = *ReadFile(path);
      for (int round = 0; round < 200; ++round) {
        std::string lying = sound;
        // Behind the table, whose own lies the container's tests tell.
        const size_t begin = 4096;
        const size_t at = begin + random() % ((sound.size() - begin) / 4) * 4;
        if (round % 2 == 0) {
          PatchNumber(kLies[random() % std::size(kLies)], at, &lying);
        } else {
          lying[at] = static_cast<char>(random());
        }
        RepairChecksums(&lying);
        INFO("a lie at byte " << at);
        Overwrite(path, lying);
        RequireHarmless(kind_case, shard, rows);
      }
      Overwrite(path, sound);
    }
  });
}

TEST_CASE("files of other rows are refused, and so are more of them, or fewer") {
  ForEachBuiltShard([](const KindCase& kind_case, KindShard& shard, const GappedRows&) {
    for (const auto& [count, dimension] :
         {std::pair(kRows - 1, kDimension), {kRows + 1, kDimension}, {kRows, 2 * kDimension}}) {
      const GappedRows others(ClusteredRows(count, dimension, 1), Dtype::kFloat16);
      INFO(count << " rows of " << dimension);
      KindShard other(kind_case, others.view());
      REQUIRE(other.Build(&Pool()).ok());
      for (size_t i = 0; i < shard.Files().size(); ++i) {
        Overwrite(other.Files()[i], *ReadFile(shard.Files()[i]));
      }
      REQUIRE(IsRefused(other, others.view()));
    }
    auto& described = *shard.mutable_manifest()->mutable_shards(0);
    const auto files = described.index_files();
    const GappedRows rows(ClusteredRows(kRows, kDimension, 1), Dtype::kFloat16);
    described.clear_index_files();
    REQUIRE(IsRefused(shard, rows.view()));
    *described.mutable_index_files() = files;
    *described.add_index_files() = files[0];
    REQUIRE(IsRefused(shard, rows.view()));
    described.mutable_index_files()->RemoveLast();
    REQUIRE(!IsRefused(shard, rows.view()));
  });
}

}  // namespace
}  // namespace sightline
