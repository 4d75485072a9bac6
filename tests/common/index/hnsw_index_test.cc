// What is kind "hnsw"'s own: how well its walks find, when it scans instead, and what it refuses.
// What it shares with all kinds is tested by kinds_suite_test and its neighbors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 8000;
constexpr int kDimension = 32;

ComputePool& Pool() {
  static ComputePool* const pool = new ComputePool(2);
  return *pool;
}

std::string SpecText(const std::string& code, int link_count) {
  return absl::StrCat("kind: 'hnsw' seed: 5 hnsw { link_count: ", link_count,
                      " build_effort: 60 code: '", code, "'",
                      code == "rows" ? " }" : " refine: 4 }");
}

// A shard that is built, and its index.
struct Built {
  Built(const VectorView& view, const std::string& code, int link_count = 8)
      : spec(SpecText(code, link_count)), shard({"hnsw", spec.c_str()}, view) {
    REQUIRE(shard.Build(&Pool()).ok());
    auto opened = shard.Open(&Pool());
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    index = *std::move(opened);
  }

  const std::string spec;
  KindShard shard;
  std::unique_ptr<VectorIndex> index;
};

SearchOptions Options(int top_k, int effort, const RowSet* among = nullptr) {
  SearchOptions options;
  options.top_k = top_k;
  options.effort = effort;
  options.among = among;
  return options;
}

// Of 64 rows `share` are in, at random.
RowSet RandomRows(int64_t rows, int share) {
  std::mt19937 random(11);
  std::vector<int64_t> in;
  for (int64_t row = 0; row < rows; ++row) {
    if (static_cast<int>(random() % 64) < share) in.push_back(row);
  }
  return BitsOf(in, rows);
}

TEST_CASE("a walk finds nearly all of the nearest rows, and more of them the wider it is") {
  struct Case {
    const char* code;
    Dtype dtype;
    bool on_disk;
  };
  const auto stored_as =
      GENERATE(Case{"rows", Dtype::kFloat32, false}, Case{"rows", Dtype::kFloat16, false},
               Case{"int8", Dtype::kFloat32, false}, Case{"int8", Dtype::kFloat16, true});
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const GappedRows rows(values, stored_as.dtype);
  const MemoryReader reader(rows.view());
  const Built built(stored_as.on_disk ? reader.view() : rows.view(), stored_as.code);
  const EmbeddingMatrix queries = QueriesNear(values, 50, 2);
  const NeighborLists truth = Referee(rows.view(), queries, 10);
  std::vector<double> recalls;
  for (const int effort : {1, 20, 160}) {
    const SearchOptions options = Options(10, effort);
    REQUIRE(!built.index->IsExact(options));
    const NeighborLists found = Find(*built.index, queries, options);
    REQUIRE(IsSound(found, rows.view(), queries, options));
    recalls.push_back(RecallOf(found, truth));
  }
  REQUIRE(recalls[0] < recalls[1]);
  REQUIRE(recalls[1] <= recalls[2]);
  REQUIRE(recalls[0] > 0.3);
  REQUIRE(recalls[2] > 0.9);
}

TEST_CASE("rows on a disk are read for the scores of what was found alone") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const GappedRows rows(values, Dtype::kFloat16);
  const MemoryReader reader(rows.view());
  const Built built(reader.view(), "int8");
  const int64_t read = reader.rows_read();
  Find(*built.index, QueriesNear(values, 5, 2), Options(10, 100));
  REQUIRE(reader.rows_read() - read == 5 * 40);
}

TEST_CASE("a search of about as many looks as rows is exact") {
  const auto code = GENERATE("rows", "int8");
  const EmbeddingMatrix values = ClusteredRows(3000, kDimension, 1);
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const EmbeddingMatrix queries = QueriesNear(values, 5, 2);
  REQUIRE(!built.index->IsExact(Options(20, 374)));
  REQUIRE(built.index->IsExact(Options(20, 375)));  // 8 links each
  REQUIRE(built.index->IsExact(Options(375, 1)));
  REQUIRE(
      SameLists(Find(*built.index, queries, Options(20, 375)), Referee(rows.view(), queries, 20)));
}

TEST_CASE("wide beams find what narrow ones do") {
  const EmbeddingMatrix values = ClusteredRows(12000, 16, 1);
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), "int8", 4);
  const EmbeddingMatrix queries = QueriesNear(values, 10, 2);
  const NeighborLists truth = Referee(rows.view(), queries, 300);
  REQUIRE(!built.index->IsExact(Options(300, 1025)));
  const double narrow = RecallOf(Find(*built.index, queries, Options(300, 1024)), truth);
  const double wide = RecallOf(Find(*built.index, queries, Options(300, 1025)), truth);
  REQUIRE(std::abs(wide - narrow) < 0.01);
  REQUIRE(wide > 0.97);
}

