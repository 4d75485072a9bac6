// An inverted file on a device that is the host, and the lists that a search has to look into.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_IVF_RIG_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_IVF_RIG_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/device/host_device.h"
#include "common/device/product.h"
#include "common/index/device_flat_scan.h"
#include "common/index/device_form.h"
#include "common/index/index_kind.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_query.h"
#include "common/index/list_ranking.h"
#include "common/index/vector_index.h"
#include "tests/common/index/device_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {

inline constexpr Dtype kDtypes[] = {Dtype::kFloat16, Dtype::kFloat32};

// As text, of code "rabitq along axes" too.
inline std::string SpecOf(const std::string& code, int dimension, int lists) {
  const std::string refine = code == "rows" ? "" : " refine: 8";
  const std::string parts = code == "pq4" ? absl::StrCat(" pq_parts: ", std::max(1, dimension / 4))
                            : code == "rabitq along axes"
                                ? absl::StrCat(" pq_parts: ", std::max(1, dimension * 2 / 5))
                                : "";
  return absl::StrCat("kind: 'ivf' seed: 3 ivf { list_count: ", lists, " code: '",
                      code.substr(0, code.find(' ')), "'", refine, parts, " }");
}

inline SearchOptions OptionsOf(int effort, int top_k, const RowSet* among = nullptr) {
  SearchOptions options;
  options.effort = effort;
  options.top_k = top_k;
  options.among = among;
  return options;
}

// A shard that was built, opened as `device_index` on `device` and as `cpu_index`.
struct DeviceIvfRig {
  // `spec` as KindCase has it.
  DeviceIvfRig(const EmbeddingMatrix& values, Dtype dtype, const std::string& spec)
      : rows(values, dtype),
        spec_text(spec),
        shard({"ivf", spec_text.c_str()}, rows.view()),
        pool(2) {
    REQUIRE(shard.Build(&pool).ok());
    auto opened = shard.Open(&pool);
    REQUIRE(opened.ok());
    cpu_index = *std::move(opened);
    OpenOn(rows.view());
    auto file_of_lists = LoadIvfShard(shard.directory(), shard.manifest(), 0, rows.view(),
                                      IvfSections::kLists, CallContext::Unbounded());
    REQUIRE(file_of_lists.ok());
    file = *std::move(file_of_lists);
    space = std::make_unique<CodeSpace>(CodeSpaceOf(file));
    ranking = std::make_unique<ListRanking>(file, *space);
  }

  absl::StatusOr<std::unique_ptr<VectorIndex>> TryOpen(const VectorView& vectors, HostDevice on) {
    const auto load =
        [on](const VectorView& view,
             absl::Span<const int32_t> order) -> absl::StatusOr<std::unique_ptr<DeviceScan>> {
      auto scan = HostScan::Load(on, view, CallContext::Unbounded(), order);
      if (!scan.ok()) return scan.status();
      return std::unique_ptr<DeviceScan>(*std::move(scan));
    };
    return shard.kind().on_device->open(shard.directory(), shard.manifest(), 0, vectors, load,
                                        &pool, CallContext::Unbounded());
  }
  void OpenOn(const VectorView& vectors) {
    auto opened = TryOpen(vectors, device);
    REQUIRE(opened.ok());
    device_index = *std::move(opened);
  }

  // Of the rows of `lists`, those of `among` unless it is null.
  RowSet RowsOf(const std::vector<RankedList>& lists, const RowSet* among) const {
    std::vector<int64_t> some;
    for (const RankedList& ranked : lists) {
      for (int64_t i = file.offsets()[ranked.list]; i < file.offsets()[ranked.list + 1]; ++i) {
        const int64_t row = file.rows()[i];
        if (among == nullptr || among->Contains(row)) some.push_back(row);
      }
    }
    std::sort(some.begin(), some.end());
    return BitsOf(some, rows.rows());
  }

  IvfQuery QueryOf(const EmbeddingMatrix& query) const {
    return IvfQuery(query.row(0).data(), file.shape, *space);
  }

  const GappedRows rows;
  const std::string spec_text;
  KindShard shard;
  ComputePool pool;
  HostDevice device;
  std::unique_ptr<VectorIndex> cpu_index, device_index;
  IvfFile file;
  std::unique_ptr<CodeSpace> space;
  std::unique_ptr<ListRanking> ranking;
};

inline EmbeddingMatrix QueryAt(const EmbeddingMatrix& queries, int64_t i) {
  EmbeddingMatrix query(1, queries.dimension());
  std::copy_n(queries.row(i).data(), queries.dimension(), query.mutable_data());
  return query;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_DEVICE_IVF_RIG_H_
