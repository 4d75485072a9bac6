// Region files as a corpus.
//
// An item is one of the file; its id is the one that it has there.
#ifndef SIGHTLINE_COMMON_DATASET_REGION_FILE_READER_H_
#define SIGHTLINE_COMMON_DATASET_REGION_FILE_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct RegionFileOptions {
  std::string root;       // a file, or a folder: all files below it that end in .regions
  std::string id_prefix;  // put before each item id
  std::vector<std::string> languages = {"en"};  // which captions to read; empty reads all
};

// Maps the files now: NotFound if they are not there, DataLoss for a damaged one,
// InvalidArgument for a folder without one or for files of different widths or classes.  List:
// DataLoss if items or offsets of a file are damaged; a lone item that is malformed is
// rejected.
absl::StatusOr<std::unique_ptr<CorpusReader>> NewRegionFileReader(const RegionFileOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_REGION_FILE_READER_H_
