// Kind "hnsw" from a spec to answers, beside what scoring every row finds.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "tests/common/index/hnsw_shard.h"
#include "tests/support/catch.h"

namespace sightline {

inline bool operator==(const Neighbor& a, const Neighbor& b) {
  return a.row == b.row && a.score == b.score;
}

namespace {

const CallContext kCall = CallContext::Unbounded();

SearchOptions Options(int top_k, int effort, const RowSet* among = nullptr) {
  SearchOptions options;
  options.top_k = top_k;
  options.effort = effort;
  options.among = among;
  return options;
}

// Rows of which `share` of 64 are in.
RowSet EveryFew(int64_t rows, int share) {
  std::vector<uint64_t> words((rows + 63) / 64);
  std::mt19937 random(11);
  for (int64_t row = 0; row < rows; ++row) {
    if (static_cast<int>(random() % 64) < share) words[row / 64] |= uint64_t{1} << (row % 64);
  }
  return RowSet::OfBits(words, rows);
}

struct Stored {
  const char* code;
  Dtype dtype;
  bool on_disk;
};

TEST_CASE("a walk finds nearly all of the nearest rows, with the scores that a scan has") {
  const auto stored_as =
      GENERATE(Stored{"rows", Dtype::kFloat32, false}, Stored{"rows", Dtype::kFloat16, false},
               Stored{"int8", Dtype::kFloat32, false}, Stored{"int8", Dtype::kFloat16, true});
  const StoredRows stored(ClusteredRows(6000, 40, 50, 1), stored_as.dtype);
  HnswShard shard(stored_as.on_disk ? stored.view_on_disk() : stored.view(), stored_as.code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(50, 40, 50, 2);
  const NeighborLists wanted = TrueNeighbors(stored.view(), queries, 10);

  double before = 0;
  for (const int effort : {10, 40, 160}) {
    REQUIRE(!index->IsExact(Options(10, effort)));
    const auto found = index->Search(queries, Options(10, effort), kCall);
    REQUIRE(found.ok());
    const double recall = RecallOf(wanted, *found);
    REQUIRE(recall >= before);
    before = recall;
    for (int64_t q = 0; q < queries.rows(); ++q) {
      REQUIRE((*found)[q].size() == 10);
      for (size_t i = 0; i < 10; ++i) {
        const Neighbor& one = (*found)[q][i];
        REQUIRE(one.score == RowScore(stored.view(), queries.row(q).data(), one.row));
        if (i > 0) REQUIRE((*found)[q][i - 1].score >= one.score);
      }
    }
  }
  REQUIRE(before > 0.98);
}

TEST_CASE("an effort of all rows, or about as many looks, is exact") {
  const auto code = GENERATE("rows", "int8");
  const StoredRows stored(ClusteredRows(3000, 24, 3, 1), Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(5, 24, 3, 2);
  REQUIRE(index->IsExact(Options(20, 3000)));
  REQUIRE(index->IsExact(Options(20, 375)));  // 8 links each
  REQUIRE(!index->IsExact(Options(20, 374)));
  REQUIRE(*index->Search(queries, Options(20, 375), kCall) ==
          TrueNeighbors(stored.view(), queries, 20));
  // More than there are: all, in order.
  const auto all = index->Search(queries, Options(1000, 3000), kCall);
  REQUIRE(*all == TrueNeighbors(stored.view(), queries, 1000));
}

TEST_CASE("shards of no row, of one and of few answer with what they have") {
  const auto code = GENERATE("rows", "int8");
  for (const int64_t rows : {0, 1, 2, 5}) {
    const StoredRows stored(ClusteredRows(rows, 8, 1, 1), Dtype::kFloat32);
    HnswShard shard(stored, code, 4);
    const auto index = shard.BuiltAndOpen();
    REQUIRE(index->size() == rows);
    REQUIRE(index->dimension() == 8);
    const EmbeddingMatrix queries = ClusteredRows(3, 8, 1, 2);
    REQUIRE(*index->Search(queries, Options(10, 1), kCall) ==
            TrueNeighbors(stored.view(), queries, 10));
  }
}

TEST_CASE("a query has the same answer alone, in a batch, and whatever computes it") {
  const auto code = GENERATE("rows", "int8");
  const StoredRows stored(ClusteredRows(4000, 32, 20, 1), Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(33, 32, 20, 2);
  const RowSet among = EveryFew(4000, 40);
  ComputePool one(1), many(4);
  for (const RowSet* set : {static_cast<const RowSet*>(nullptr), &among}) {
    SearchOptions options = Options(7, 20, set);
    options.pool = &many;
    const NeighborLists together = *index->Search(queries, options, kCall);
    options.pool = &one;
    REQUIRE(*index->Search(queries, options, kCall) == together);
    for (int64_t q = 0; q < queries.rows(); ++q) {
      EmbeddingMatrix alone(1, 32);
      std::copy_n(queries.row(q).data(), 32, alone.mutable_data());
      REQUIRE((*index->Search(alone, options, kCall))[0] == together[q]);
    }
  }
}

TEST_CASE("wide beams find what narrow ones do, and more") {
  const StoredRows stored(ClusteredRows(12000, 16, 100, 1), Dtype::kFloat32);
  HnswShard shard(stored, "int8", 4);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(10, 16, 100, 2);
  const NeighborLists wanted = TrueNeighbors(stored.view(), queries, 300);
  const double narrow = RecallOf(wanted, *index->Search(queries, Options(300, 1024), kCall));
  const double wide = RecallOf(wanted, *index->Search(queries, Options(300, 1025), kCall));
  REQUIRE(!index->IsExact(Options(300, 1025)));
  REQUIRE(std::abs(wide - narrow) < 0.01);
  REQUIRE(wide > 0.97);
}

TEST_CASE("a filter's rows are found as well as without it, and no others") {
  const auto code = GENERATE("rows", "int8");
  constexpr int64_t kRows = 8000;
  const StoredRows stored(ClusteredRows(kRows, 32, 40, 1), Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(40, 32, 40, 2);
  const double unfiltered = RecallOf(TrueNeighbors(stored.view(), queries, 10),
                                     *index->Search(queries, Options(10, 24), kCall));
  REQUIRE(unfiltered < 1);
  for (const int share : {32, 16, 12}) {
    const RowSet among = EveryFew(kRows, share);
    REQUIRE(!index->IsExact(Options(10, 24, &among)));
    const NeighborLists found = *index->Search(queries, Options(10, 24, &among), kCall);
    for (const auto& list : found) {
      REQUIRE(list.size() == 10);
      for (const Neighbor& one : list) REQUIRE(among.Contains(one.row));
    }
    REQUIRE(RecallOf(TrueNeighbors(stored.view(), queries, 10, &among), found) >=
            unfiltered - 0.01);
  }
}

TEST_CASE("few rows of a filter are all looked at, as a list and as bits") {
  const auto code = GENERATE("rows", "int8");
  constexpr int64_t kRows = 8000;
  const StoredRows stored(ClusteredRows(kRows, 32, 40, 1), Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(10, 32, 40, 2);
  const RowSet bits = EveryFew(kRows, 6);
  const RowSet list = RowSet::OfRows({3, 77, 78, 4000, 7999}, kRows);
  const RowSet none = RowSet::OfRows({}, kRows);
  for (const RowSet* among : {&bits, &list, &none}) {
    REQUIRE(index->IsExact(Options(10, 24, among)));
    REQUIRE(*index->Search(queries, Options(10, 24, among), kCall) ==
            TrueNeighbors(stored.view(), queries, 10, among));
  }
}

TEST_CASE("a filter whose rows lie far from the query is scanned where the walk would not end") {
  const auto code = GENERATE("rows", "int8");
  constexpr int64_t kRows = 8000;
  const StoredRows stored(ClusteredRows(kRows, 32, 40, 1), Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(10, 32, 40, 2);
  for (int64_t q = 0; q < queries.rows(); ++q) {
    // The farther half.
    EmbeddingMatrix query(1, 32);
    std::copy_n(queries.row(q).data(), 32, query.mutable_data());
    const auto order = TrueNeighbors(stored.view(), query, kRows)[0];
    std::vector<uint64_t> words(kRows / 64);
    for (size_t i = kRows / 2; i < order.size(); ++i) {
      words[order[i].row / 64] |= uint64_t{1} << (order[i].row % 64);
    }
    const RowSet far = RowSet::OfBits(words, kRows);
    REQUIRE(!index->IsExact(Options(10, 24, &far)));
    REQUIRE(*index->Search(query, Options(10, 24, &far), kCall) ==
            TrueNeighbors(stored.view(), query, 10, &far));
  }
}

TEST_CASE("rows of very different lengths are found by their products") {
  EmbeddingMatrix rows = ClusteredRows(5000, 24, 30, 1);
  std::mt19937 random(3);
  for (int64_t row = 0; row < rows.rows(); ++row) {
    const float length = 0.2f + static_cast<float>(random() % 1000) / 250;
    for (float& number : rows.mutable_row(row)) number *= length;
  }
  const StoredRows stored(rows, Dtype::kFloat32);
  HnswShard shard(stored, GENERATE("rows", "int8"));
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(40, 24, 30, 2);
  REQUIRE(RecallOf(TrueNeighbors(stored.view(), queries, 10),
                   *index->Search(queries, Options(10, 100), kCall)) > 0.95);
}

TEST_CASE("rows that are no numbers are never found and spoil no other") {
  const auto code = GENERATE("rows", "int8");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EmbeddingMatrix rows = ClusteredRows(4000, 24, 30, 1);
  for (int64_t row = 0; row < rows.rows(); row += 5) {
    const float bad[] = {std::nanf(""), kInfinity, -kInfinity, 3e38f, -2e38f};
    rows.mutable_row(row)[row % 24] = bad[row / 5 % 5];
  }
  const StoredRows stored(rows, Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  const EmbeddingMatrix queries = ClusteredRows(40, 24, 30, 2);
  std::vector<uint64_t> words((rows.rows() + 63) / 64);
  for (int64_t row = 0; row < rows.rows(); ++row) {
    if (row % 5 != 0) words[row / 64] |= uint64_t{1} << (row % 64);
  }
  const RowSet good = RowSet::OfBits(words, rows.rows());
  const NeighborLists found = *index->Search(queries, Options(10, 100), kCall);
  for (const auto& list : found) {
    REQUIRE(list.size() == 10);
    for (const Neighbor& one : list) REQUIRE(good.Contains(one.row));
  }
  REQUIRE(RecallOf(TrueNeighbors(stored.view(), queries, 10, &good), found) > 0.97);
}

TEST_CASE("a shard of nothing but NaN finds nothing") {
  EmbeddingMatrix rows(700, 8);
  std::fill_n(rows.mutable_data(), 700 * 8, std::nanf(""));
  const StoredRows stored(rows, Dtype::kFloat32);
  HnswShard shard(stored, GENERATE("rows", "int8"), 4);
  const auto index = shard.BuiltAndOpen();
  REQUIRE(!index->IsExact(Options(5, 1)));
  REQUIRE((*index->Search(ClusteredRows(2, 8, 1, 1), Options(5, 1), kCall))[1].empty());
}

TEST_CASE("among thousands of equal rows, those and the others are found") {
  const auto code = GENERATE("rows", "int8");
  EmbeddingMatrix rows = ClusteredRows(6000, 24, 30, 1);
  // One row 3000 times, scattered.
  for (int64_t row = 2; row < rows.rows(); row += 2) {
    std::copy_n(rows.row(0).data(), 24, rows.mutable_row(row).begin());
  }
  const StoredRows stored(rows, Dtype::kFloat32);
  HnswShard shard(stored, code);
  const auto index = shard.BuiltAndOpen();
  std::vector<uint64_t> words((rows.rows() + 63) / 64, 0xAAAAAAAAAAAAAAAAu);
  words.back() &= (uint64_t{1} << (rows.rows() % 64)) - 1;
  const RowSet others = RowSet::OfBits(words, rows.rows());
  const EmbeddingMatrix queries = ClusteredRows(40, 24, 30, 2);
  REQUIRE(!index->IsExact(Options(10, 100, &others)));
  REQUIRE(RecallOf(TrueNeighbors(stored.view(), queries, 10, &others),
                   *index->Search(queries, Options(10, 100, &others), kCall)) > 0.9);
  // Near the equal ones nothing else is found, and as many of them as are asked for.
  EmbeddingMatrix near(1, 24);
  std::copy_n(rows.row(0).data(), 24, near.mutable_data());
  const NeighborLists equal = *index->Search(near, Options(100, 120), kCall);
  REQUIRE(equal[0].size() == 100);
  for (const Neighbor& one : equal[0]) REQUIRE(one.row % 2 == 0);
}

TEST_CASE("the same spec and rows give the same file, another seed another one") {
  const StoredRows stored(ClusteredRows(1500, 24, 10, 1), Dtype::kFloat32);
  HnswShard first(stored, "int8"), second(stored.view_on_disk(), "int8"), other(stored, "int8");
  other.manifest.mutable_index_spec()->set_seed(6);
  REQUIRE(first.Build().ok());
  REQUIRE(second.Build().ok());
  REQUIRE(other.Build().ok());
  REQUIRE(first.content() == second.content());
  REQUIRE(first.content() != other.content());
  REQUIRE(first.manifest.shards(0).index_files(0).byte_count() ==
          static_cast<int64_t>(first.content().size()));
}

TEST_CASE("a footprint is what an open index takes, and building takes more") {
  const auto code = GENERATE("rows", "int8");
  for (const int64_t rows : {0, 1, 7, 3000}) {
    const StoredRows stored(ClusteredRows(rows, 24, 5, 1), Dtype::kFloat32);
    HnswShard shard(stored, code);
    const auto index = shard.BuiltAndOpen();
    REQUIRE(shard.kind().footprint(shard.manifest, 0) == index->byte_count());
    REQUIRE(shard.kind().build_memory(shard.manifest, 0) > index->byte_count());
  }
}

TEST_CASE("a lying manifest's footprint is beyond all memory") {
  const StoredRows stored(ClusteredRows(1, 24, 1, 1), Dtype::kFloat32);
  HnswShard shard(stored, "int8");
  shard.manifest.mutable_shards(0)->set_item_count(std::numeric_limits<int64_t>::max());
  REQUIRE(shard.kind().footprint(shard.manifest, 0) == std::numeric_limits<int64_t>::max());
  shard.manifest.mutable_shards(0)->set_item_count(-1);
  REQUIRE(shard.kind().build_memory(shard.manifest, 0) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("parameters that are none are refused, with what they may be") {
  const StoredRows stored(ClusteredRows(1, 24, 1, 1), Dtype::kFloat32);
  HnswShard shard(stored, "int8");
  bundle::v1::IndexSpec* const spec = shard.manifest.mutable_index_spec();
  const auto refusal = [&] { return std::string(shard.kind().check(*spec, 24).message()); };
  REQUIRE(shard.kind().check(*spec, 24).ok());
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
  REQUIRE(shard.kind().check(*spec, 24).ok());
  spec->set_rows_on_disk(true);
  REQUIRE(absl::StrContains(refusal(), "needs the rows in memory"));
  spec->mutable_ivf();
  REQUIRE(absl::StrContains(refusal(), "needs the parameters hnsw"));
}

TEST_CASE("rows on a disk cannot be walked through") {
  const StoredRows stored(ClusteredRows(100, 24, 1, 1), Dtype::kFloat32);
  HnswShard shard(stored, "rows");
  REQUIRE(shard.Build().ok());
  shard.vectors = stored.view_on_disk();
  const absl::Status status = shard.Open().status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "code 'int8' leaves them on a disk"));
}

TEST_CASE("a call that is over ends searches and builds") {
  const StoredRows stored(ClusteredRows(3000, 24, 5, 1), Dtype::kFloat32);
  HnswShard shard(stored, "int8");
  const auto index = shard.BuiltAndOpen();
  shard.call.cancellation()->Cancel();
  const EmbeddingMatrix queries = ClusteredRows(2, 24, 5, 2);
  REQUIRE(absl::IsCancelled(index->Search(queries, Options(10, 20), shard.call).status()));
  REQUIRE(absl::IsCancelled(shard.Build()));
  REQUIRE(absl::IsCancelled(shard.Open().status()));
}

}  // namespace
}  // namespace sightline
