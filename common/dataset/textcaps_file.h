// TextCaps (Sidorov et al., "TextCaps: a Dataset for Image Captioning with Reading Comprehension",
// ECCV 2020): TextCaps_0.1_{train,val,test}.json, and the words that TextVQA's Rosetta read in the
// same pictures, TextVQA_Rosetta_OCR_v0.2_{train,val,test}.json.
//
//   {"data": [{"image_id": "0054c91397f2fe05", "set_name": "val", "caption_id": 7,
//              "caption_str": "...", "reference_strs": ["...", ...], ...}], ...}
//   {"data": [{"image_id": "0054c91397f2fe05", "ocr_tokens": ["STOP"], "ocr_info": [...]}], ...}
//
// One entry for each caption; a picture has one in each of its entries, `caption_str`, taken in
// the order of `caption_id`.  `reference_strs` are all of its captions, again in each entry: they
// count where an entry has no `caption_str`.  Entries of the test split have neither.  The
// picture lies at <image_id>.jpg, where TextVQA's archives have it.  OCR tokens are in Rosetta's
// order; boxes (`ocr_info`) are not read.
#ifndef SIGHTLINE_COMMON_DATASET_TEXTCAPS_FILE_H_
#define SIGHTLINE_COMMON_DATASET_TEXTCAPS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// As ReadKarpathyFile.  `ocr_path` may be empty; pictures that it has and the captions have
// not are passed over, and those that it has not have no tokens.
absl::StatusOr<PublishedCaptions> ReadTextCapsFile(const std::string& path,
                                                   const std::string& ocr_path,
                                                   absl::string_view language,
                                                   int captions_per_picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_TEXTCAPS_FILE_H_
