// A generation on disk: shards, ledgers, manifest.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_source.h"
#include "common/bundle/vector_dtype.h"
#include "common/indexing/index_settings.h"
#include "common/indexing/make_index.h"
#include "common/log/progress.h"
#include "common/models/precision/policy.h"
#include "common/object_store/object_store.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/remote_store.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a generation is made of, beside its items.
struct GenerationSpec {
  std::string store;
  std::shared_ptr<ObjectStore> object_store;  // as that of JobStore
  std::string index;
  std::string generation;
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  // Of the base; empty: what CURRENT names is the parent.
  std::string parent;
  int shard_count = 1;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::vector<NamedReranker> rerankers;  // whose features items carry, the default first
  Dtype feature_dtype = kDefaultFeatureDtype;
  Dtype vector_dtype = kDefaultVectorDtype;
  PrecisionChoice precision;
  // Hash of all that the content depends on; kept beside the manifest, so that a second
  // generation of the same name is recognised as the same or another.
  std::string content;
  // RefusedHash of both indexes, kept beside it: when a refusal has passed, the same content
  // gives another collection.
  std::string refused;
  IndexWish index_wish;
  double recall_floor = 0.99;  // of an exact kind
  int threads = 1;  // that look for the true neighbors of the probes' queries, and build indexes
  Progress* progress = nullptr;  // of that; may be null
};

struct WrittenGeneration {
  int64_t item_count = 0;
  int64_t byte_count = 0;         // of the shards' files
  int64_t quarantined_count = 0;  // lines of its ledger
  bool already_there = false;     // nothing had to be written
  std::string refused;            // as in GenerationSpec; empty if an older program wrote it

  // Whether it holds the items that `spec` is to hold, as far as can be told.
  bool IsOf(const GenerationSpec& spec) const { return refused.empty() || refused == spec.refused; }
};

// Hash of which items were refused, whatever the reason.  Nothing may be added to the quarantines
// after it.
absl::StatusOr<std::string> RefusedHash(Quarantine& images, Quarantine& captions);

// The generation of this name, if it was written before, to its end, with this content.
// NotFound if it was not; AlreadyExists if it is there with other content.
absl::StatusOr<WrittenGeneration> FindWrittenGeneration(const std::string& store,
                                                        const std::string& index,
                                                        const std::string& generation,
                                                        const std::string& content);

// Removes the manifest of a generation that was made of other items than `spec`, and which nobody
// has seen: by a run that was killed before it had written the other index.  Before its shards are
// written again.  AlreadyExists, with the manifest left, if it was published.
absl::Status DiscardUnpublished(const GenerationSpec& spec, const CallContext& call);

// Writes one shard's files in their place, where nobody takes notice of them before there is
// a manifest.  DataLoss for rows that have been damaged since they were checked.
absl::StatusOr<bundle::v1::ShardManifest> WriteGenerationShard(const GenerationSpec& spec,
                                                               int shard, ShardSource& rows);

// Makes a generation of its shards, which are written: the index, the probes that servers measure
// their recall with, ledgers, and last the manifest.  One that is there already with the same
// content is left alone.  AlreadyExists if it is there with other content or of other items;
// CANCELLED if `call` is.
absl::StatusOr<WrittenGeneration> FinishGeneration(
    const GenerationSpec& spec, const std::vector<bundle::v1::ShardManifest>& shards,
    const QuerySource& probe_queries, Quarantine& quarantine, const Warnings& warnings,
    const CallContext& call);

// Publishes the generation, which an object store has by now if there is one, unless CURRENT names
// it.  False, with a log line, if an earlier run has written it (`already_there`) and it was
// rolled back since: that was on purpose.
absl::StatusOr<bool> PublishWritten(const JobStore& store, const std::string& index,
                                    const std::string& generation, bool already_there,
                                    const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
