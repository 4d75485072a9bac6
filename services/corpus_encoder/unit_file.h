// What a finished unit leaves on disk: the job's journal, one file per unit.
//
// A container (common/bundle/container.h):
//
//   rows        bytes: text hash, i64 dimension; twice, for images and captions, u32 count and
//               that many rows: text id, u8 state (0 good, 1 rejected, 2 rejected for what may
//               pass); a rejected one's text reason, a good one's u32 count of tensors and of
//               each u8 reranker, text name, u32 dtype, i64 rows, i64 columns
//   embeddings  fp32 [rows not rejected, dimension], images before captions
//   tensors     bytes, one tensor's after another
//
// The file appears whole or not at all (fsync, rename, fsync of the folder), so that a file
// with the right name is a finished unit, and no list of them has to be kept.  It may appear
// again with other rows: a unit with a row that may pass is made anew by a run that finds it.
// Whoever uses it opens it once, and takes rows by their ids.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"
#include "common/bundle/section_reader.h"

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

// But for the bytes.
inline auto FieldsOf(FeatureTensor& tensor) {
  return std::tie(tensor.name, tensor.dtype, tensor.rows, tensor.columns);
}

struct UnitResult {
  std::vector<UnitRow> images;    // one per picture, in the unit's order
  std::vector<UnitRow> captions;  // those of images that are not rejected, in order
};

// Makes the folder where it is missing.  Returns the file's length.
absl::StatusOr<int64_t> WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
                                      const UnitResult& result);

// A unit file.  Its table of rows is in memory, and checked; embeddings and tensors are read when
// they are asked for.  Immutable, thread-safe.
class UnitFile {
 public:
  // Where a row's result lies.
  struct Tensor {
    FeatureTensor described;  // without its bytes
    int reranker = 0;         // whose it is
    int64_t begin = 0;        // in the section of tensors
    int64_t length = 0;
  };
  struct Row {
    std::string item_id;
    std::string rejected;   // empty if it is not
    int64_t embedding = 0;  // its row, if it is not rejected
    std::vector<Tensor> tensors;
  };

  // DataLoss if the file is damaged, is no unit file, or is not of this hash and dimension;
  // NotFound if it is not there; Unavailable (READ_FAILED) if it cannot be read.  With `verify`
  // all checksums are compared first.
  static absl::StatusOr<std::unique_ptr<UnitFile>> Open(absl::string_view path,
                                                        absl::string_view hash, int dimension,
                                                        bool verify);

  // Whether an item was rejected for what may be the machine's fault: time or memory that was
  // not there.  Whoever finds the unit again may try again.
  bool may_pass() const { return may_pass_; }

  // Of all that is in it, as far as checksums tell: 64 hex digits.
  std::string Fingerprint() const;

  // As in UnitResult.
  const std::vector<Row>& images() const { return images_; }
  const std::vector<Row>& captions() const { return captions_; }

  // Goes through the rows of this file that are not rejected.  What is read is compared with the
  // checksums of its MiBs, each of which is read once if rows come in order.  A result lives
  // until the next call; errors as Container::Read.  The file must outlive it.  For one thread.
  class Reader {
   public:
    explicit Reader(const UnitFile& file);
    absl::StatusOr<absl::Span<const float>> Embedding(const Row& row);
    absl::StatusOr<absl::string_view> Bytes(const Tensor& tensor);

   private:
    const UnitFile* file_;
    SectionReader embeddings_, tensors_;
  };

  // The same in any order and little memory, for who knows a value's CRC32C (ReadSummed).
  absl::Status ReadEmbedding(const Row& row, uint32_t checksum, absl::Span<float> to) const;
  absl::Status ReadTensor(const Tensor& tensor, uint32_t checksum, std::string* bytes) const;

 private:
  friend class UnitFileParser;
  UnitFile() = default;

  std::unique_ptr<Container> container_;
  const Section* embeddings_ = nullptr;
  const Section* tensors_ = nullptr;
  std::vector<Row> images_, captions_;
  bool may_pass_ = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_FILE_H_
