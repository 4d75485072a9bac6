// A folder of region features as UNITER's extractor writes them: a `.npz` for each picture,
// a ZIP archive of arrays.
//
//   features     N x F floats of two, four or eight bytes
//   norm_bb      N x 4 or more: x1/W, y1/H, x2/W, y2/H, then w/W, h/H; the rest is not read;
//                may be missing, for models that read none
//   conf         N or N x 1, how sure the detector was; may be missing
//   soft_labels  N x C, how likely the detector thinks each of its classes, background among them;
//                may be missing
//
// Other arrays are not read.  Regions come in falling order of confidence, in which the extractor
// leaves them.  The item id is the path below the folder without `.npz`; captions, tags and OCR
// tokens come from a file of JSON lines as in folder_reader.h.
#ifndef SIGHTLINE_COMMON_DATASET_NPZ_READER_H_
#define SIGHTLINE_COMMON_DATASET_NPZ_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"
#include "common/dataset/folder_reader.h"

namespace sightline {

// The width of features is that of most of the first files that can be read; another's is
// then refused.  So it is with the classes of soft labels, of which most may have none, or none
// that are probabilities: then the corpus has none.  NotFound if the folder is not there,
// InvalidArgument if none of its files can be read.  List: as ListFolder; `options.suffix` is not
// used.
absl::StatusOr<std::unique_ptr<CorpusReader>> NewNpzReader(const FolderOptions& options);

// The regions of one archive, checked.  InvalidArgument as CorpusReader::ReadRegions.
absl::StatusOr<RegionSet> ParseNpzRegions(absl::string_view bytes, int64_t max_bytes);

// The soft labels of its regions, in the order of ParseNpzRegions; none if it has no such array.
// InvalidArgument for an archive without regions, an array of another shape, more than `max_bytes`
// of it as floats, or what CheckSoftLabels refuses.
absl::StatusOr<std::vector<float>> ParseNpzSoftLabels(absl::string_view bytes, int64_t max_bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_NPZ_READER_H_