TEST_CASE("a filter's rows are found as well as all are without it, and no others") {
  const auto code = GENERATE("rows", "int8");
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const EmbeddingMatrix queries = QueriesNear(values, 100, 2);
  const double unfiltered =
      RecallOf(Find(*built.index, queries, Options(10, 12)), Referee(rows.view(), queries, 10));
  REQUIRE(unfiltered < 1);
  for (const int share : {32, 16, 8}) {
    const RowSet among = RandomRows(kRows, share);
    const SearchOptions options = Options(10, 12, &among);
    REQUIRE(!built.index->IsExact(options));
    const NeighborLists found = Find(*built.index, queries, options);
    REQUIRE(IsSound(found, rows.view(), queries, options));
    REQUIRE(RecallOf(found, Referee(rows.view(), queries, 10, &among)) >= unfiltered - 0.01);
  }
}

TEST_CASE("few rows of a filter are all looked at") {
  const auto code = GENERATE("rows", "int8");
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const EmbeddingMatrix queries = QueriesNear(values, 10, 2);
  const RowSet among = RandomRows(kRows, 6);
  REQUIRE(built.index->IsExact(Options(10, 24, &among)));
  REQUIRE(SameLists(Find(*built.index, queries, Options(10, 24, &among)),
                    Referee(rows.view(), queries, 10, &among)));
}

TEST_CASE("a filter's rows are scanned where a walk to them would not end") {
  const auto code = GENERATE("rows", "int8");
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const EmbeddingMatrix query = QueriesNear(values, 1, 2);
  // The half that lies farther from the query.
  const NeighborLists by_nearness = Referee(rows.view(), query, kRows);
  std::vector<int64_t> far;
  for (int64_t i = kRows / 2; i < kRows; ++i) far.push_back(by_nearness[0][i].row);
  const RowSet among = BitsOf(far, kRows);
  REQUIRE(!built.index->IsExact(Options(10, 24, &among)));
  REQUIRE(SameLists(Find(*built.index, query, Options(10, 24, &among)),
                    Referee(rows.view(), query, 10, &among)));
}

TEST_CASE("rows of very different lengths are found by their products") {
  EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const EmbeddingMatrix queries = QueriesNear(values, 40, 2);
  std::mt19937 random(3);
  for (int64_t row = 0; row < kRows; ++row) {
    const float length = 0.2f + static_cast<float>(random() % 1000) / 250;
    for (float& number : values.mutable_row(row)) number *= length;
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), GENERATE("rows", "int8"));
  REQUIRE(RecallOf(Find(*built.index, queries, Options(10, 100)),
                   Referee(rows.view(), queries, 10)) > 0.9);
}

TEST_CASE("lists are filled where most rows cannot be linked") {
  const auto code = GENERATE("rows", "int8");
  EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  for (int64_t row = 30; row < kRows; ++row) {
    for (float& number : values.mutable_row(row)) number *= 1e19f;
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const EmbeddingMatrix queries = QueriesNear(ClusteredRows(kRows, kDimension, 1), 5, 2);
  REQUIRE(!built.index->IsExact(Options(50, 50)));
  REQUIRE(
      SameLists(Find(*built.index, queries, Options(50, 50)), Referee(rows.view(), queries, 50)));
}

TEST_CASE("rows that are no numbers are never found by a walk and spoil no other") {
  const auto code = GENERATE("rows", "int8");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const EmbeddingMatrix queries = QueriesNear(values, 40, 2);
  std::vector<int64_t> good;
  for (int64_t row = 0; row < kRows; ++row) {
    const float bad[] = {std::nanf(""), kInfinity, -kInfinity, 3e38f, -2e38f};
    if (row % 5 != 0) {
      good.push_back(row);
    } else {
      values.mutable_row(row)[row % kDimension] = bad[row / 5 % 5];
    }
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const RowSet among = BitsOf(good, kRows);
  const NeighborLists found = Find(*built.index, queries, Options(10, 100));
  for (const auto& list : found) {
    REQUIRE(list.size() == 10);
    for (const Neighbor& one : list) REQUIRE(among.Contains(one.row));
  }
  REQUIRE(RecallOf(found, Referee(rows.view(), queries, 10, &among)) > 0.85);
}

TEST_CASE("a shard of nothing but NaN finds nothing") {
  EmbeddingMatrix values(700, 8);
  std::fill_n(values.mutable_data(), 700 * 8, std::nanf(""));
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), GENERATE("rows", "int8"), 4);
  REQUIRE(!built.index->IsExact(Options(5, 1)));
  REQUIRE(Find(*built.index, EmbeddingMatrix(2, 8), Options(5, 1))[1].empty());
}

