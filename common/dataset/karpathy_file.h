// Karpathy's splits with their captions: dataset_coco.json, dataset_flickr30k.json and
// dataset_flickr8k.json of Karpathy and Fei-Fei, "Deep Visual-Semantic Alignments for Generating
// Image Descriptions", CVPR 2015.
//
//   {"images": [{"filepath": "val2014", "filename": "COCO_val2014_000000391895.jpg",
//                "cocoid": 391895, "imgid": 0, "split": "test", "sentids": [...],
//                "sentences": [{"raw": "...", "sentid": 770337, "imgid": 0, "tokens": [...]}]}],
//    "dataset": "coco"}
//
// `filepath` and `cocoid` are COCO's alone.  The file lies at filepath/filename; captions are
// `raw` in the order of `sentid`.  COCO's pictures have five to seven, of which the papers use
// the first five: 25 000 of the 25 010 of its test split.  The id is `cocoid`, or the file's
// name without extension; `imgid` only counts the pictures of this file, and is not read.
#ifndef SIGHTLINE_COMMON_DATASET_KARPATHY_FILE_H_
#define SIGHTLINE_COMMON_DATASET_KARPATHY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// Captions are taken to be in `language`; 0: all of a picture.  InvalidArgument for a file that
// is no such; otherwise as the disk reports.
absl::StatusOr<PublishedCaptions> ReadKarpathyFile(const std::string& path,
                                                   absl::string_view language,
                                                   int captions_per_picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_KARPATHY_FILE_H_
