#include "services/corpus_encoder/carried_pictures.h"

#include <cstdint>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

void AppendPlace(const BaseIndex::Place& place, std::string* bytes) {
  AppendLittleEndian(place.shard, bytes);
  AppendLittleEndian(place.row, bytes);
}

BaseIndex::Place ReadPlace(ByteReader& bytes) {
  BaseIndex::Place place;
  place.shard = bytes.Number<int32_t>();
  place.row = bytes.Number<int64_t>();
  return place;
}

}  // namespace

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

void CarriedCodec::Append(const CarriedPicture& carried, std::string* bytes) const {
  pictures_.Append(carried.picture, bytes);
  AppendPlace(carried.image, bytes);
  AppendLittleEndian(static_cast<uint32_t>(carried.captions.size()), bytes);
  for (const BaseIndex::Place& place : carried.captions) AppendPlace(place, bytes);
}

bool CarriedCodec::Read(ByteReader& bytes, CarriedPicture* carried) const {
  if (!pictures_.Read(bytes, &carried->picture)) return false;
  carried->image = ReadPlace(bytes);
  const auto count = bytes.Number<uint32_t>();
  carried->captions.clear();
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) carried->captions.push_back(ReadPlace(bytes));
  return bytes.ok();
}

}  // namespace sightline
