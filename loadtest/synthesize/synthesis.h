// Making a whole generation of items that nobody encoded, and publishing it.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/bundle/vector_dtype.h"
#include "common/indexing/index_settings.h"
#include "common/log/progress.h"
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

struct SynthesisSummary {
  std::string generation;
  int64_t items = 0;
  int64_t byte_count = 0;
  bool already_there = false;  // nothing had to be written
  bool published = false;      // by this run
  absl::Duration write_time;
};

// Makes the generation shard by shard, its manifest last, and renames CURRENT if that was
// asked.  Memory: a block of vectors for the pool, and four bytes an item; then what building the
// index takes.  Equal options give equal files, whatever the threads, but for the manifest and the
// report where an index is measured or chosen.  A generation that is there already with the same
// content is left alone.
//
// ResourceExhausted when the disk is too small, before anything is written if that can be
// seen then; AlreadyExists if the generation is there with other content.  What an error or
// the end of `call` leaves unfinished is removed.
absl::StatusOr<SynthesisSummary> Synthesize(const SynthesisPlan& plan, const CallContext& call,
                                            ComputePool* pool, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHESIS_H_
