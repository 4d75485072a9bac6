#include "common/retrieval/pinned_index.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

absl::string_view Plural(IndexContent content) {
  return content == IndexContent::kImages ? "images" : "captions";
}

}  // namespace

absl::StatusOr<PinnedIndex> PinIndex(const Backends& backends, const GenerationCatalog& catalog,
                                     absl::string_view index, absl::string_view generation) {
  PinnedIndex pinned;
  ASSIGN_OR_RETURN(pinned.info, generation.empty() ? catalog.Pin(index)
                                                   : catalog.PinGeneration(index, generation));
  const auto found = backends.shards.find(std::string(index));
  const size_t configured = found == backends.shards.end() ? 0 : found->second.size();
  if (configured == 0 || configured != static_cast<size_t>(pinned.info->shard_count)) {
    return MakeError(
        reasons::kShardCountMismatch,
        absl::StrCat("generation '", pinned.ref().generation, "' of index '", index, "' has ",
                     pinned.info->shard_count, " shards but ", configured,
                     " are configured; make the router's list of shards agree with the generation"),
        {{"index", std::string(index)}});
  }
  pinned.shards = &found->second;
  const bool complete = std::all_of(pinned.shards->begin(), pinned.shards->end(),
                                    [](const auto& client) { return client != nullptr; });
  if (!complete) {
    return absl::FailedPreconditionError(
        absl::StrCat("index '", index, "' has a shard for which no server is configured"));
  }
  return pinned;
}

Modality ModalityOf(IndexContent content) {
  return content == IndexContent::kImages ? Modality::kImage : Modality::kText;
}

absl::StatusOr<std::string> ChooseIndex(const GenerationCatalog& catalog, absl::string_view named,
                                        Modality query) {
  if (!named.empty()) return std::string(named);
  if (query == Modality::kUnknown) {
    return InvalidField("index",
                        "is empty; a query by an item or a vector says not what is wanted, "
                        "pictures or captions: name the index to search");
  }
  const IndexContent wanted =
      query == Modality::kText ? IndexContent::kImages : IndexContent::kCaptions;
  std::vector<std::string> fitting;
  bool unknown = false;
  for (const auto& info : catalog.Known()) {
    // One that no backend has reported yet might hold anything.
    if (info == nullptr || info->ref.generation.empty()) {
      unknown = true;
    } else if (info->content == wanted) {
      fitting.push_back(info->ref.index);
    }
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty() && unknown) {
    return absl::UnavailableError(
        absl::StrCat("no index is named, and no backend has reported an "
                     "index of ",
                     Plural(wanted), " yet"));
  }
  if (fitting.empty()) {
    return InvalidField("index", absl::StrCat("is empty, and no index holds ", Plural(wanted)));
  }
  return InvalidField("index", absl::StrCat("is empty, and several indexes hold ", Plural(wanted),
                                            ": ", absl::StrJoin(fitting, ", "), "; name one"));
}

absl::Status CheckSpace(absl::string_view whose, absl::string_view space,
                        const GenerationInfo& target) {
  if (space == target.ref.space) return absl::OkStatus();
  return MakeError(
      reasons::kEmbeddingSpaceMismatch,
      absl::StrCat(whose, " belongs to embedding space '", space, "', but generation '",
                   target.ref.generation, "' of index '", target.ref.index, "' has '",
                   target.ref.space, "'; encode it again with that generation's model"),
      {{"expectedSpace", target.ref.space}, {"actualSpace", std::string(space)}});
}

}  // namespace sightline
