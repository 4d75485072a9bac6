// What a synthetic generation is to be, and all that follows from it.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_PLAN_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/dtype.h"
#include "common/bundle/vector_dtype.h"
#include "common/indexing/index_settings.h"
#include "loadtest/synthesize/item_vectors.h"
#include "loadtest/synthesize/stored_pairs.h"
#include "loadtest/synthesize/synthetic_vectors.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct SynthesisOptions {
  std::string store;
  std::string index;
  std::string generation;  // empty: named by what is in it
  int64_t items = 0;
  int shards = 1;
  // Dimension 0: the encoder's.  Clusters 0: one for 32 items.
  VectorSpec vectors = {/*seed=*/1, /*dimension=*/0, /*clusters=*/0, DemoShape()};
  // What items are grown from (grown_vectors.h), with the seed and the own share of `vectors`;
  // null: they are drawn.
  std::shared_ptr<const StoredPairs> like;

  // Bundles of the store.  The generation is of the embedding space of the encoder; without
  // one it is of a space of its own, which only index_search can serve.
  std::string encoder_model;
  std::string reranker_model;  // empty: no features
  int regions = 0;             // of an item; 0: as many as the reranker reads

  Dtype vector_dtype = kDefaultVectorDtype;  // that embeddings are stored as
  IndexWish index_wish;

  bool publish = true;
};

// Everything that follows from the options.
struct SynthesisPlan {
  SynthesisOptions options;             // with nothing left open
  bundle::v1::EmbeddingSpec embedding;  // of the generation
  int region_columns = 0;
  std::string content;     // JSON: all that the bytes depend on
  int64_t byte_count = 0;  // about what the files will have
};

// Reads the bundles and fills in what is open.  InvalidArgument, saying what to change, for
// options that make no generation; NotFound for a bundle; FailedPrecondition for one that
// does not encode or rerank.
absl::StatusOr<SynthesisPlan> PlanSynthesis(const SynthesisOptions& options);

// Of a plan's options.
std::unique_ptr<ItemVectors> VectorsOf(const SynthesisOptions& options);

// Of an item of a plan.
int64_t FeatureBytes(const SynthesisPlan& plan);
int64_t VectorBytes(const SynthesisPlan& plan);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_PLAN_H_
