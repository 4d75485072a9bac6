#include "common/index/index_builder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/base/usable_memory.h"
#include "common/base/work_on_threads.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/rows_on_disk.h"
#include "common/bundle/store_lock.h"
#include "common/index/index_kind.h"
#include "common/index/index_work.h"
#include "common/index/recall_probes.h"
#include "common/log/log.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;
using bundle::v1::ShardManifest;

constexpr absl::string_view kWorkFolder = "build";

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

std::string Megabytes(int64_t bytes) {
  return absl::StrFormat("%.0f MB", static_cast<double>(bytes) * 1e-6);
}

// Of building shard `shard` and of opening it afterwards, beside its rows.
int64_t BytesBesideRows(const IndexKind& kind, const GenerationManifest& manifest, int shard,
                        int threads) {
  const int64_t build =
      kind.build_memory == nullptr ? 0 : kind.build_memory(manifest, shard, threads);
  return std::max(build, kind.footprint(manifest, shard));
}

// Whether there is room for the files of the shards that are yet to be built, which are about what
// a server has of them in memory; hours later would be too late to tell.
absl::Status CheckDisk(absl::string_view directory, const GenerationManifest& manifest,
                       const IndexKind& kind) {
  int64_t bytes = 0;
  for (int shard = 0; shard < manifest.shards_size(); ++shard) {
    if (IndexWork(IndexWorkFolder(directory), manifest, shard).IsRecorded()) continue;
    bytes = Sum(bytes, kind.footprint(manifest, shard));
  }
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::path(std::string(directory)), error);
  if (error || bytes <= static_cast<int64_t>(space.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the indexes of kind ", kind.name, " take about ", Megabytes(bytes), " of disk, but ",
      directory, " has ", Megabytes(static_cast<int64_t>(space.available)),
      " left; make room, or choose a kind or a code that takes less"));
}

// What killed builds have left beside the shards' files.  Index files are written by whoever holds
// the lock of the build; other temporary files may be somebody's who still writes.
absl::Status RemoveTornFiles(absl::string_view directory, const IndexKind& kind) {
  const std::string ours = absl::StrCat(".", kind.name, ".");
  const std::string folder = JoinPath(directory, "shards");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    if (!absl::StrContains(name, ours) || !absl::EndsWith(name, ".tmp")) continue;
    const std::string path = JoinPath(folder, name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError("remove", path, errno);
  }
  return absl::OkStatus();
}

absl::Status TooLittle(const IndexKind& kind, int shard, int64_t beside, int64_t rows,
                       int64_t allowed) {
  return WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat(
                            "building the index of shard ", shard, " (kind ", kind.name, ") takes ",
                            Megabytes(beside), " of memory beside its rows, which have ",
                            Megabytes(rows), "; ", Megabytes(allowed),
                            " may be taken: allow more, divide the index into more shards, or "
                            "choose a kind or a code that takes less")),
                        absl::InfiniteDuration());
}

// Builds and measures the shards of one generation.
class Builder {
 public:
  Builder(absl::string_view directory, const IndexBuildOptions& options, const IndexBuildPlan& plan,
          const IndexKind* kind, ComputePool* pool, const CallContext& call, Progress* progress,
          GenerationManifest* manifest)
      : directory_(directory),
        options_(options),
        plan_(plan),
        kind_(kind),
        pool_(pool),
        call_(call),
        progress_(progress),
        manifest_(manifest),
        described_(*manifest) {}

  absl::Status Build() {
    if (progress_ != nullptr) progress_->Begin("build index", "rows", manifest_->item_count());
    const int count = manifest_->shards_size();
    absl::Status built;
    if (plan_.shards_at_once > 1) {
      built = WorkOnThreads(plan_.shards_at_once, count, [this](size_t shard) {
        ComputePool alone(1);
        ComputePool::SingleThreadedLibraries();
        return BuildShard(static_cast<int>(shard), &alone);
      });
    } else {
      for (int shard = 0; shard < count && built.ok(); ++shard) built = BuildShard(shard, pool_);
    }
    if (progress_ != nullptr) progress_->End();
    return built;
  }

