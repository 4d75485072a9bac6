// Any content of the file of kind flat_int8, under right checksums.  The first byte chooses: bits 0
// and 1 rows too many or too few, bit 2 codes too wide, bit 3 a section that is missing, bit 4 one
// of another type, bit 5 errors that are all infinite, bit 6 a filter, bit 7 a byte changed on the
// disk. What is opened finds rows that there are, each once, with their scores; all that there are
// where the errors say that nothing is known.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "common/bundle/container.h"
#include "common/index/index_kinds.h"
#include "common/index/row_scores.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

using namespace sightline;  // NOLINT: a program of one file

constexpr int64_t kRows = 9;
constexpr int kDimension = 20;
constexpr int64_t kRowBytes = 32;

void Require(bool condition) {
  if (!condition) std::abort();
}

// The input, as long as it goes, then zeros.
class Content {
 public:
  Content(const uint8_t* data, size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  std::string Take(size_t size) {
    std::string taken(left_.substr(0, size));
    left_.remove_prefix(taken.size());
    taken.resize(size, '\0');
    return taken;
  }

 private:
  absl::string_view left_;
};

void WriteFile(const std::string& path, uint8_t choice, Content content) {
  const int64_t rows = kRows + (choice & 1) - (choice >> 1 & 1);
  const int64_t row_bytes = (choice & 4) != 0 ? 2 * kRowBytes : kRowBytes;
  const Dtype last = (choice & 16) != 0 ? Dtype::kInt32 : Dtype::kFloat32;
  const bool whole = (choice & 8) == 0;
  const auto numbers = static_cast<size_t>(rows) * sizeof(float);
  auto writer = *ContainerWriter::Create(path);
  Require(writer->Declare("codes", Dtype::kInt8, {rows, row_bytes}).ok());
  Require(writer->Declare("scales", Dtype::kFloat32, {rows}).ok());
  Require(writer->Declare("errors", Dtype::kFloat32, {rows}).ok());
  if (whole) Require(writer->Declare("lengths", last, {rows}).ok());
  Require(writer->Append(content.Take(static_cast<size_t>(rows * row_bytes))).ok());
  Require(writer->Append(content.Take(numbers)).ok());
  std::string errors = content.Take(numbers);
  if ((choice & 32) != 0) {
    const std::vector<float> infinite(rows, std::numeric_limits<float>::infinity());
    errors.assign(reinterpret_cast<const char*>(infinite.data()), numbers);
  }
  Require(writer->Append(errors).ok());
  if (whole) Require(writer->Append(content.Take(numbers)).ok());
  Require(writer->Finish().ok());
}

// Rows and queries that are the same each time.
std::vector<float> Numbers(int64_t count, int step) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * step % 17 - 8) / 4;
  return numbers;
}

void CheckSearches(const VectorIndex& index, const VectorView& view, bool finds_all,
                   const RowSet* among) {
  EmbeddingMatrix queries(2, kDimension);
  const std::vector<float> numbers = Numbers(2 * kDimension, 5);
  std::copy(numbers.begin(), numbers.end(), queries.mutable_data());
  SearchOptions options;
  options.top_k = 4;
  options.among = among;
  const auto lists = index.Search(queries, options, CallContext::Unbounded());
  Require(lists.ok() && lists->size() == 2);
  for (int64_t query = 0; query < 2; ++query) {
    const std::vector<Neighbor>& list = (*lists)[query];
    for (size_t i = 0; i < list.size(); ++i) {
      Require(list[i].row >= 0 && list[i].row < kRows);
      Require(among == nullptr || among->Contains(list[i].row));
      Require(list[i].score == RowScore(view, queries.row(query).data(), list[i].row));
      Require(i == 0 || list[i - 1].score > list[i].score ||
              (list[i - 1].score == list[i].score && list[i - 1].row < list[i].row));
    }
    if (finds_all) Require(list.size() == 4);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder* const folder = new ScratchFolder("flat_int8_fuzz");
  static ComputePool* const pool = new ComputePool(1);
  if (size < 2) return 0;
  const uint8_t choice = data[0];
  const std::string path = folder->File("int8");
  WriteFile(path, choice, Content(data + 1, size - 1));
  if ((choice & 128) != 0) {
    std::string bytes = *ReadFile(path);
    bytes[data[1] * size_t{37} % bytes.size()] ^= 1;
    folder->Write("int8", bytes);
  }

  bundle::v1::GenerationManifest manifest;
  manifest.mutable_index_spec()->set_kind("flat_int8");
  manifest.mutable_embedding()->set_dimension(kDimension);
  manifest.add_shards()->set_item_count(kRows);
  manifest.mutable_shards(0)->add_index_files()->set_path("int8");
  const std::vector<float> rows = Numbers(kRows * kDimension, 7);
  const VectorView view{rows.data(), kRows, kDimension, kDimension};
  const auto index = (*IndexKindOf(manifest))
                         ->open(folder->path(), manifest, 0, view, pool, CallContext::Unbounded());
  if (!index.ok()) {
    Require(absl::IsDataLoss(index.status()) || absl::IsFailedPrecondition(index.status()));
    return 0;
  }
  // Such a file is not opened.
  Require((choice & (4 | 8 | 16)) == 0 && (choice & 1) == (choice >> 1 & 1));
  const RowSet some = RowSet::OfRows({0, 2, 3, 5, 8}, kRows);
  CheckSearches(**index, view, (choice & 32) != 0, (choice & 64) != 0 ? &some : nullptr);
  return 0;
}
