#include "loadtest/synthesize/stored_pairs.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/publication.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vectors_reader.h"
#include "common/evaluation/relevance.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

// Two rows whose cosine is above this are one.
constexpr float kEqual = 0.9999f;
constexpr int kCopiesLookedAt = 32;
constexpr int64_t kQueriesAtOnce = 64;

struct Rows {
  EmbeddingMatrix embeddings;
  std::vector<std::string> ids;
};

absl::StatusOr<GenerationManifest> CurrentManifest(const std::string& store,
                                                   const std::string& index) {
  ASSIGN_OR_RETURN(const bundle::v1::CurrentGeneration current, ReadCurrent(store, index));
  return ReadGenerationManifest(store, index, current.generation());
}

// Those of the rows whose number, counted through the shards, is one of kMostStoredPairs.
absl::StatusOr<Rows> ReadRows(const std::string& store, const GenerationManifest& manifest,
                              const CallContext& call) {
  const std::string directory = GenerationDirectory(store, manifest.index(), manifest.generation());
  const int dimension = manifest.embedding().dimension();
  const int64_t all = manifest.item_count(), count = std::min(all, kMostStoredPairs);
  Rows rows;
  rows.embeddings = EmbeddingMatrix(count, dimension);
  int64_t first = 0;  // of the shard
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    const std::string path = JoinPath(directory, shard.vectors().path());
    ASSIGN_OR_RETURN(const auto ids, ShardVectors::Open(path, shard, dimension));
    ASSIGN_OR_RETURN(const auto file, VectorsFile::Open(path, shard, dimension));
    VectorsReader reader(*file);
    while (static_cast<int64_t>(rows.ids.size()) < count) {
      const auto next = static_cast<int64_t>(rows.ids.size());
      const int64_t row = next * all / count - first;
      if (row >= ids->size()) break;
      if (next % 4096 == 0) RETURN_IF_ERROR(call.Check("reading embeddings"));
      RETURN_IF_ERROR(reader.Embedding(row, rows.embeddings.mutable_row(next)));
      rows.ids.emplace_back(ids->item_id(row));
    }
    first += ids->size();
  }
  if (static_cast<int64_t>(rows.ids.size()) != count) {
    return absl::DataLossError(absl::StrCat(directory, " has fewer items than its manifest says"));
  }
  NormalizeRows(rows.embeddings);
  return rows;
}

// Of each row the first that equals it, which may be itself.
absl::StatusOr<std::vector<int64_t>> FirstEquals(const EmbeddingMatrix& rows, ComputePool* pool,
                                                 const CallContext& call) {
  const VectorView view = {rows.data(), rows.rows(), rows.dimension(), rows.dimension()};
  ASSIGN_OR_RETURN(const std::unique_ptr<VectorIndex> index, OpenFlatIndex(view, pool));
  std::vector<int64_t> firsts;
  for (int64_t begin = 0; begin < rows.rows(); begin += kQueriesAtOnce) {
    EmbeddingMatrix some(std::min(kQueriesAtOnce, rows.rows() - begin), rows.dimension());
    std::copy_n(rows.row(begin).data(), some.values().size(), some.mutable_data());
    ASSIGN_OR_RETURN(const auto found, index->Search(some, {kCopiesLookedAt}, call));
    for (const std::vector<Neighbor>& neighbors : found) {
      int64_t equal = static_cast<int64_t>(firsts.size());
      for (const Neighbor& neighbor : neighbors) {
        if (neighbor.score > kEqual) equal = std::min(equal, neighbor.row);
      }
      firsts.push_back(equal < static_cast<int64_t>(firsts.size()) ? firsts[equal] : equal);
    }
  }
  return firsts;
}

EmbeddingMatrix Chosen(const EmbeddingMatrix& rows, const std::vector<int64_t>& chosen) {
  EmbeddingMatrix matrix(static_cast<int64_t>(chosen.size()), rows.dimension());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const absl::Span<const float> row = rows.row(chosen[i]);
    std::copy(row.begin(), row.end(), matrix.mutable_row(static_cast<int64_t>(i)).begin());
  }
  return matrix;
}

}  // namespace

absl::StatusOr<StoredPairs> ReadStoredPairs(const std::string& store, const std::string& images,
                                            const std::string& captions, ComputePool* pool,
                                            const CallContext& call) {
  ASSIGN_OR_RETURN(const GenerationManifest of_images, CurrentManifest(store, images));
  ASSIGN_OR_RETURN(const GenerationManifest of_captions, CurrentManifest(store, captions));
  if (of_images.embedding().space() != of_captions.embedding().space()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the indexes ", images, " and ", captions,
                     " are of two embedding spaces; name two of one"));
  }
  ASSIGN_OR_RETURN(const Rows items, ReadRows(store, of_images, call));
  ASSIGN_OR_RETURN(const Rows queries, ReadRows(store, of_captions, call));
  ASSIGN_OR_RETURN(const std::vector<int64_t> equal_items,
                   FirstEquals(items.embeddings, pool, call));
  ASSIGN_OR_RETURN(const std::vector<int64_t> equal_queries,
                   FirstEquals(queries.embeddings, pool, call));

  std::unordered_map<std::string, int64_t> places;  // of ids, among the items that are kept
  std::vector<int64_t> kept_items, kept_queries;
  std::vector<int64_t> place_of(equal_items.size());
  for (size_t row = 0; row < equal_items.size(); ++row) {
    const auto number = static_cast<int64_t>(row);
    place_of[row] = equal_items[row] == number ? static_cast<int64_t>(kept_items.size())
                                               : place_of[equal_items[row]];
    if (equal_items[row] == number) kept_items.push_back(number);
    places[items.ids[row]] = place_of[row];
  }
  StoredPairs stored;
  stored.space = of_images.embedding().space();
  PairedEmbeddings& pairs = stored.embeddings;
  for (size_t row = 0; row < equal_queries.size(); ++row) {
    if (equal_queries[row] != static_cast<int64_t>(row)) continue;
    ASSIGN_OR_RETURN(const CaptionIdParts parts, ParseCaptionId(queries.ids[row]));
    const auto place = places.find(parts.image_id);
    if (place == places.end()) continue;  // its picture was not read
    kept_queries.push_back(static_cast<int64_t>(row));
    pairs.about.push_back(place->second);
  }
  pairs.items = Chosen(items.embeddings, kept_items);
  pairs.queries = Chosen(queries.embeddings, kept_queries);
  return stored;
}

}  // namespace sightline
