// Any changes of the file of an inverted file, under right checksums.  The first byte chooses the
// code; each change is four bytes: where it is written (a share of the file, in two bytes), how
// often (one byte less one, up to eight) and what.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/index/ivf_shard.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

constexpr int kDimension = 9;
constexpr int64_t kRows = 40;
constexpr int kLists = 5;
constexpr size_t kChange = 4;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A shard of each code, as it was built.
struct Shard {
  explicit Shard(const std::string& code)
      : folder("ivf_fuzz"),
        rows(sightline::ClusteredRows(kRows, kDimension, 1), kDimension),
        manifest(sightline::IvfManifest(kRows, kDimension, code, kLists)),
        pool(1) {
    Require(sightline::BuildIvfShard(folder.path(), rows.view(), &pool, &manifest).ok());
    path = sightline::JoinPath(folder.path(), manifest.shards(0).index_files(0).path());
    bytes = *sightline::ReadFile(path);
  }

  const sightline::ScratchFolder folder;
  const sightline::IvfRows rows;
  sightline::bundle::v1::GenerationManifest manifest;
  sightline::ComputePool pool;
  std::string path;
  std::string bytes;
};

// What is opened finds rows that there are, each once.
void Search(const sightline::VectorIndex& index) {
  const sightline::EmbeddingMatrix queries =
      sightline::QueriesOf(sightline::ClusteredRows(1, kDimension, 2), kDimension);
  const sightline::RowSet among = sightline::RowSet::OfBits({0x5555555555u}, kRows);
  for (const int effort : {1, 3, kLists}) {
    for (const sightline::RowSet* filter :
         {static_cast<const sightline::RowSet*>(nullptr), &among}) {
      const auto found =
          index.Search(queries, {10, nullptr, effort, filter}, sightline::CallContext::Unbounded());
      Require(found.ok());
      std::set<int64_t> rows;
      for (const sightline::Neighbor& neighbor : (*found)[0]) {
        Require(neighbor.row >= 0 && neighbor.row < kRows && std::isfinite(neighbor.score));
        Require(rows.insert(neighbor.row).second);
      }
      Require(rows.size() <= 10);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Shard shards[] = {Shard("rows"), Shard("int8"), Shard("pq4"), Shard("rabitq")};
  if (size == 0) return 0;
  Shard& shard = shards[data[0] % 4];
  std::string changed = shard.bytes;
  // Behind the section table, whose changes are container_fuzz's.
  const size_t begin = 40 + sightline::NumberAt<uint64_t>(changed, 16);
  for (size_t at = 1; at + kChange <= size; at += kChange) {
    const size_t share = data[at] | static_cast<size_t>(data[at + 1]) << 8;
    size_t place = begin + (changed.size() - begin) * share / 65536;
    for (int i = 0; i <= data[at + 2] % 8 && place < changed.size(); ++i, ++place) {
      changed[place] = static_cast<char>(data[at + 3]);
    }
  }
  sightline::RepairChecksums(&changed);
  sightline::Overwrite(shard.path, changed);
  const auto index =
      sightline::OpenIvfShard(shard.folder.path(), shard.manifest, shard.rows.view(), &shard.pool);
  if (index.ok()) {
    Search(**index);
  } else {
    Require(absl::IsDataLoss(index.status()));
    Require(sightline::HasReason(index.status(), sightline::reasons::kContentInvalid));
  }
  return 0;
}
