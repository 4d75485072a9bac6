#include "deploy/gpu/ivf_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/embedding/row_set.h"
#include "common/index/index_kinds.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_query.h"
#include "common/index/list_ranking.h"
#include "common/index/row_scores.h"
#include "deploy/gpu/check_output.h"
#include "deploy/gpu/check_tools.h"
#include "deploy/gpu/made_up_rows.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

// Lists that are looked into.
constexpr int kEfforts[] = {16, 64};
// Of the ten nearest of so many queries so many are to be found.
constexpr int kRecallTopK = 10;
constexpr int kRecallQueries = 256;
constexpr double kRecall = 0.95;

using QueryMaker = std::function<EmbeddingMatrix(int count)>;

// A folder that goes with the object.
class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "device_check.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) Die(absl::UnavailableError("no temporary folder"), 1);
    path_ = path;
    std::filesystem::create_directories(path_ / "shards");
    std::filesystem::create_directories(path_ / "work");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

GenerationManifest ManifestOf(const VectorView& rows) {
  GenerationManifest manifest;
  manifest.set_item_count(rows.rows);
  manifest.mutable_embedding()->set_dimension(rows.dimension);
  manifest.add_shards()->set_item_count(rows.rows);
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("ivf");
  spec->mutable_ivf()->set_code("rows");
  spec->mutable_ivf()->set_list_count(
      std::max(1, static_cast<int>(4 * std::sqrt(static_cast<double>(rows.rows)))));
  return manifest;
}

// An inverted file, as a program has it that compares rows with its lists.
class BuiltIvf {
 public:
  BuiltIvf(const VectorView& rows, ComputePool* pool)
      : rows_(rows), pool_(pool), manifest_(ManifestOf(rows)) {
    kind_ = ValueOrDie(IndexKindOf(manifest_), 1);
    IndexBuild build;
    build.directory = folder_.path();
    build.work_directory = folder_.path() + "/work";
    build.manifest = &manifest_;
    build.vectors = rows;
    build.pool = pool;
    build.call = &call_;
    *manifest_.mutable_shards(0)->add_index_files() = ValueOrDie(kind_->build(build), 1).front();
    file_ =
        ValueOrDie(LoadIvfShard(folder_.path(), manifest_, 0, rows, IvfSections::kLists, call_), 1);
    space_ = std::make_unique<CodeSpace>(CodeSpaceOf(file_));
    ranking_ = std::make_unique<ListRanking>(file_, *space_);
  }

  int64_t lists() const { return file_.shape.lists; }

  // No `devices`: on the CPU.
  std::unique_ptr<VectorIndex> OpenOn(const ScanDevices* devices, int device) const {
    if (devices == nullptr) {
      return ValueOrDie(kind_->open(folder_.path(), manifest_, 0, rows_, pool_, call_), 1);
    }
    const auto load = [&](const VectorView& rows, absl::Span<const int32_t> order) {
      return devices->Load(rows, order, device, call_);
    };
    return ValueOrDie(
        kind_->on_device->open(folder_.path(), manifest_, 0, rows_, load, pool_, call_), 3);
  }

  // What each query has to find in the lists that it looks into.
  Lists Expected(const EmbeddingMatrix& queries, const SearchOptions& options) const {
    Lists lists(queries.rows());
    pool_->ParallelFor(queries.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* const query = queries.row(i).data();
        lists[i] =
            ValueOrDie(BestOfRows(rows_, query, RowsFor(query, options), options.top_k, call_), 1);
      }
    });
    return lists;
  }

 private:
  std::vector<int64_t> RowsFor(const float* numbers, const SearchOptions& options) const {
    const IvfQuery query(numbers, file_.shape, *space_);
    std::vector<int64_t> rows;
    for (const RankedList& list : ranking_->BestHolding(query, options.effort, options.top_k)) {
      rows.insert(rows.end(), file_.rows() + file_.offsets()[list.list],
                  file_.rows() + file_.offsets()[list.list + 1]);
    }
    return rows;
  }

  const VectorView rows_;
  ComputePool* const pool_;
  const CallContext call_ = CallContext::Unbounded();
  const Folder folder_;
  GenerationManifest manifest_;
  const IndexKind* kind_;
  IvfFile file_;
  std::unique_ptr<CodeSpace> space_;
  std::unique_ptr<ListRanking> ranking_;
};

RowSet EveryOther(int64_t rows) {
  std::vector<uint64_t> words((rows + 63) / 64);
  for (int64_t row = 0; row < rows; row += 2) words[row >> 6] |= uint64_t{1} << (row & 63);
  return RowSet::OfBits(std::move(words), rows);
}

// Whether all rows of the lists may be found, have the CPU's scores and are in order.
bool IsSound(const VectorView& rows, const EmbeddingMatrix& queries, const Lists& lists,
             const RowSet& among) {
  for (int64_t i = 0; i < queries.rows(); ++i) {
    for (size_t j = 0; j < lists[i].size(); ++j) {
      const Neighbor& neighbor = lists[i][j];
      if (!among.Contains(neighbor.row)) return false;
      if (neighbor.score != RowScore(rows, queries.row(i).data(), neighbor.row)) return false;
      if (j > 0 && !RanksBefore(lists[i][j - 1], neighbor)) return false;
    }
  }
  return true;
}

// Of the rows of `wanted`, how many are in `found`.
struct Share {
  int64_t there = 0, all = 0;

  double value() const { return all == 0 ? 1 : static_cast<double>(there) / all; }
};

