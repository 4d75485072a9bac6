#include "services/corpus_encoder/generation_shard.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kOpenUnits = 8;

}  // namespace

absl::StatusOr<const UnitFile*> UnitFiles::Get(int32_t unit) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& entry) { return entry.first == unit; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return open_.front().second.get();
  }
  const std::string& hash = sources_.units[unit].hash;
  ASSIGN_OR_RETURN(std::unique_ptr<UnitFile> file,
                   UnitFile::Open(UnitFilePath(sources_.work_directory, hash), hash,
                                  sources_.dimension, /*verify=*/false));
  open_.emplace_front(unit, std::move(file));
  if (open_.size() > kOpenUnits) open_.pop_back();
  return open_.front().second.get();
}

GenerationShard::GenerationShard(std::vector<const GenerationItem*> items,
                                 const ItemSources& sources, const CallContext& call)
    : items_(std::move(items)), sources_(sources), call_(call), files_(sources) {}

absl::StatusOr<const ItemRecord*> GenerationShard::Record(int64_t i) {
  const GenerationItem& item = *items_[i];
  record_.item_id = item.item_id;
  record_.caption = std::string(item.caption);
  record_.uri = Printable(item.picture->item.path);
  record_.tags = images() ? item.picture->item.tags : std::vector<std::string>();
  return &record_;
}

absl::StatusOr<absl::Span<const float>> GenerationShard::Embedding(int64_t i) {
  RETURN_IF_ERROR(call_.Check("writing the generation"));
  const GenerationItem& item = *items_[i];
  if (item.unit < 0) {
    ASSIGN_OR_RETURN(embedding_, sources_.base->Embedding(item.base));
    return absl::MakeConstSpan(embedding_);
  }
  ASSIGN_OR_RETURN(const UnitFile* const file, files_.Get(item.unit));
  return file->embedding(RowOf(*file, item));
}

absl::StatusOr<const ItemFeatures*> GenerationShard::Features(int64_t i, int reranker) {
  RETURN_IF_ERROR(call_.Check("writing the generation"));
  const GenerationItem& item = *items_[i];
  if (item.unit < 0) {
    ASSIGN_OR_RETURN(features_, sources_.base->Features(item.base, reranker));
  } else {
    ASSIGN_OR_RETURN(const UnitFile* const file, files_.Get(item.unit));
    features_ = file->features(RowOf(*file, item), reranker);
  }
  return &features_;
}

absl::string_view GenerationShard::ContentHash(int64_t i) {
  const GenerationItem& item = *items_[i];
  content_hash_ = images() ? ImageContentHash(*item.picture, sources_.context)
                           : CaptionContentHash({item.item_id, item.caption}, sources_.context);
  return content_hash_;
}

const UnitFile::Row& GenerationShard::RowOf(const UnitFile& file,
                                            const GenerationItem& item) const {
  return (images() ? file.images() : file.captions())[item.row];
}

}  // namespace sightline
