// Files of kind hnsw under right checksums, with other numbers in them than a build leaves.  A good
// file is made once; the first byte chooses: bit 0 a graph that is coded, bit 1 a filter, bit 2
// checksums that are left wrong.  Each four bytes behind it change a number of the file: two say
// where, one what (a byte of it, or one of kNumbers), one the byte.  What is opened finds rows that
// there are, each once, with their scores.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "common/index/index_kinds.h"
#include "common/index/row_scores.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

using namespace sightline;  // NOLINT: a program of one file

constexpr int64_t kRows = 48;
constexpr int kDimension = 8;
constexpr size_t kContent = 4096;  // where sections begin
// Links at the bounds, and floats that are none.
constexpr uint32_t kNumbers[] = {0,          kRows - 1,  kRows,      11,         12,
                                 0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000, 0x7fc00000};

void Require(bool condition) {
  if (!condition) std::abort();
}

ComputePool* Pool() {
  static ComputePool* const pool = new ComputePool(1);
  return pool;
}

// Rows and queries that are the same each time.
std::vector<float> Numbers(int64_t count, int step) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * step % 31 - 15) / 4;
  return numbers;
}

VectorView Rows() {
  static const auto* const rows = new std::vector<float>(Numbers(kRows * kDimension, 7));
  return {rows->data(), kRows, kDimension, kDimension};
}

bundle::v1::GenerationManifest ManifestOf(bool coded) {
  bundle::v1::GenerationManifest manifest;
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("hnsw");
  spec->mutable_hnsw()->set_link_count(4);
  spec->mutable_hnsw()->set_build_effort(8);
  spec->mutable_hnsw()->set_code(coded ? "int8" : "rows");
  if (coded) spec->mutable_hnsw()->set_refine(2);
  manifest.mutable_embedding()->set_dimension(kDimension);
  manifest.add_shards()->set_item_count(kRows);
  return manifest;
}

std::string GoodFile(const ScratchFolder& folder, bool coded) {
  const bundle::v1::GenerationManifest manifest = ManifestOf(coded);
  const CallContext call = CallContext::Unbounded();
  IndexBuild build;
  build.directory = folder.path();
  build.manifest = &manifest;
  build.vectors = Rows();
  build.pool = Pool();
  build.call = &call;
  const auto files = (*IndexKindOf(manifest))->build(build);
  Require(files.ok() && files->size() == 1);
  return *ReadFile(folder.File((*files)[0].path()));
}

void Change(const uint8_t* edit, std::string* file) {
  const size_t numbers = (file->size() - kContent) / sizeof(uint32_t);
  const size_t at = kContent + (edit[0] + 256 * edit[1]) % numbers * sizeof(uint32_t);
  if (edit[2] < 128) {
    (*file)[at + edit[2] % sizeof(uint32_t)] = static_cast<char>(edit[3]);
  } else {
    PatchNumber(kNumbers[edit[3] % std::size(kNumbers)], at, file);
  }
}

void CheckSearch(const VectorIndex& index, int effort, const RowSet* among) {
  EmbeddingMatrix queries(2, kDimension);
  const std::vector<float> numbers = Numbers(2 * kDimension, 5);
  std::copy(numbers.begin(), numbers.end(), queries.mutable_data());
  SearchOptions options;
  options.top_k = 2;
  options.effort = effort;
  options.among = among;
  const auto lists = index.Search(queries, options, CallContext::Unbounded());
  Require(lists.ok() && lists->size() == 2);
  for (int64_t query = 0; query < 2; ++query) {
    const std::vector<Neighbor>& list = (*lists)[query];
    Require(list.size() <= 2);
    for (size_t i = 0; i < list.size(); ++i) {
      Require(list[i].row >= 0 && list[i].row < kRows);
      Require(among == nullptr || among->Contains(list[i].row));
      Require(list[i].score == RowScore(Rows(), queries.row(query).data(), list[i].row));
      Require(i == 0 || list[i - 1].score > list[i].score ||
              (list[i - 1].score == list[i].score && list[i - 1].row < list[i].row));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder* const folder = new ScratchFolder("hnsw_fuzz");
  static const std::string* const good[] = {new std::string(GoodFile(*folder, false)),
                                            new std::string(GoodFile(*folder, true))};
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  const bool coded = (choice & 1) != 0;
  std::string file = *good[coded ? 1 : 0];
  for (++data, --size; size >= 4; data += 4, size -= 4) Change(data, &file);
  const bool unchanged = file == *good[coded ? 1 : 0];
  if ((choice & 4) == 0) RepairChecksums(&file);
  folder->Write("hnsw", file);

  bundle::v1::GenerationManifest manifest = ManifestOf(coded);
  manifest.mutable_shards(0)->add_index_files()->set_path("hnsw");
  const auto index =
      (*IndexKindOf(manifest))
          ->open(folder->path(), manifest, 0, Rows(), Pool(), CallContext::Unbounded());
  if (!index.ok()) {
    Require(absl::IsDataLoss(index.status()));
    Require(!unchanged);
    return 0;
  }
  // Every fourth row, as bits: too many to be looked at one by one.
  const RowSet some = RowSet::OfBits({0x0000111111111111}, kRows);
  const RowSet* const among = (choice & 2) != 0 ? &some : nullptr;
  for (const int effort : {1, 6, 1000}) CheckSearch(**index, effort, among);
  return 0;
}
