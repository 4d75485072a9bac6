// What tells requests apart, in 32 bytes: of page tokens and of what the router keeps.
//
//   RequestHash hash(RequestHash::Uploads::kByContent);
//   hash.AddQuery(request.query);
//   hash.AddNumber(request.top_k);
//   const std::string key = hash.Raw();
#ifndef SIGHTLINE_COMMON_RETRIEVAL_REQUEST_HASH_H_
#define SIGHTLINE_COMMON_RETRIEVAL_REQUEST_HASH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/api/effort.h"
#include "common/api/generation.h"
#include "common/api/query.h"
#include "common/base/checksum.h"
#include "common/bundle/tag_filter.h"
#include "common/embedding/score.h"

namespace sightline {

// SHA-256 over values, fed so that no two sequences of values feed it alike: each with its
// length.  The structs are taken apart by structured bindings, so that a field which is added to
// one does not compile before somebody has said here whether it counts.
class RequestHash {
 public:
  // How a picture's file and the features of regions count.
  enum class Uploads {
    // By length and CRC-32C, which takes a hundredth of the time and tells apart what differs by
    // accident: where the worst that can come of it is a page of another list.
    kByChecksum,
    kByContent,
  };
  explicit RequestHash(Uploads uploads) : uploads_(uploads) {}

  void Add(absl::string_view bytes);
  void AddNumber(int64_t number);
  void AddFloats(const std::vector<float>& values);
  void AddWords(const std::vector<std::string>& words);
  void AddQuery(const Query& query);
  void AddQuery(const EncodableQuery& query);
  void AddGeneration(const GenerationRef& generation);
  void AddCombination(const Combination& combination);
  void AddFilter(const TagFilter& filter);
  void AddEffort(const EffortWish& wish);

  // 32 bytes.  The object is spent.
  std::string Raw() { return hash_.Raw(); }

 private:
  struct QueryFields;  // one operator() for each alternative
  void AddUpload(absl::string_view bytes);

  const Uploads uploads_;
  Sha256 hash_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_REQUEST_HASH_H_