Share ShareOf(const Lists& wanted, const Lists& found) {
  Share share;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (const Neighbor& one : wanted[i]) {
      ++share.all;
      share.there += std::any_of(found[i].begin(), found[i].end(),
                                 [&](const Neighbor& other) { return other.row == one.row; });
    }
  }
  return share;
}

bool CheckFilter(const VectorIndex& index, const VectorIndex& exact, const VectorView& rows,
                 SearchOptions options) {
  const RowSet among = EveryOther(rows.rows);
  const EmbeddingMatrix queries = MadeUpQueries(kBatches[1], rows.dimension);
  options.among = &among;
  const Lists found = Search(index, queries, options);
  const Share share = ShareOf(Search(exact, queries, options), found);
  const bool sound = IsSound(rows, queries, found, among);
  std::printf("effort %3d, every other row: %lld of %lld of the nearest  %s\n", options.effort,
              static_cast<long long>(share.there), static_cast<long long>(share.all),
              sound ? "with the CPU's scores" : "WITH SCORES THAT ARE NOT THE CPU'S");
  return sound;
}

// Holds a batch to the rows of its lists, and times it.
nlohmann::json CheckBatch(const BuiltIvf& ivf, const VectorIndex& index, int64_t rows,
                          const EmbeddingMatrix& queries, const SearchOptions& options) {
  const int differs =
      FirstDifference(Search(index, queries, options), ivf.Expected(queries, options));
  const double seconds =
      MedianSeconds(kRounds, [&](int /*round*/) { Search(index, queries, options); });
  const auto batch = static_cast<int>(queries.rows());
  std::printf("effort %3d  batch %3d  %9.3f ms  %10.0f queries a second  %s\n", options.effort,
              batch, seconds * 1e3, batch / seconds,
              differs < 0 ? "as each row of the lists" : "DIFFERS FROM THE ROWS OF THE LISTS");
  if (differs >= 0) std::printf("  query %d is the first\n", differs);
  return {{"batch", batch},
          {"lists", absl::StrCat(options.effort, " of ", ivf.lists())},
          {"rows", rows},
          {"seconds", seconds},
          {"wrong", differs < 0 ? "" : absl::StrCat("query ", differs, " is the first")}};
}

// The least effort that finds kRecall of what `exact` does, and how much it finds.
std::pair<int, double> LeastEffort(const VectorIndex& index, const VectorIndex& exact,
                                   const EmbeddingMatrix& queries, SearchOptions options) {
  const Lists wanted = Search(exact, queries, options);
  const auto recall = [&](int effort) {
    options.effort = effort;
    return ShareOf(wanted, Search(index, queries, options)).value();
  };
  int enough = 1;
  while (recall(enough) < kRecall) enough *= 2;  // all lists find everything
  int too_few = enough / 2;
  while (enough - too_few > 1) {
    const int middle = (enough + too_few) / 2;
    (recall(middle) < kRecall ? too_few : enough) = middle;
  }
  return {enough, recall(enough)};
}

// `what` the queries are, for who reads it.
bool CheckRecall(const BuiltIvf& ivf, const VectorIndex& index, const VectorIndex& exact,
                 const VectorView& rows, const char* what, const QueryMaker& queries,
                 nlohmann::json* searches) {
  SearchOptions options;
  options.top_k = kRecallTopK;
  const auto [effort, recall] = LeastEffort(index, exact, queries(kRecallQueries), options);
  std::printf("effort %3d finds %.3f of the %d nearest of queries %s, less effort less than %.2f\n",
              effort, recall, kRecallTopK, what, kRecall);
  options.effort = effort;
  bool same = true;
  for (const int batch : {1, kRecallQueries}) {
    searches->push_back(CheckBatch(ivf, index, rows.rows, queries(batch), options));
    searches->back()["recall"] = recall;
    searches->back()["queries"] = what;
    same = same && searches->back()["wrong"] == "";
  }
  return same;
}

}  // namespace

bool CheckIvf(const VectorView& rows, const ScanDevices* devices, int device, int top_k,
              ComputePool* pool, nlohmann::json* searches) {
  const auto start = std::chrono::steady_clock::now();
  const BuiltIvf ivf(rows, pool);
  const double building = Seconds(std::chrono::steady_clock::now() - start).count();
  const auto index = ivf.OpenOn(devices, device);
  const auto exact = ValueOrDie(OpenFlatIndex(rows, pool), 1);
  std::printf("ivf: %lld rows of %d in %lld lists, built in %.2f s\n",
              static_cast<long long>(rows.rows), rows.dimension,
              static_cast<long long>(ivf.lists()), building);
  bool same = true;
  for (const int effort : kEfforts) {
    SearchOptions options;
    options.top_k = top_k;
    options.effort = effort;
    if (index->IsExact(options)) continue;
    for (const int batch : kBatches) {
      searches->push_back(
          CheckBatch(ivf, *index, rows.rows, MadeUpQueries(batch, rows.dimension), options));
      same = same && searches->back()["wrong"] == "";
    }
    same = CheckFilter(*index, *exact, rows, options) && same;
  }
  const auto anywhere = [&](int count) { return MadeUpQueries(count, rows.dimension); };
  const auto near = [&](int count) { return QueriesNear(rows, count); };
  same = CheckRecall(ivf, *index, *exact, rows, "anywhere", anywhere, searches) && same;
  return CheckRecall(ivf, *index, *exact, rows, "near rows", near, searches) && same;
}

}  // namespace sightline
