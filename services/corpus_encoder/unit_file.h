// What a finished unit leaves on disk: the job's journal, one file per unit.
//
// `<work folder>/<unit hash>.unit`, a container (common/bundle/container.h):
//
//   unit        bytes, JSON: {"hash", "dimension", "images": [row...], "captions": [row...]}
//               where a row is {"id", "rejected": reason} or
//               {"id", "tensors": [{"name", "dtype", "rows", "columns"}...]}
//   embeddings  fp32 [rows not rejected, dimension], images before captions
//   tensors     bytes, one tensor's after another
//
// The file appears whole or not at all, so that a file with the right name is a finished
// unit; its checksums are compared before it is used again.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"

namespace sightline {

// One item's result.
struct UnitRow {
  std::string item_id;
  std::string rejected;          // why it is not in the index; empty if it is
  std::vector<float> embedding;  // empty if rejected
  ItemFeatures features;         // without tensors if rejected or without cross-encoder
};

struct UnitResult {
  std::vector<UnitRow> images;    // one per picture, in the unit's order
  std::vector<UnitRow> captions;  // those of images that are not rejected, in order
};

std::string UnitFilePath(absl::string_view work_directory, absl::string_view hash);

absl::Status WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
                           const UnitResult& result);

// DataLoss if the file is damaged, is no unit file, or is not of this hash and dimension;
// NotFound if it is not there.  With `verify` all checksums are compared first.
absl::StatusOr<UnitResult> ReadUnitFile(absl::string_view path, absl::string_view hash,
                                        int dimension, bool verify);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
