// From finished units to a generation on disk: shards, ledger, manifest.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/work_units.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a generation is made of.
struct GenerationSpec {
  std::string store;
  std::string index;
  std::string generation;
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  int shard_count = 1;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::string reranker_model;  // empty when items carry no features
  std::string work_directory;  // of the unit files
  std::string caption_language;
  // Hash of all that the content depends on; kept beside the manifest, so that a second
  // generation of the same name is recognised as the same or another.
  std::string content;
  std::string quarantine;  // the ledger's text
};

struct WrittenGeneration {
  int64_t item_count = 0;
  int64_t byte_count = 0;      // of the shards' files
  bool already_there = false;  // nothing had to be written
};

// Writes the images or the captions of `units` as a generation, shard by shard; memory is
// what one shard takes.  The manifest is written last.  A generation that is there already
// with the same content is left alone.
//
// AlreadyExists if it is there with other content; DataLoss for a unit file that has been
// damaged since it was checked; CANCELLED if `call` is.
absl::StatusOr<WrittenGeneration> WriteGeneration(const GenerationSpec& spec,
                                                  absl::Span<const WorkUnit> units,
                                                  const CallContext& call, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_WRITER_H_
