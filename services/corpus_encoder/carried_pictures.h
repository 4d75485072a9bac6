// What has not changed since a base generation, and is carried over from it.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/item_spool.h"
#include "services/corpus_encoder/scanned_picture.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// One picture, and where it and its captions lie in the base.
struct CarriedPicture {
  ScannedPicture picture;
  BaseIndex::Place image;
  std::vector<BaseIndex::Place> captions;  // of CaptionItemsOf, in order
};

// None unless the picture and all of its captions are in the base, and none of them has
// changed; otherwise they are encoded together.  `picture` is copied only then.  Errors as
// BaseReader::Find.
absl::StatusOr<absl::optional<CarriedPicture>> FindCarried(const ScannedPicture& picture,
                                                           BaseReaders& base,
                                                           const UnitContext& context);

inline auto FieldsOf(BaseIndex::Place& place) {
  return std::tie(place.shard, place.row);
}
inline auto FieldsOf(CarriedPicture& carried) {
  return std::tie(carried.picture, carried.image, carried.captions);
}
using CarriedSpool = ItemSpool<CarriedPicture>;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_