TEST_CASE("among thousands of equal rows, those and the others are found") {
  const auto code = GENERATE("rows", "int8");
  EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const EmbeddingMatrix queries = QueriesNear(values, 40, 2);
  // Every other row is the first one.
  std::vector<int64_t> others;
  for (int64_t row = 0; row < kRows; ++row) {
    if (row % 2 == 1) {
      others.push_back(row);
    } else {
      std::copy_n(values.row(0).data(), kDimension, values.mutable_row(row).begin());
    }
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const Built built(rows.view(), code);
  const RowSet among = BitsOf(others, kRows);
  REQUIRE(!built.index->IsExact(Options(10, 100, &among)));
  REQUIRE(RecallOf(Find(*built.index, queries, Options(10, 100, &among)),
                   Referee(rows.view(), queries, 10, &among)) > 0.9);
  EmbeddingMatrix near(1, kDimension);
  std::copy_n(values.row(0).data(), kDimension, near.mutable_data());
  const NeighborLists equal = Find(*built.index, near, Options(100, 120));
  REQUIRE(equal[0].size() == 100);
  for (const Neighbor& one : equal[0]) REQUIRE(one.row % 2 == 0);
}

TEST_CASE("another seed gives another graph") {
  const GappedRows rows(ClusteredRows(500, kDimension, 1), Dtype::kFloat32);
  Built built(rows.view(), "int8");
  const auto content = built.shard.Contents();
  built.shard.mutable_manifest()->mutable_index_spec()->set_seed(6);
  REQUIRE(built.shard.Build(&Pool()).ok());
  REQUIRE(built.shard.Contents() != content);
}

TEST_CASE("memory is told to the byte, to search and to build in, and of lies to be beyond all") {
  const auto code = GENERATE("rows", "int8");
  for (const int64_t count : {0, 1, 7, 3000}) {
    const GappedRows rows(ClusteredRows(count, kDimension, 1), Dtype::kFloat32);
    Built built(rows.view(), code);
    const IndexKind& kind = built.shard.kind();
    REQUIRE(kind.footprint(built.shard.manifest(), 0) == built.index->byte_count());
    REQUIRE(kind.build_memory(built.shard.manifest(), 0, 1) > built.index->byte_count());
    auto& shard = *built.shard.mutable_manifest()->mutable_shards(0);
    for (const int64_t lie : {std::numeric_limits<int64_t>::max(), int64_t{-1}}) {
      shard.set_item_count(lie);
      REQUIRE(kind.footprint(built.shard.manifest(), 0) == std::numeric_limits<int64_t>::max());
      REQUIRE(kind.build_memory(built.shard.manifest(), 0, 1) ==
              std::numeric_limits<int64_t>::max());
    }
  }
}

TEST_CASE("parameters that are none are refused, with what they may be") {
  const GappedRows rows(ClusteredRows(1, kDimension, 1), Dtype::kFloat32);
  Built built(rows.view(), "int8");
  bundle::v1::IndexSpec* const spec = built.shard.mutable_manifest()->mutable_index_spec();
  const auto refusal = [&] {
    return std::string(built.shard.kind().check(*spec, kDimension).message());
  };
  REQUIRE(refusal().empty());
  spec->mutable_hnsw()->set_link_count(3);
  REQUIRE(absl::StrContains(refusal(), "link_count is 3; it must be from 4 to 128"));
  spec->mutable_hnsw()->set_link_count(16);
  spec->mutable_hnsw()->set_build_effort(2001);
  REQUIRE(absl::StrContains(refusal(), "build_effort is 2001; it must be from 8 to 2000"));
  spec->mutable_hnsw()->set_build_effort(100);
  spec->mutable_hnsw()->set_refine(0);
  REQUIRE(absl::StrContains(refusal(), "refine is 0; it must be from 1 to 1000"));
  spec->mutable_hnsw()->set_code("pq4");
  REQUIRE(absl::StrContains(refusal(), "code is 'pq4'; it must be 'rows' or 'int8'"));
  spec->mutable_hnsw()->set_code("rows");
  REQUIRE(refusal().empty());
  spec->mutable_hnsw()->set_refine(1);
  REQUIRE(refusal().empty());
  spec->mutable_hnsw()->set_refine(2);
  REQUIRE(absl::StrContains(refusal(), "refine is 2; code 'rows' scores each row"));
  spec->mutable_hnsw()->set_refine(0);
  spec->set_rows_on_disk(true);
  REQUIRE(absl::StrContains(refusal(), "needs the rows in memory"));
  spec->mutable_ivf();
  REQUIRE(absl::StrContains(refusal(), "needs the parameters hnsw"));
}

TEST_CASE("rows on a disk cannot be walked through") {
  const GappedRows rows(ClusteredRows(100, kDimension, 1), Dtype::kFloat32);
  const MemoryReader reader(rows.view());
  const Built built(rows.view(), "rows");
  const absl::Status status = built.shard.Open(reader.view(), &Pool()).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "code 'int8' leaves them on a disk"));
}

}  // namespace
}  // namespace sightline
