// One release of one index: what calls name, and what is told of it.
#ifndef SIGHTLINE_COMMON_API_GENERATION_H_
#define SIGHTLINE_COMMON_API_GENERATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/embedding/score.h"

namespace sightline {

// Which release of which index a call is about.  Every call names it, so that no
// answer ever mixes generations; a server that does not hold it says
// FAILED_PRECONDITION.
struct GenerationRef {
  std::string index;
  std::string generation;
  std::string space;  // fingerprint of the embedding space

  friend bool operator==(const GenerationRef& a, const GenerationRef& b) {
    return a.index == b.index && a.generation == b.generation && a.space == b.space;
  }
};

enum class IndexContent { kImages, kCaptions };

// One of a generation's cross-encoders.
struct RerankerInfo {
  std::string name;   // within the generation
  std::string model;  // SHA-256 of the bundle
  // What that declares for the direction in which the generation's items are found.
  DeclaredCombination declared;
};

// All that a caller or a router must know of one generation.
struct GenerationInfo {
  GenerationRef ref;
  IndexContent content = IndexContent::kImages;
  int dimension = 0;
  int shard_count = 0;
  int64_t item_count = 0;
  std::string encoder_model;
  std::vector<RerankerInfo> rerankers;  // the default first; empty: retrieval only
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_GENERATION_H_
