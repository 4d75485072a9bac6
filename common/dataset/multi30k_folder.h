// Multi30k (Elliott et al., "Multi30K: Multilingual English-German Image Descriptions", 2016, and
// its later French, Czech and test sets), one of its tasks as its repository keeps it:
//
//   image_splits/<split>.txt, or <split>_images.txt    file names, one a line
//   raw/<split>.<language>[.gz]                         task 1: translations, one a line
//   raw/<split>.<n>.<language>[.gz]                     task 2: five captions, n from 1
//
// Line i of a split's captions is of the picture in line i of its list.  A list may have
// `NAME.jpg#N` (test_2017_mscoco), of which N, the caption that was translated, is not read.  The
// id is the file's name without extension.  Tokenised copies (tok/) are not read.
#ifndef SIGHTLINE_COMMON_DATASET_MULTI30K_FOLDER_H_
#define SIGHTLINE_COMMON_DATASET_MULTI30K_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/dataset/published_captions.h"

namespace sightline {

// A language's captions carry its code.  InvalidArgument: no list, a list whose number of lines
// is not that of a file of its captions, a split or a picture twice, a name that is no split's.
// Files of captions without a list are warned of.  Otherwise as the disk reports.
absl::StatusOr<PublishedCaptions> ReadMulti30kFolder(const std::string& folder,
                                                     int captions_per_picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_MULTI30K_FOLDER_H_
