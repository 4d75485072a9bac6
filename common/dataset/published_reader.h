// Published data sets as corpora: their pictures below a folder, or regions of these from another
// corpus; their captions, and the splits that they were published with.
#ifndef SIGHTLINE_COMMON_DATASET_PUBLISHED_READER_H_
#define SIGHTLINE_COMMON_DATASET_PUBLISHED_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/dataset/corpus.h"

namespace sightline {

enum class PublishedForm {
  kKarpathy,  // karpathy_file.h
  kCoco,      // coco_file.h
  kFlickr,    // flickr_file.h
  kMulti30k,  // multi30k_folder.h
  kTextCaps,  // textcaps_file.h
};

struct PublishedOptions {
  PublishedForm form = PublishedForm::kKarpathy;
  std::string path;    // the file; of Multi30k the folder of a task
  std::string images;  // folder of the pictures; empty: where the file lies, or that folder
  std::string ocr;     // TextCaps: Rosetta's file; empty: pictures have no OCR tokens
  std::string caption_language = "en";  // that the captions are in; Multi30k tells itself
  std::vector<std::string> splits;      // as published; only their pictures are items; empty: all
  int captions_per_picture = 5;         // the first ones of each language; 0: all
  std::string region_id = "{id}";       // region_id.h; what `regions` calls a picture
  std::string id_prefix;                // put before each item id
  std::vector<std::string> languages = {"en"};  // which captions to read; empty reads all
};

// The item id is the prefix and the set's own id of the picture.  With `regions`, items are its
// regions and have its tags and, unless the set has some, its OCR tokens; captions are the
// set's.  A picture that it has not is rejected.
//
// InvalidArgument: a region_id that is none, `ocr` of another form, `regions` that hold
// pictures.  List: as the form's reader; and when the set has no picture of `splits`, or none
// that `regions` has.  Holds the set's captions in memory, and of regions ids and paths, while
// it lists.
absl::StatusOr<std::unique_ptr<CorpusReader>> NewPublishedReader(
    const PublishedOptions& options, std::unique_ptr<CorpusReader> regions = nullptr);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_PUBLISHED_READER_H_