  // One shard after another, so that no other work is in the times.
  absl::Status Measure() {
    if (progress_ != nullptr) progress_->Begin("measure", "shards", manifest_->shards_size());
    double floor = 1;
    for (int shard = 0; shard < manifest_->shards_size(); ++shard) {
      if (manifest_->shards(shard).item_count() > 0) {
        ASSIGN_OR_RETURN(const double lowest, MeasureShard(shard));
        floor = std::min(floor, lowest);
      }
      if (progress_ != nullptr) progress_->Advance(1);
    }
    if (progress_ != nullptr) progress_->End();
    manifest_->mutable_recall_probe()->set_floor(floor);
    return absl::OkStatus();
  }

 private:
  absl::Status BuildShard(int number, ComputePool* pool) {
    RETURN_IF_ERROR(call_.Check("building an index"));
    ShardManifest* const shard = manifest_->mutable_shards(number);
    const IndexWork work(IndexWorkFolder(directory_), described_, number);
    if (work.Find(directory_, shard)) {
      if (progress_ != nullptr) progress_->Skip(shard->item_count());
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(MakeDirectories(work.stages()));
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardRows> rows,
                     ShardRows::Open(directory_, described_, number, plan_.rows, call_));
    IndexBuild build;
    build.directory = directory_;
    build.manifest = &described_;
    build.shard = number;
    build.vectors = rows->view();
    build.work_directory = work.stages();
    build.pool = pool;
    build.call = &call_;
    build.progress = progress_;
    absl::StatusOr<std::vector<bundle::v1::BundleFile>> files = kind_->build(build);
    if (!files.ok()) return Within(absl::StrCat("shard ", number), files.status());
    shard->clear_index_files();
    shard->clear_efforts();
    for (bundle::v1::BundleFile& file : *files) *shard->add_index_files() = std::move(file);
    RETURN_IF_ERROR(work.Keep(*shard));
    std::error_code ignored;  // what stays goes with the folder
    std::filesystem::remove_all(work.stages(), ignored);
    return absl::OkStatus();
  }

  // A shard's index, and what it is opened over.
  struct Opened {
    std::unique_ptr<ShardRows> rows;
    std::unique_ptr<VectorIndex> index;
  };
  absl::StatusOr<Opened> Open(int number, RowPlace place) {
    Opened opened;
    ASSIGN_OR_RETURN(opened.rows, ShardRows::Open(directory_, *manifest_, number, place, call_));
    ASSIGN_OR_RETURN(opened.index, kind_->open(directory_, *manifest_, number, opened.rows->view(),
                                               pool_, call_));
    return opened;
  }

  // Fills the shard's efforts in; returns its floor.
  absl::StatusOr<double> MeasureShard(int number) {
    RETURN_IF_ERROR(call_.Check("measuring an index"));
    ShardManifest* const shard = manifest_->mutable_shards(number);
    ASSIGN_OR_RETURN(const Probes probes,
                     ReadProbes(JoinPath(directory_, shard->probes().path()), *manifest_, number));
    ASSIGN_OR_RETURN(Opened opened, Open(number, plan_.rows));
    if (shard->efforts().empty()) {
      ASSIGN_OR_RETURN(std::vector<bundle::v1::EffortPoint> recalls,
                       FindRecalls(*opened.index, probes, options_.calibration, pool_, call_));
      // Times are of rows where servers have them.
      if (manifest_->index_spec().rows_on_disk() && plan_.rows == RowPlace::kMemory) {
        opened.index.reset();
        opened.rows.reset();
        ASSIGN_OR_RETURN(opened, Open(number, RowPlace::kDisk));
      }
      ASSIGN_OR_RETURN(const auto efforts, AddTimes(*opened.index, probes, options_.calibration,
                                                    call_, std::move(recalls)));
      shard->mutable_efforts()->Assign(efforts.begin(), efforts.end());
      RETURN_IF_ERROR(IndexWork(IndexWorkFolder(directory_), described_, number).Keep(*shard));
    }
    ASSIGN_OR_RETURN(
        const std::vector<double> recalls,
        MeasureRecalls(*opened.index, probes, RecallSearch(*manifest_, number, pool_), call_));
    return RecallFloor(recalls);
  }

  const std::string directory_;
  const IndexBuildOptions options_;
  const IndexBuildPlan plan_;
  const IndexKind* const kind_;
  ComputePool* const pool_;
  const CallContext& call_;
  Progress* const progress_;
  GenerationManifest* const manifest_;
  // As it was before, for those that read it while shards are filled in.
  const GenerationManifest described_;
};

}  // namespace

