#include "common/index/hnsw_build.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/index/hnsw_builder.h"
#include "common/index/hnsw_file.h"
#include "common/index/hnsw_graph.h"
#include "common/index/index_checks.h"

namespace sightline {
namespace {

constexpr int kFewestLinks = 4, kMostLinks = 128;
constexpr int kLeastBuildEffort = 8, kMostBuildEffort = 2000;
constexpr int kMostRefine = 1000;

// Rows between two looks at the call.
constexpr int64_t kRowsAtOnce = 64;

absl::Status OutOfRange(absl::string_view field, int value, int least, int most) {
  return absl::InvalidArgumentError(absl::StrCat("index_spec.hnsw.", field, " is ", value,
                                                 "; it must be from ", least, " to ", most));
}

// Of a manifest that may say anything; false where there is no such graph.
bool ShapeOf(const bundle::v1::GenerationManifest& manifest, int shard, HnswShape* shape) {
  const bundle::v1::HnswSpec& spec = manifest.index_spec().hnsw();
  *shape = {manifest.shards(shard).item_count(), manifest.embedding().dimension(),
            spec.link_count(), spec.code() == "int8"};
  return CheckHnsw(manifest.index_spec(), shape->dimension).ok() && shape->rows >= 0 &&
         shape->rows <= kMostHnswRows;
}

// A shard's build: linking in stages, each kept on the disk.
class StagedBuild {
 public:
  StagedBuild(const IndexBuild& build, int64_t rows_between_stages)
      : build_(build),
        rows_between_stages_(rows_between_stages),
        stage_path_(JoinPath(build.work_directory, "hnsw")) {}

  absl::StatusOr<std::vector<bundle::v1::BundleFile>> Run() {
    const bundle::v1::IndexSpec& spec = build_.manifest->index_spec();
    ASSIGN_OR_RETURN(builder_,
                     HnswBuilder::Create(build_.vectors,
                                         {spec.hnsw().link_count(), spec.hnsw().build_effort(),
                                          static_cast<uint64_t>(spec.seed())},
                                         *build_.call));
    // Of the rows that the caller counts, those that are linked nowhere are done.
    if (build_.progress != nullptr) {
      build_.progress->Skip(build_.vectors.rows - builder_->linkable());
    }
    RETURN_IF_ERROR(Resume());
    RETURN_IF_ERROR(Link());
    builder_->ConnectAll();
    return Publish(spec.hnsw().code() == "int8");
  }

 private:
  // What cannot be read, or is of another build, is made again.
  absl::Status Resume() {
    if (build_.work_directory.empty() || !FileExists(stage_path_)) return absl::OkStatus();
    const absl::Status restored = builder_->Restore(stage_path_, *build_.call);
    RETURN_IF_ERROR(build_.call->Check("build index"));
    if (!restored.ok()) return absl::OkStatus();
    if (build_.progress != nullptr) build_.progress->Skip(builder_->linked());
    return absl::OkStatus();
  }

  absl::Status Link() {
    int64_t kept = builder_->linked();
    while (builder_->linked() < builder_->linkable()) {
      const absl::Status over = build_.call->Check("build index");
      const int64_t before = builder_->linked();
      if (before > kept && (!over.ok() || before - kept >= rows_between_stages_)) {
        RETURN_IF_ERROR(Keep());
        kept = before;
      }
      RETURN_IF_ERROR(over);
      builder_->Link(std::min(kRowsAtOnce, rows_between_stages_));
      if (build_.progress != nullptr) build_.progress->Advance(builder_->linked() - before);
    }
    return absl::OkStatus();
  }

  absl::Status Keep() {
    if (build_.work_directory.empty()) return absl::OkStatus();
    const HnswStage stage = {builder_->digest(), builder_->linked()};
    return WriteHnswGraph(stage_path_, builder_->graph(), /*coded=*/false, &stage).status();
  }

  absl::StatusOr<std::vector<bundle::v1::BundleFile>> Publish(bool coded) {
    bundle::v1::BundleFile file;
    file.set_path(ShardFileName(build_.shard, build_.manifest->shards_size(), "hnsw"));
    const std::string path = JoinPath(build_.directory, file.path());
    RETURN_IF_ERROR(MakeDirectories(path.substr(0, path.rfind('/'))));
    ASSIGN_OR_RETURN(const ContainerWriter::Summary written,
                     WriteHnswGraph(path, builder_->graph(), coded, /*stage=*/nullptr));
    file.set_byte_count(written.byte_count);
    file.set_sha256(written.sha256);
    return std::vector<bundle::v1::BundleFile>{file};
  }

