// A generation on disk: shards, ledgers, manifest.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_source.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/recall_probes.h"
#include "services/corpus_encoder/quarantine.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a generation is made of, beside its items.
struct GenerationSpec {
  std::string store;
  std::string index;
  std::string generation;
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  // Of the base; empty: what CURRENT names is the parent.
  std::string parent;
  int shard_count = 1;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::vector<NamedReranker> rerankers;  // whose features items carry, the default first
  // Hash of all that the content depends on; kept beside the manifest, so that a second
  // generation of the same name is recognised as the same or another.
  std::string content;
  RecallProbeOptions recall;
  int threads = 1;  // that look for the true neighbors of the probes' queries
};

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

// Writes one shard's files in their place, where nobody takes notice of them before there is
// a manifest.  DataLoss for rows that have been damaged since they were checked.
absl::StatusOr<bundle::v1::ShardManifest> WriteGenerationShard(const GenerationSpec& spec,
                                                               int shard, ShardSource& rows);

// Makes a generation of its shards, which are written: the probes that servers measure their
// recall with, ledgers, and last the manifest.  One that is there already with the same
// content is left alone.  AlreadyExists if it is there with other content; CANCELLED if
// `call` is.
absl::StatusOr<WrittenGeneration> FinishGeneration(
    const GenerationSpec& spec, const std::vector<bundle::v1::ShardManifest>& shards,
    const EmbeddingMatrix& probe_queries, Quarantine& quarantine, const Warnings& warnings,
    const CallContext& call);

// Publishes the generation unless CURRENT names it.  False, with a log line, if an earlier
// run has written it (`already_there`) and it was rolled back since: that was on purpose.
absl::StatusOr<bool> PublishWritten(const std::string& store, const std::string& index,
                                    const std::string& generation, bool already_there);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
