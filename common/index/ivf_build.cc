#include "common/index/ivf_build.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "common/bundle/layout.h"
#include "common/index/index_checks.h"
#include "common/index/ivf_encoder.h"
#include "common/index/ivf_stages.h"
#include "common/index/ivf_training.h"
#include "common/index/nearest_centroids.h"
#include "common/index/principal_axes.h"
#include "common/index/row_scores.h"
#include "common/kernels/inner_products.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {
namespace {

// Of the algorithm: builds that go on with what another one has kept must not differ.
constexpr absl::string_view kBuildVersion = "ivf 4";
// Rows that centroids are trained on: as many a list, but at least and at most.
constexpr int64_t kSampledOfList = 64;
constexpr int64_t kLeastSampled = 16384;
constexpr int64_t kSampleBytes = int64_t{1} << 30;
// Rows that codebooks are trained on, and axes.
constexpr int64_t kResidualsOfCodebooks = 32768;
constexpr int64_t kResidualsOfAxes = 16384;
// Rows that a thread takes at once, and those whose lists are kept together.
constexpr int64_t kRowsAtOnce = 1024;
constexpr int64_t kChunkRows = int64_t{1} << 18;
// Codes that are in memory at once.
constexpr int64_t kCodesAtOnce = int64_t{1} << 30;
// Squared length from which on products of float32 might not be finite.
constexpr double kMostSquares = 1e30;
// Rows that tell a shard from another one of the same size.
constexpr int64_t kFingerprintRows = 64;

absl::string_view BytesOf(const void* data, int64_t size) {
  return absl::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}

template <typename T>
absl::string_view BytesOf(const std::vector<T>& values) {
  return BytesOf(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
}

template <typename T>
std::vector<T> NumbersOf(absl::string_view bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

bool IsUsable(const float* row, int dimension) {
  constexpr int kLanes = 8;
  double squares[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= dimension; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane)
      squares[lane] += double{row[i + lane]} * row[i + lane];
  }
  for (; i < dimension; ++i) squares[0] += double{row[i]} * row[i];
  double sum = 0;
  for (const double square : squares) sum += square;
  return sum <= kMostSquares;  // also false of NaN
}

// The first error of what several threads do.
class FirstError {
 public:
  void Note(absl::Status status) {
    if (status.ok()) return;
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  absl::Status status() {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  absl::Status status_ GUARDED_BY(mutex_);
};

int64_t SampledRows(const IvfShape& shape) {
  const int64_t row_bytes = shape.dimension * static_cast<int64_t>(sizeof(float));
  const int64_t wanted = std::max(kLeastSampled, kSampledOfList * shape.lists);
  return std::min({shape.rows, wanted, std::max(shape.lists, kSampleBytes / row_bytes)});
}

class IvfBuilder {
 public:
  IvfBuilder(const IndexBuild& build, const IvfShape& shape, std::string fingerprint)
      : build_(build),
        shape_(shape),
        call_(*build.call),
        stages_(build.work_directory, std::move(fingerprint)) {}

  absl::StatusOr<bundle::v1::BundleFile> Run() {
    RETURN_IF_ERROR(FindCentroids());
    RETURN_IF_ERROR(FindReaches());
    RETURN_IF_ERROR(FindCodebooks());
    RETURN_IF_ERROR(FindAxes());
    RETURN_IF_ERROR(FindLists());
    return Write();
  }

 private:
  // --- rows ---

  // Reads rows and makes those zero that are of no use; `usable` says which are not.
  absl::Status ReadRows(int64_t first, int64_t count, float* rows, bool* usable) const {
    RETURN_IF_ERROR(call_.Check("building an index"));
    RETURN_IF_ERROR(CopyRows(build_.vectors, first, count, rows));
    for (int64_t i = 0; i < count; ++i) {
      float* const row = rows + i * shape_.dimension;
      usable[i] = IsUsable(row, shape_.dimension);
      if (!usable[i]) std::fill_n(row, shape_.dimension, 0.0f);
    }
    return absl::OkStatus();
  }

  // `body(first, count, rows, usable)` of blocks that cover [begin, end), on the pool's threads.
  template <typename Body>
  absl::Status ForRows(int64_t begin, int64_t end, const Body& body) const {
    FirstError error;
    build_.pool->ParallelFor(end - begin, kRowsAtOnce, [&](int64_t from, int64_t to) {
      std::vector<float> rows(kRowsAtOnce * shape_.dimension);
      const auto usable = std::make_unique<bool[]>(kRowsAtOnce);
      for (int64_t first = begin + from; first < begin + to; first += kRowsAtOnce) {
        const int64_t count = std::min(kRowsAtOnce, begin + to - first);
        if (!error.status().ok()) return;
        absl::Status status = ReadRows(first, count, rows.data(), usable.get());
        if (status.ok()) body(first, count, rows.data(), usable.get());
        error.Note(std::move(status));
      }
    });
    return error.status();
  }

  // `count` usable rows at most, drawn from as many stretches of equal length.
  absl::StatusOr<Sample> Draw(int64_t count) const {
    Sample sample;
    sample.dimension = shape_.dimension;
    sample.values.reserve(count * shape_.dimension);
    std::mt19937_64 random(shape_.seed);
    std::vector<float> row(shape_.dimension);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = shape_.rows * i / count, end = shape_.rows * (i + 1) / count;
      const int64_t drawn = begin + static_cast<int64_t>(random() % (end - begin));
      bool usable = false;
      RETURN_IF_ERROR(ReadRows(drawn, 1, row.data(), &usable));
      if (usable) sample.values.insert(sample.values.end(), row.begin(), row.end());
    }
    return sample;
  }

  // --- stages ---

  absl::Status FindCentroids() {
    RETURN_IF_ERROR(FindMatrix("centroids", shape_.lists, &trained_.centroids, [this] {
      return Then(Draw(SampledRows(shape_)), [this](const Sample& sample) {
        return TrainCentroids(sample, shape_.lists, shape_.seed, build_.pool, call_);
      });
    }));
    const std::vector<float> centroids = DecodeInt8(trained_.centroids, shape_);
    nearest_ = std::make_unique<NearestCentroids>(centroids.data(), shape_.lists, shape_.dimension);
    return absl::OkStatus();
  }

  absl::Status FindReaches() {
    return FindFloats("reaches", shape_.lists, &trained_.reaches, [this] {
      std::vector<int32_t> lists;
      return Then(Residuals(SampledRows(shape_), &lists), [this, &lists](const Sample& sample) {
        return absl::StatusOr<std::vector<float>>(ReachesOf(sample, lists, shape_.lists));
      });
    });
  }

  absl::Status FindAxes() {
    if (shape_.axes == 0) return absl::OkStatus();
    return FindMatrix("axes", shape_.axes, &trained_.axes, [this] {
      return Then(Residuals(kResidualsOfAxes), [this](const Sample& sample) {
        return PrincipalAxes(sample, shape_.axes, shape_.seed, build_.pool, call_);
      });
    });
  }

  absl::Status FindCodebooks() {
    if (shape_.code != IvfCode::kPq4) return absl::OkStatus();
    return FindFloats("codebooks", 16 * int64_t{shape_.dimension}, &trained_.codebooks, [this] {
      return Then(Residuals(kResidualsOfCodebooks), [this](const Sample& sample) {
        return TrainCodebooks(sample, shape_, build_.pool, call_);
      });
    });
  }

  template <typename Next>
  static absl::StatusOr<std::vector<float>> Then(const absl::StatusOr<Sample>& sample,
                                                 const Next& next) {
    if (!sample.ok()) return sample.status();
    return next(*sample);
  }

  // `count` numbers of an earlier run or, as it keeps them, what `train` gives.
  template <typename Train>
  absl::Status FindFloats(absl::string_view name, int64_t count, std::vector<float>* numbers,
                          const Train& train) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
    if (const auto kept = stages_.Find(name, bytes); kept.has_value()) {
      *numbers = NumbersOf<float>(*kept);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(*numbers, train());
    return stages_.Keep(name, BytesOf(*numbers));
  }

  // `count` rows in int8, of an earlier run or, as it keeps them, of what `train` gives.
  template <typename Train>
  absl::Status FindMatrix(absl::string_view name, int64_t count, Int8Matrix* matrix,
                          const Train& train) {
    const int64_t code_bytes = count * shape_.centroid_bytes();
    const int64_t bytes = code_bytes + count * static_cast<int64_t>(sizeof(float));
    if (const auto kept = stages_.Find(name, bytes); kept.has_value()) {
      matrix->codes = NumbersOf<int8_t>(absl::string_view(*kept).substr(0, code_bytes));
      matrix->scales = NumbersOf<float>(absl::string_view(*kept).substr(code_bytes));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<float> trained, train());
    *matrix = EncodeInt8(trained, shape_);
    return stages_.Keep(name, absl::StrCat(BytesOf(matrix->codes), BytesOf(matrix->scales)));
  }

  // What `count` rows at most, drawn, have beyond their centroids; `lists`, if not null, are
  // theirs.
  absl::StatusOr<Sample> Residuals(int64_t count, std::vector<int32_t>* lists = nullptr) const {
    ASSIGN_OR_RETURN(Sample sample, Draw(std::min(shape_.rows, count)));
    const std::vector<float> centroids = DecodeInt8(trained_.centroids, shape_);
    std::vector<int32_t> own;
    if (lists == nullptr) lists = &own;
    lists->resize(sample.rows());
    build_.pool->ParallelFor(sample.rows(), kRowsAtOnce, [&](int64_t begin, int64_t end) {
      if (call_.cancelled() || call_.expired()) return;
      nearest_->Assign(sample.row(begin), end - begin, lists->data() + begin);
      for (int64_t i = begin; i < end; ++i) {
        float* const row = sample.values.data() + i * shape_.dimension;
        const float* const centroid = centroids.data() + int64_t{(*lists)[i]} * shape_.dimension;
        for (int j = 0; j < shape_.dimension; ++j) row[j] -= centroid[j];
      }
    });
    RETURN_IF_ERROR(call_.Check("building an index"));
    return sample;
  }

  // The list of each row.
  absl::Status FindLists() {
    lists_.resize(shape_.rows);
    for (int64_t begin = 0; begin < shape_.rows; begin += kChunkRows) {
      const int64_t end = std::min(begin + kChunkRows, shape_.rows);
      const std::string name = absl::StrFormat("lists-%05d", begin / kChunkRows);
      const int64_t bytes = (end - begin) * static_cast<int64_t>(sizeof(int32_t));
      if (const auto kept = stages_.Find(name, bytes); kept.has_value()) {
        std::memcpy(&lists_[begin], kept->data(), kept->size());
        if (build_.progress != nullptr) build_.progress->Skip(end - begin);
        continue;
      }
      RETURN_IF_ERROR(
          ForRows(begin, end, [&](int64_t first, int64_t count, const float* rows, const bool*) {
            nearest_->Assign(rows, count, &lists_[first]);
            if (build_.progress != nullptr) build_.progress->Advance(count);
          }));
      RETURN_IF_ERROR(stages_.Keep(name, BytesOf(&lists_[begin], bytes)));
    }
    return absl::OkStatus();
  }

  // --- the file ---

  // The position of each row, and where lists begin.
  void FindPositions() {
    offsets_.assign(shape_.lists + 1, 0);
    for (const int32_t list : lists_) ++offsets_[list + 1];
    for (int64_t list = 0; list < shape_.lists; ++list) offsets_[list + 1] += offsets_[list];
    std::vector<int64_t> next(offsets_.begin(), offsets_.end() - 1);
    positions_.resize(shape_.rows);
    rows_.resize(shape_.rows);
    for (int64_t row = 0; row < shape_.rows; ++row) {
      const int64_t position = next[lists_[row]]++;
      positions_[row] = static_cast<int32_t>(position);
      rows_[position] = static_cast<int32_t>(row);
    }
  }

  absl::StatusOr<bundle::v1::BundleFile> Write() {
    FindPositions();
    bundle::v1::BundleFile file;
    file.set_path(ShardFileName(build_.shard, build_.manifest->shards_size(), "ivf"));
    ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer,
                     ContainerWriter::Create(JoinPath(build_.directory, file.path())));
    RETURN_IF_ERROR(Declare(writer.get()));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.centroids.codes)));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.centroids.scales)));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.reaches)));
    RETURN_IF_ERROR(writer->Append(BytesOf(offsets_)));
    RETURN_IF_ERROR(writer->Append(BytesOf(rows_)));
    RETURN_IF_ERROR(WriteCodes(writer.get()));
    RETURN_IF_ERROR(writer->Append(BytesOf(code_scales_)));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.axes.codes)));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.axes.scales)));
    RETURN_IF_ERROR(writer->Append(BytesOf(trained_.codebooks)));
    ASSIGN_OR_RETURN(const ContainerWriter::Summary summary, writer->Finish());
    file.set_byte_count(summary.byte_count);
    file.set_sha256(summary.sha256);
    return file;
  }

  absl::Status Declare(ContainerWriter* writer) const {
    const int64_t lists = shape_.lists, rows = shape_.rows;
    RETURN_IF_ERROR(writer->Declare("centroids", Dtype::kInt8, {lists, shape_.centroid_bytes()}));
    RETURN_IF_ERROR(writer->Declare("centroid_scales", Dtype::kFloat32, {lists}));
    RETURN_IF_ERROR(writer->Declare("reaches", Dtype::kFloat32, {lists}));
    RETURN_IF_ERROR(writer->Declare("offsets", Dtype::kInt64, {lists + 1}));
    RETURN_IF_ERROR(writer->Declare("rows", Dtype::kInt32, {rows}));
    if (shape_.code == IvfCode::kInt8) {
      RETURN_IF_ERROR(writer->Declare("codes", Dtype::kInt8, {rows, shape_.centroid_bytes()}));
      return writer->Declare("code_scales", Dtype::kFloat32, {rows});
    }
    if (!shape_.has_nibbles()) return absl::OkStatus();
    RETURN_IF_ERROR(writer->Declare("codes", Dtype::kBytes, {shape_.code_bytes()}));
    if (shape_.axes > 0) {
      RETURN_IF_ERROR(
          writer->Declare("axes", Dtype::kInt8, {shape_.axes, shape_.centroid_bytes()}));
      RETURN_IF_ERROR(writer->Declare("axis_scales", Dtype::kFloat32, {shape_.axes}));
    }
    if (shape_.code != IvfCode::kPq4) return absl::OkStatus();
    return writer->Declare("codebooks", Dtype::kFloat32, {16 * int64_t{shape_.dimension}});
  }

  // Codes of as many positions as fit the memory, a pass through the rows each.
  absl::Status WriteCodes(ContainerWriter* writer) {
    if (shape_.code == IvfCode::kRows) return absl::OkStatus();
    if (shape_.code == IvfCode::kInt8) code_scales_.resize(shape_.rows);
    const RowEncoder encoder(shape_, trained_);
    constexpr int64_t kBlock = kernels::kNibbleBlockRows;
    const int64_t block_bytes =
        shape_.has_nibbles() ? shape_.block_bytes() : kBlock * shape_.centroid_bytes();
    const int64_t pass_rows = std::max<int64_t>(1, kCodesAtOnce / block_bytes) * kBlock;
    for (int64_t begin = 0; begin < shape_.rows; begin += pass_rows) {
      const int64_t end = std::min(begin + pass_rows, shape_.rows);
      const int64_t bytes = shape_.has_nibbles() ? kernels::NibbleBlocks(end - begin) * block_bytes
                                                 : (end - begin) * shape_.centroid_bytes();
      ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> codes,
                       ResidentMemory::Allocate(bytes));
      RETURN_IF_ERROR(ForRows(
          0, shape_.rows, [&](int64_t first, int64_t count, const float* rows, const bool* usable) {
            for (int64_t i = 0; i < count; ++i) {
              const int64_t position = positions_[first + i];
              if (position < begin || position >= end) continue;
              encoder.Encode(rows + i * shape_.dimension, usable[i], lists_[first + i],
                             position - begin, reinterpret_cast<uint8_t*>(codes->data()),
                             code_scales_.empty() ? nullptr : &code_scales_[position]);
            }
          }));
      RETURN_IF_ERROR(writer->Append(BytesOf(codes->data(), bytes)));
    }
    return absl::OkStatus();
  }

  const IndexBuild& build_;
  const IvfShape shape_;
  const CallContext& call_;
  const IvfStages stages_;

  IvfTrained trained_;
  std::unique_ptr<NearestCentroids> nearest_;
  std::vector<int32_t> lists_;      // by row
  std::vector<int32_t> positions_;  // by row
  std::vector<int32_t> rows_;       // by position
  std::vector<int64_t> offsets_;
  std::vector<float> code_scales_;  // of int8
};

}  // namespace