  const IndexBuild& build_;
  const int64_t rows_between_stages_;
  const std::string stage_path_;
  std::unique_ptr<HnswBuilder> builder_;
};

}  // namespace

absl::Status CheckHnsw(const bundle::v1::IndexSpec& spec, int dimension) {
  if (spec.parameters_case() != bundle::v1::IndexSpec::kHnsw) {
    return absl::InvalidArgumentError(
        "index_spec: kind 'hnsw' needs the parameters hnsw and no others");
  }
  const bundle::v1::HnswSpec& hnsw = spec.hnsw();
  if (hnsw.link_count() < kFewestLinks || hnsw.link_count() > kMostLinks) {
    return OutOfRange("link_count", hnsw.link_count(), kFewestLinks, kMostLinks);
  }
  if (hnsw.build_effort() < kLeastBuildEffort || hnsw.build_effort() > kMostBuildEffort) {
    return OutOfRange("build_effort", hnsw.build_effort(), kLeastBuildEffort, kMostBuildEffort);
  }
  if (hnsw.code() != "rows" && hnsw.code() != "int8") {
    return absl::InvalidArgumentError(
        absl::StrCat("index_spec.hnsw.code is '", hnsw.code(), "'; it must be 'rows' or 'int8'"));
  }
  const bool coded = hnsw.code() == "int8";
  if (hnsw.refine() < (coded ? 1 : 0) || hnsw.refine() > kMostRefine) {
    return OutOfRange("refine", hnsw.refine(), coded ? 1 : 0, kMostRefine);
  }
  if (!coded && hnsw.refine() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index_spec.hnsw.refine is ", hnsw.refine(),
        "; code 'rows' scores each row that it looks at once and for all: leave refine "
        "out"));
  }
  if (spec.rows_on_disk() && !coded) {
    return absl::InvalidArgumentError(
        "index_spec: kind 'hnsw' with code 'rows' needs the rows in memory; take code 'int8', or "
        "leave rows_on_disk out");
  }
  if (dimension < 1 || dimension > limits::kMaxDimension) {
    return absl::InvalidArgumentError(absl::StrCat("index_spec: rows of ", dimension,
                                                   " numbers; kind 'hnsw' takes 1 to ",
                                                   limits::kMaxDimension));
  }
  return absl::OkStatus();
}

int64_t HnswFootprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  HnswShape shape;
  if (!ShapeOf(manifest, shard, &shape)) return std::numeric_limits<int64_t>::max();
  return shape.byte_count();
}

int64_t HnswBuildMemory(const bundle::v1::GenerationManifest& manifest, int shard,
                        int /*threads*/) {
  HnswShape shape;
  if (!ShapeOf(manifest, shard, &shape)) return std::numeric_limits<int64_t>::max();
  shape.coded = true;
  return HnswBuilder::Memory(shape);
}

absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildHnsw(const IndexBuild& build) {
  // Keeping a stage writes what all rows have of links: few times, however many they are.
  constexpr int64_t kFewestRows = 1 << 16, kMostStages = 16;
  return BuildHnswInStages(build, std::max(kFewestRows, build.vectors.rows / kMostStages));
}

absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildHnswInStages(const IndexBuild& build,
                                                                      int64_t rows_between_stages) {
  RETURN_IF_ERROR(CheckView(build.vectors));
  RETURN_IF_ERROR(CheckHnsw(build.manifest->index_spec(), build.vectors.dimension));
  if (build.vectors.rows > kMostHnswRows) return TooManyHnswRows(build.vectors.rows);
  return StagedBuild(build, rows_between_stages).Run();
}

absl::Status TooManyHnswRows(int64_t rows) {
  return absl::InvalidArgumentError(absl::StrCat("a shard of ", rows,
                                                 " rows; kind 'hnsw' takes at most ", kMostHnswRows,
                                                 ": make more shards"));
}

absl::StatusOr<std::string> HnswPath(absl::string_view directory,
                                     const bundle::v1::GenerationManifest& manifest, int shard) {
  const bundle::v1::ShardManifest& description = manifest.shards(shard);
  if (description.index_files_size() != 1) {
    return MakeError(reasons::kContentInvalid,
                     absl::StrCat("shard ", shard, " has ", description.index_files_size(),
                                  " index files; kind 'hnsw' has one"));
  }
  return JoinPath(directory, description.index_files(0).path());
}

}  // namespace sightline
