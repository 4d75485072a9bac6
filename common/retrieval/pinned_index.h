// One index as one request sees it: the generation that all its stages use, and whom to
// ask.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_PINNED_INDEX_H_
#define SIGHTLINE_COMMON_RETRIEVAL_PINNED_INDEX_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/generation_catalog.h"

namespace sightline {

// What a query or an index is, once known, decides what may rerank it.
enum class Modality { kUnknown, kText, kImage };

// Keeps the generation's description; the shards belong to the Backends.
struct PinnedIndex {
  std::shared_ptr<const GenerationInfo> info;
  const std::vector<std::shared_ptr<IndexSearchClient>>* shards = nullptr;

  const GenerationRef& ref() const { return info->ref; }
  IndexSearchClient* shard(int i) const { return (*shards)[i].get(); }
};

// The index at the generation that new requests go to, or at `generation`.  The catalog's
// error if it cannot pin that; FAILED_PRECONDITION when the generation has another number
// of shards than backends were configured.
absl::StatusOr<PinnedIndex> PinIndex(const Backends& backends, const GenerationCatalog& catalog,
                                     absl::string_view index, absl::string_view generation = "");

// What the items of an index are.
Modality ModalityOf(IndexContent content);

// `named`, or if that is empty the only index that holds the other modality than the
// query: images for a text, captions for an image.
absl::StatusOr<std::string> ChooseIndex(const GenerationCatalog& catalog, absl::string_view named,
                                        Modality query);

// FAILED_PRECONDITION unless `space` is the index's.  `whose` begins the message.
absl::Status CheckSpace(absl::string_view whose, absl::string_view space,
                        const GenerationInfo& target);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_PINNED_INDEX_H_
