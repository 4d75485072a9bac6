// What has not changed since a base generation, and is carried over from it.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_

#include <string>
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

// Carried pictures on disk (item_spool.h).
class CarriedCodec {
 public:
  explicit CarriedCodec(PictureCodec pictures) : pictures_(std::move(pictures)) {}
  void Append(const CarriedPicture& carried, std::string* bytes) const;
  bool Read(ByteReader& bytes, CarriedPicture* carried) const;

 private:
  PictureCodec pictures_;
};
using CarriedSpool = ItemSpool<CarriedPicture, CarriedCodec>;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CARRIED_PICTURES_H_
