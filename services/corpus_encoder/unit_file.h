// What a finished unit leaves on disk: the job's journal, one file per unit.
//
// `<work folder>/<unit hash>.unit`, a container (common/bundle/container.h):
//
//   unit        bytes, JSON: {"hash", "dimension", "images": [row...], "captions": [row...]}
//               where a row is {"id", "rejected": reason, "may_pass"} or
//               {"id", "tensors": [{"name", "dtype", "rows", "columns", "reranker"}...]};
//               the number of the reranker is left out where it is 0
//   embeddings  fp32 [rows not rejected, dimension], images before captions
//   tensors     bytes, one tensor's after another
//
// The file appears whole or not at all (fsync, rename, fsync of the folder), so that a file
// with the right name is a finished unit, and no list of them has to be kept.  A process
// compares the checksums of every file that it has not written itself before it uses it:
// that is one reading at the speed of the disk, where making it anew is a thousand times
// slower.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"

namespace sightline {

// One item's result.
struct UnitRow {
  std::string item_id;
  std::string rejected;          // why it is not in the index; empty if it is
  std::vector<float> embedding;  // empty if rejected
  // For each reranker; none if rejected.
  std::vector<ItemFeatures> features;
  bool may_pass = false;  // rejected for what may be the machine's fault
};

struct UnitResult {
  std::vector<UnitRow> images;    // one per picture, in the unit's order
  std::vector<UnitRow> captions;  // those of images that are not rejected, in order
};

std::string UnitFilePath(absl::string_view work_directory, absl::string_view hash);

// Returns the file's length.
absl::StatusOr<int64_t> WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
                                      const UnitResult& result);

// A unit file, mapped.  What it holds is checked when it is opened, but for the numbers'
// values.  Immutable, thread-safe.
class UnitFile {
 public:
  // Where a row's result lies.
  struct Tensor {
    FeatureTensor described;  // without its bytes
    int reranker = 0;         // whose it is
    size_t begin = 0;         // in the section of tensors
    size_t length = 0;
  };
  struct Row {
    std::string item_id;
    std::string rejected;   // empty if it is not
    int64_t embedding = 0;  // its row, if it is not rejected
    std::vector<Tensor> tensors;
  };

  // DataLoss if the file is damaged, is no unit file, or is not of this hash and dimension;
  // NotFound if it is not there.  With `verify` all checksums are compared first.
  static absl::StatusOr<std::unique_ptr<UnitFile>> Open(absl::string_view path,
                                                        absl::string_view hash, int dimension,
                                                        bool verify);

  // Whether an item was rejected for what may be the machine's fault: time or memory that was
  // not there.  Whoever finds the unit again may try again.
  bool may_pass() const { return may_pass_; }

  // As in UnitResult.
  const std::vector<Row>& images() const { return images_; }
  const std::vector<Row>& captions() const { return captions_; }

  // Of a row of this file that is not rejected.  Into the mapping, or copied.
  absl::Span<const float> embedding(const Row& row) const;
  ItemFeatures features(const Row& row, int reranker) const;

 private:
  friend class UnitFileParser;
  UnitFile() = default;

  std::unique_ptr<Container> container_;
  const Section* embeddings_ = nullptr;
  absl::string_view tensors_;
  std::vector<Row> images_, captions_;
  bool may_pass_ = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
