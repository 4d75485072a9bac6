// COCO's captions: captions_train2014.json, captions_val2014.json and those of 2017 (Chen et al.,
// "Microsoft COCO Captions: Data Collection and Evaluation Server", arXiv 1504.00325).
//
//   {"images": [{"id": 391895, "file_name": "COCO_val2014_000000391895.jpg", ...}],
//    "annotations": [{"id": 770337, "image_id": 391895, "caption": "..."}],
//    "info": ..., "licenses": ...}
//
// The arrays come in either order.  The id is the image's; captions are in the order of their
// own ids.  Which split a file holds only its name tells: `captions_<split><year>.json`; a file
// of another name has none.  YJ Captions and others have the same form in other languages.
#ifndef SIGHTLINE_COMMON_DATASET_COCO_FILE_H_
#define SIGHTLINE_COMMON_DATASET_COCO_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// As ReadKarpathyFile.
absl::StatusOr<PublishedCaptions> ReadCocoFile(const std::string& path, absl::string_view language,
                                               int captions_per_picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_COCO_FILE_H_