absl::Status CheckIndexSpec(const bundle::v1::IndexSpec& spec, int dimension,
                            const IndexKind& kind) {
  RETURN_IF_ERROR(kind.check(spec, dimension));
  if (!spec.rows_on_disk() || kind.rows_on_disk(spec)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rows_on_disk: an index of kind '", kind.name,
                   "' without codes compares the rows themselves at each search; leave it out, or "
                   "choose another kind or code"));
}

absl::StatusOr<IndexBuildPlan> PlanIndexBuild(const GenerationManifest& manifest,
                                              const IndexKind& kind,
                                              const IndexBuildOptions& options, int threads) {
  RETURN_IF_ERROR(CheckIndexSpec(manifest.index_spec(), manifest.embedding().dimension(), kind));
  IndexBuildPlan plan;
  if (kind.build == nullptr) return plan;
  const int64_t allowed = options.max_bytes > 0 ? options.max_bytes : UsableMemory() / 5 * 4;
  int64_t in_memory = 0, on_disk = 0;
  int greatest = 0;
  for (int shard = 0; shard < manifest.shards_size(); ++shard) {
    const int64_t beside = BytesBesideRows(kind, manifest, shard, threads);
    const int64_t with_rows = Sum(beside, RowBytes(manifest, shard));
    if (with_rows > in_memory) greatest = shard;
    in_memory = std::max(in_memory, with_rows);
    const int64_t checksums = RowsOnDisk::ByteCount(manifest.shards(shard).item_count());
    on_disk = std::max(on_disk, Sum(beside, checksums));
  }
  if (in_memory > allowed) {
    if (on_disk > allowed || !kind.rows_on_disk(manifest.index_spec())) {
      return TooLittle(kind, greatest, BytesBesideRows(kind, manifest, greatest, threads),
                       RowBytes(manifest, greatest), allowed);
    }
    plan.rows = RowPlace::kDisk;
  }
  const int64_t each = std::max<int64_t>(plan.rows == RowPlace::kMemory ? in_memory : on_disk, 1);
  if (kind.serial_build) {
    const int64_t most = std::min<int64_t>(threads, manifest.shards_size());
    plan.shards_at_once = static_cast<int>(std::max<int64_t>(std::min(most, allowed / each), 1));
  }
  plan.bytes = each * plan.shards_at_once;
  return plan;
}

absl::Status BuildIndexes(absl::string_view directory, const IndexKind& kind,
                          const IndexBuildOptions& options, ComputePool* pool,
                          const CallContext& call, Progress* progress,
                          GenerationManifest* manifest) {
  ASSIGN_OR_RETURN(const IndexBuildPlan plan,
                   PlanIndexBuild(*manifest, kind, options, pool->threads()));
  if (kind.build == nullptr) return absl::OkStatus();
  Log(Severity::kInfo, "building indexes",
      {{"index", manifest->index()},
       {"generation", manifest->generation()},
       {"kind", kind.name},
       {"shards", manifest->shards_size()},
       {"shards_at_once", plan.shards_at_once},
       {"rows", plan.rows == RowPlace::kMemory ? "memory" : "disk"},
       {"memory_bytes", plan.bytes}});
  RETURN_IF_ERROR(MakeDirectories(IndexWorkFolder(directory)));
  ASSIGN_OR_RETURN(const StoreLock lock, LockIndexBuild(IndexWorkFolder(directory)));
  RETURN_IF_ERROR(RemoveTornFiles(directory, kind));
  RETURN_IF_ERROR(CheckDisk(directory, *manifest, kind));
  Builder builder(directory, options, plan, &kind, pool, call, progress, manifest);
  RETURN_IF_ERROR(builder.Build());
  if (kind.exact || !manifest->has_recall_probe()) return absl::OkStatus();
  return builder.Measure();
}

std::string IndexWorkFolder(absl::string_view directory) {
  return JoinPath(directory, kWorkFolder);
}

absl::Status RemoveIndexWork(absl::string_view directory) {
  const std::string folder = IndexWorkFolder(directory);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return error ? FileError("remove", folder, error.value()) : absl::OkStatus();
}

}  // namespace sightline
