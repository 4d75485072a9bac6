#include "services/corpus_encoder/carried_pictures.h"

#include "common/base/status_macros.h"

namespace sightline {

absl::StatusOr<absl::optional<CarriedPicture>> FindCarried(const ScannedPicture& picture,
                                                           BaseReaders& base,
                                                           const UnitContext& context) {
  if (base.images == nullptr) return absl::nullopt;
  CarriedPicture carried;
  ASSIGN_OR_RETURN(const absl::optional<BaseIndex::Place> image,
                   base.images->Find(picture.item.item_id, ImageContentHash(picture, context)));
  if (!image.has_value()) return absl::nullopt;
  carried.image = *image;
  for (const CaptionItem& caption : CaptionItemsOf(picture.item, context.caption_language)) {
    ASSIGN_OR_RETURN(const absl::optional<BaseIndex::Place> place,
                     base.captions->Find(caption.item_id, CaptionContentHash(caption, context)));
    if (!place.has_value()) return absl::nullopt;
    carried.captions.push_back(*place);
  }
  carried.picture = picture;
  return carried;
}

}  // namespace sightline
