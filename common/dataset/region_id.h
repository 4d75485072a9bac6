// What a corpus of regions calls a published picture: the one explicit mapping between the
// numbers that data sets give and the names that detectors' files have.
//
//   {id}                       391895: BUTD's rows, keys of OSCAR
//   {stem}                     COCO_val2014_000000391895: files named as the pictures
//   coco_{folder}_{id:012}     coco_val2014_000000391895: UNITER's npz of COCO
//   flickr30k_{id:012}         flickr30k_001000092795: UNITER's npz of Flickr30k
//
// Between braces stands what of the picture is taken: `id`, `stem` (its file's name without
// extension), `folder` (the last of those that its file lies in), `split`; after a colon and a
// zero, the digits that it is filled up to with zeros.
#ifndef SIGHTLINE_COMMON_DATASET_REGION_ID_H_
#define SIGHTLINE_COMMON_DATASET_REGION_ID_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// A value.
class RegionId {
 public:
  // InvalidArgument: a brace that is not closed or not opened, a name that is none of those above,
  // a width that is no 0 and one or two digits.
  static absl::StatusOr<RegionId> Parse(absl::string_view pattern);

  std::string Of(const PublishedPicture& picture) const;

 private:
  struct Part {
    std::string text;  // as it is; or the name of what is taken
    bool taken = false;
    size_t width = 0;
  };
  std::vector<Part> parts_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_REGION_ID_H_