int64_t IvfBuildMemory(const IvfShape& shape, int threads) {
  constexpr int64_t kFloat = sizeof(float);
  const int64_t centroids = shape.lists * (shape.dimension + 1) * kFloat;
  const int64_t training = SampledRows(shape) * (shape.dimension + 2) * kFloat + 3 * centroids;
  const int64_t writing = shape.rows * 3 * static_cast<int64_t>(sizeof(int32_t)) +
                          std::min(shape.code_bytes(), kCodesAtOnce) +
                          (shape.code == IvfCode::kInt8 ? shape.rows * kFloat : 0) +
                          shape.lists * shape.space_size() * kFloat + 3 * centroids;
  const int64_t axes =
      (kResidualsOfAxes + shape.dimension + 2 * shape.axes) * shape.dimension * kFloat +
      2 * centroids;
  return std::max({training, axes, writing}) +
         threads * kRowsAtOnce * (shape.dimension + 1) * kFloat;
}

absl::StatusOr<std::string> IvfFingerprint(const IndexBuild& build, const IvfShape& shape,
                                           const kernels::CpuFeatures& features) {
  std::string told = absl::StrCat(
      kBuildVersion, " shard ", build.shard, " of ", shape.rows, " x ", shape.dimension, " ",
      DtypeName(build.vectors.dtype), ", seed ", shape.seed, ", lists ", shape.lists, ", code ",
      static_cast<int>(shape.code), ", parts ", shape.parts, ", axes ", shape.axes, ", vectors ",
      build.manifest->shards(build.shard).vectors().sha256(), ", kernel ",
      kernels::InnerProductKernelFor(features).instructions, " ");
  std::vector<float> row(shape.dimension);
  const int64_t count = std::min(kFingerprintRows, shape.rows);
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CopyRows(build.vectors, shape.rows * i / count, 1, row.data()));
    absl::StrAppend(&told, BytesOf(row));
  }
  return Sha256Hex(told);
}

absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildIvf(const IndexBuild& build) {
  RETURN_IF_ERROR(CheckView(build.vectors));
  ASSIGN_OR_RETURN(const IvfShape shape, IvfShapeOf(*build.manifest, build.shard));
  if (build.vectors.rows != shape.rows || build.vectors.dimension != shape.dimension) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an index of ", build.vectors.rows, " rows of dimension ", build.vectors.dimension,
        "; the manifest has ", shape.rows, " of ", shape.dimension));
  }
  std::vector<bundle::v1::BundleFile> files;
  if (shape.rows == 0) return files;
  ASSIGN_OR_RETURN(std::string fingerprint, IvfFingerprint(build, shape, kernels::ThisCpu()));
  ASSIGN_OR_RETURN(files.emplace_back(), IvfBuilder(build, shape, std::move(fingerprint)).Run());
  return files;
}

}  // namespace sightline
