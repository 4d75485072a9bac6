// Flickr's captions as they were published: Flickr30k's results_20130124.token (Young et al.,
// "From image descriptions to visual denotations", TACL 2014) and Flickr8k.token.txt
//
//   1000092795.jpg#0<TAB>Two young guys ...
//
// and the results.csv that others made of the former and passed on:
//
//   image_name| comment_number| comment
//   1000092795.jpg| 0| Two young guys ...
//
// A file that begins with that first line is read as the second form.  One row of it, that of
// 2199200615.jpg, was published without its second bar, so a bar may be missing between the
// number and white space.  The id is the file's name without extension; captions are in the
// order of their numbers.  No splits: those are Karpathy's.
#ifndef SIGHTLINE_COMMON_DATASET_FLICKR_FILE_H_
#define SIGHTLINE_COMMON_DATASET_FLICKR_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// As ReadKarpathyFile, with the line where there is something wrong.
absl::StatusOr<PublishedCaptions> ReadFlickrFile(const std::string& path,
                                                 absl::string_view language,
                                                 int captions_per_picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_FLICKR_FILE_H_
