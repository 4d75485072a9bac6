// What a prepared folder has to learn from (`trainer prepare`), as a corpus of pictures: those of
// its training set as they are and randomly changed, so that networks learn from a stem that stands
// still as `train` does from one that learns.
#ifndef SIGHTLINE_SERVICES_TRAINER_SET_PICTURES_H_
#define SIGHTLINE_SERVICES_TRAINER_SET_PICTURES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/training/training_options.h"

namespace sightline {

struct SetPicturesOptions {
  std::string folder;  // that `trainer prepare` has written
  // Of the pictures, as whoever asks for them sees them (RegionExtractor::reduced_side).
  int64_t image_size = 0;
  // Of each picture to learn from, beside the one as it is.
  int64_t changed_copies = 0;
  AugmentOptions augment;  // how they are changed
  uint64_t seed = 1;       // of what is drawn for it
};

// Rows with captions that are not held out, validation's only as they are; a changed copy has the
// row's id and "~1", "~2", ...  A caption is its tokens as the set's vocabulary spells them: text
// that gives these tokens again, without unknown ones, so that names, which items.jsonl lacks, are
// there too, and what was cut is.
//
// InvalidArgument for a set of pictures of another size, and for an id that a copy's would be too;
// FailedPrecondition for files of different runs of prepare; DataLoss for files that contradict
// each other; else as files and TrainingSet::Open.
absl::StatusOr<std::unique_ptr<CorpusReader>> OpenSetPictures(const SetPicturesOptions& options,
                                                              const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SET_PICTURES_H_
