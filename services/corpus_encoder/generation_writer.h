// From finished units to a generation on disk: shards, ledger, manifest.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/rerankers.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/recall_probes.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/generation_items.h"
#include "services/corpus_encoder/generation_shard.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a generation is made of.
struct GenerationSpec {
  std::string store;
  std::string index;
  std::string generation;
  // Of the base; empty: what CURRENT names is the parent.
  std::string parent;
  int shard_count = 1;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::vector<NamedReranker> rerankers;  // whose features items carry, the default first
  // Hash of all that the content depends on; kept beside the manifest, so that a second
  // generation of the same name is recognised as the same or another.
  std::string content;
  std::string quarantine;  // the ledgers' text
  std::string warnings;
  EmbeddingMatrix probe_queries;  // that servers measure their recall with
  RecallProbeOptions recall;
  int threads = 1;  // that look for the true neighbors of the queries
  ItemSources sources;
};

inline constexpr absl::string_view kWarningsFile = "warnings.jsonl";

struct WrittenGeneration {
  int64_t item_count = 0;
  int64_t byte_count = 0;         // of the shards' files
  int64_t quarantined_count = 0;  // lines of its ledger
  bool already_there = false;     // nothing had to be written
};

// The generation of this name, if it was written before, to its end, with this content.
// NotFound if it was not; AlreadyExists if it is there with other content.
absl::StatusOr<WrittenGeneration> FindWrittenGeneration(const std::string& store,
                                                        const std::string& index,
                                                        const std::string& generation,
                                                        const std::string& content);

// Writes `items`, which are by id, as a generation, shard by shard; memory does not grow
// with what the items have of embeddings and features.  The manifest is written last; until
// then nobody takes notice of the folder.  A generation that is there already with the same
// content is left alone.
//
// AlreadyExists if it is there with other content; DataLoss for a unit file that has been
// damaged since it was checked; CANCELLED if `call` is.
absl::StatusOr<WrittenGeneration> WriteGeneration(const GenerationSpec& spec,
                                                  absl::Span<const GenerationItem> items,
                                                  const CallContext& call, Progress* progress);

// Publishes the generation unless CURRENT names it.  False, with a log line, if an earlier
// run has written it (`already_there`) and it was rolled back since: that was on purpose.
absl::StatusOr<bool> PublishWritten(const std::string& store, const std::string& index,
                                    const std::string& generation, bool already_there);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
