#include "loadtest/bench/measured_index.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/index/index_kinds.h"

namespace sightline {
namespace {

constexpr int kFew = 10;
constexpr int kMany = 100;

// Of this process, as Linux counts what is resident.
double ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) * 1024;
  }
  return 0;
}

double Now() {
  return absl::ToDoubleSeconds(Clock::Real()->Now() - absl::UnixEpoch());
}

// Of all threads of this process.
double ProcessorTime() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of the first `k` true neighbors of each query, the share that is among the first `k` found.
double Recall(const std::vector<std::vector<Neighbor>>& found, const Probes& probes, size_t k) {
  int64_t wanted = 0, hits = 0;
  for (size_t query = 0; query < found.size(); ++query) {
    const std::vector<int64_t>& truth = probes.neighbors[query];
    const auto end = truth.begin() + static_cast<std::ptrdiff_t>(std::min(k, truth.size()));
    wanted += end - truth.begin();
    for (size_t i = 0; i < std::min(k, found[query].size()); ++i) {
      hits += std::count(truth.begin(), end, found[query][i].row);
    }
  }
  return wanted == 0 ? 1 : static_cast<double>(hits) / static_cast<double>(wanted);
}

}  // namespace

double Percentile(std::vector<double> seconds, double share) {
  if (seconds.empty()) return 0;
  const auto place = seconds.begin() +
                     static_cast<std::ptrdiff_t>(share * static_cast<double>(seconds.size() - 1));
  std::nth_element(seconds.begin(), place, seconds.end());
  return *place;
}

absl::StatusOr<std::unique_ptr<MeasuredIndex>> MeasuredIndex::Open(const std::string& store,
                                                                   const std::string& index,
                                                                   const std::string& generation,
                                                                   bool on_disk,
                                                                   ComputePool* pool) {
  auto opened = std::make_unique<MeasuredIndex>();
  ASSIGN_OR_RETURN(opened->manifest_, ReadGenerationManifest(store, index, generation));
  const bundle::v1::GenerationManifest& manifest = opened->manifest_;
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
  if (!kind->exact && manifest.recall_probe().neighbor_count() < kMany) {
    return absl::FailedPreconditionError(absl::StrCat(
        "generation ", generation, " has probes with ", manifest.recall_probe().neighbor_count(),
        " neighbors; ", kMany, " are needed"));
  }
  const std::string directory = GenerationDirectory(store, index, generation);
  opened->exact_ = kind->exact;
  opened->on_disk_ = on_disk;
  const double before = ResidentBytes(), start = Now();
  const CallContext call = CallContext::Unbounded();
  for (int number = 0; number < manifest.shards_size(); ++number) {
    Shard shard;
    const bundle::v1::ShardManifest& description = manifest.shards(number);
    ASSIGN_OR_RETURN(shard.vectors,
                     ShardVectors::Open(JoinPath(directory, description.vectors().path()),
                                        description, manifest.embedding().dimension()));
    RETURN_IF_ERROR(
        shard.vectors->Load(call, on_disk ? EmbeddingPlace::kDisk : EmbeddingPlace::kMemory));
    shard.view = {shard.vectors->data(),   shard.vectors->size(),  shard.vectors->dimension(),
                  shard.vectors->stride(), shard.vectors->dtype(), shard.vectors->rows_on_disk()};
    ASSIGN_OR_RETURN(shard.index, kind->open(directory, manifest, number, shard.view, pool, call));
    ASSIGN_OR_RETURN(shard.probes, ReadProbes(JoinPath(directory, description.probes().path()),
                                              manifest, number));
    opened->shards_.push_back(std::move(shard));
  }
  opened->load_seconds_ = Now() - start;
  opened->resident_bytes_ = ResidentBytes() - before;
  const EmbeddingMatrix& queries = opened->queries();
  for (int64_t i = 0; i < queries.rows(); ++i) {
    EmbeddingMatrix& query = opened->alone_.emplace_back(1, queries.dimension());
    std::copy_n(queries.row(i).data(), queries.dimension(), query.mutable_data());
  }
  return opened;
}

