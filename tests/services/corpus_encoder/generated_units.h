// Units as a job has left them, as many as wanted, and what a job makes of them.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_GENERATED_UNITS_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_GENERATED_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"

namespace sightline {

struct GeneratedUnits {
  std::string store;       // units lie in its work folder
  int64_t item_count = 0;  // half of them pictures, each with a caption
  int dimension = 64;
  int unit_size = 1024;
  int shard_count = 20;
  // Instead of from units, all is carried over from the generation that was written without this.
  bool carried = false;
};

// Writes the unit files that are not there, by the job's own writer.  Embeddings depend on
// ids alone.
absl::Status GenerateUnits(const GeneratedUnits& units, const CallContext& call);

struct GenerationTimes {
  absl::Duration plan, rows, shards, finish;
  absl::Duration total() const { return plan + rows + shards + finish; }
};

// What a job of one worker does when its units are there, or when all is in a base: division,
// rows, shards, probes, manifests of both indexes.  What earlier calls have left in the store is
// taken over.
absl::StatusOr<GenerationTimes> WriteGeneratedUnits(const GeneratedUnits& units,
                                                    const CallContext& call);

// The manifests of both indexes, which hold the SHA-256 of every file.
absl::StatusOr<std::string> GeneratedManifests(const GeneratedUnits& units);

// Removes what WriteGeneratedUnits has made of these, and leaves the units, and a base.
void RemoveGenerated(const GeneratedUnits& units);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_GENERATED_UNITS_H_
