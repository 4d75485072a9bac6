#include "loadtest/baseline/ann_peers/ann_corpus.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "loadtest/synthesize/embedding_measures.h"
#include "loadtest/synthesize/stored_pairs.h"

namespace sightline {
namespace {

constexpr int64_t kGrain = 1024;
constexpr int64_t kQueriesAtOnce = 64;
constexpr size_t kKeyDigits = 12;

// What is kept of other items must never be taken for these, even where the formula changed.
std::string KeyOf(const VectorView& items) {
  const int64_t first = std::min<int64_t>(items.rows, 64);
  const absl::string_view bytes(items.row(0), first * items.stride * sizeof(float));
  return Sha256Hex(absl::StrCat(items.rows, "x", items.dimension, bytes)).substr(0, kKeyDigits);
}

absl::Status FindTruth(ComputePool* pool, AnnCorpus* corpus) {
  ASSIGN_OR_RETURN(const std::unique_ptr<VectorIndex> exact, OpenFlatIndex(corpus->items, pool));
  const EmbeddingMatrix& queries = corpus->queries;
  for (int64_t first = 0; first < queries.rows(); first += kQueriesAtOnce) {
    EmbeddingMatrix some(std::min(kQueriesAtOnce, queries.rows() - first), queries.dimension());
    std::copy_n(queries.row(first).data(), some.values().size(), some.mutable_data());
    ASSIGN_OR_RETURN(const auto found,
                     exact->Search(some, {kTruthDepth}, CallContext::Unbounded()));
    for (const std::vector<Neighbor>& neighbors : found) {
      std::vector<int64_t>& rows = corpus->truth.emplace_back();
      for (const Neighbor& neighbor : neighbors) rows.push_back(neighbor.row);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AnnCorpus> DrawAnnCorpus(const VectorSpec& spec, int64_t items, int64_t queries,
                                        ComputePool* pool) {
  AnnCorpus corpus;
  const int64_t dimension = spec.dimension;
  ASSIGN_OR_RETURN(corpus.memory, ResidentMemory::Allocate(items * dimension *
                                                           static_cast<int64_t>(sizeof(float))));
  auto* const rows = reinterpret_cast<float*>(corpus.memory->data());
  const SyntheticVectors vectors(spec);
  std::vector<uint32_t> numbers(std::max(items, queries));
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto all = absl::MakeConstSpan(numbers);
  pool->ParallelFor(items, kGrain, [&](int64_t begin, int64_t end) {
    vectors.Fill(all.subspan(begin, end - begin), rows + begin * dimension);
  });
  corpus.items = {rows, items, spec.dimension, dimension};
  corpus.queries = EmbeddingMatrix(queries, spec.dimension);
  vectors.FillQueries(all.subspan(0, queries), corpus.queries.mutable_data());
  corpus.key = KeyOf(corpus.items);
  RETURN_IF_ERROR(FindTruth(pool, &corpus));
  return corpus;
}

absl::StatusOr<AnnCorpus> ReadAnnCorpus(const std::string& store, int64_t queries,
                                        ComputePool* pool) {
  ASSIGN_OR_RETURN(const StoredPairs stored,
                   ReadStoredPairs(store, "images", "captions", pool, CallContext::Unbounded()));
  const PairedEmbeddings& pairs = stored.embeddings;
  AnnCorpus corpus;
  const int dimension = pairs.items.dimension();
  ASSIGN_OR_RETURN(corpus.memory,
                   ResidentMemory::Allocate(static_cast<int64_t>(pairs.items.values().size()) *
                                            static_cast<int64_t>(sizeof(float))));
  auto* const rows = reinterpret_cast<float*>(corpus.memory->data());
  std::copy(pairs.items.values().begin(), pairs.items.values().end(), rows);
  corpus.items = {rows, pairs.items.rows(), dimension, dimension};
  const int64_t count = std::min(queries, pairs.queries.rows());
  corpus.queries = EmbeddingMatrix(count, dimension);
  for (int64_t i = 0; i < count; ++i) {
    const absl::Span<const float> query = pairs.queries.row(i * pairs.queries.rows() / count);
    std::copy(query.begin(), query.end(), corpus.queries.mutable_row(i).begin());
  }
  corpus.key = KeyOf(corpus.items);
  RETURN_IF_ERROR(FindTruth(pool, &corpus));
  return corpus;
}

double RecallAt(int k, absl::Span<const int64_t> found, absl::Span<const int64_t> truth) {
  const absl::Span<const int64_t> wanted = truth.subspan(0, k);
  const absl::Span<const int64_t> given = found.subspan(0, k);
  if (wanted.empty()) return 1;
  const auto hits = std::count_if(wanted.begin(), wanted.end(), [given](int64_t row) {
    return std::find(given.begin(), given.end(), row) != given.end();
  });
  return static_cast<double>(hits) / static_cast<double>(wanted.size());
}

}  // namespace sightline