std::string MeasuredIndex::Name() const {
  const bundle::v1::IndexSpec& spec = manifest_.index_spec();
  std::string name = spec.kind().empty() ? "flat" : spec.kind();
  if (spec.has_ivf()) absl::StrAppend(&name, " ", spec.ivf().code());
  if (spec.has_hnsw()) absl::StrAppend(&name, " ", spec.hnsw().code());
  absl::StrAppend(&name, ", ",
                  manifest_.vector_dtype().empty() ? "float32" : manifest_.vector_dtype(), " rows");
  if (on_disk_) absl::StrAppend(&name, " on disk");
  return name;
}

double MeasuredIndex::BytesAnItem() const {
  int64_t bytes = 0;
  for (const Shard& shard : shards_) {
    bytes += shard.index->byte_count() + shard.vectors->row_bytes_in_memory();
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(items(), 1));
}

absl::StatusOr<Measured> MeasuredIndex::RecallAt(int effort) const {
  Measured measured;
  measured.effort = effort;
  const CallContext call = CallContext::Unbounded();
  for (const Shard& shard : shards_) {
    for (const int k : {kFew, kMany}) {
      SearchOptions options;
      options.top_k = k;
      options.effort = effort;
      ASSIGN_OR_RETURN(const auto found, shard.index->Search(shard.probes.queries, options, call));
      double& recall = k == kFew ? measured.recall_at_10 : measured.recall_at_100;
      recall +=
          Recall(found, shard.probes, static_cast<size_t>(k)) / static_cast<double>(shards_.size());
    }
  }
  return measured;
}

absl::StatusOr<Measured> MeasuredIndex::EffortFor(double recall) const {
  int low = 0, high = 1;  // too little, enough
  absl::StatusOr<Measured> best = RecallAt(high);
  for (; best.ok() && best->recall_at_10 < recall; best = RecallAt(high)) {
    low = high;
    if (high >= limits::kMaxEffort) {
      return absl::NotFoundError(absl::StrCat(Name(), " finds at most ", best->recall_at_10));
    }
    high = std::min(2 * high, limits::kMaxEffort);
  }
  while (best.ok() && high - low > std::max(1, high / 20)) {
    const int middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(Measured tried, RecallAt(middle));
    if (tried.recall_at_10 >= recall) {
      high = middle;
      best = std::move(tried);
    } else {
      low = middle;
    }
  }
  return best;
}

absl::Status MeasuredIndex::Time(Measured* measured) const {
  const CallContext call = CallContext::Unbounded();
  SearchOptions options;
  options.top_k = kFew;
  options.effort = measured->effort;
  for (const EmbeddingMatrix& query : alone_) {
    const double start = Now();
    for (const Shard& shard : shards_) {
      RETURN_IF_ERROR(shard.index->Search(query, options, call).status());
    }
    measured->seconds.push_back(Now() - start);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> MeasuredIndex::ProcessorTimeAt(int effort, double rate, int64_t seed) const {
  const CallContext call = CallContext::Unbounded();
  SearchOptions options;
  options.top_k = kFew;
  options.effort = effort;
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  std::exponential_distribution<double> gap(rate);
  std::chrono::duration<double> due(0);
  const double start = ProcessorTime();
  const auto began = std::chrono::steady_clock::now();
  for (const EmbeddingMatrix& query : alone_) {
    due += std::chrono::duration<double>(gap(random));
    std::this_thread::sleep_until(
        began + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
    for (const Shard& shard : shards_) {
      RETURN_IF_ERROR(shard.index->Search(query, options, call).status());
    }
  }
  return (ProcessorTime() - start) / static_cast<double>(alone_.size());
}

}  // namespace sightline
