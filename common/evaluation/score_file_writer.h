// Writes a matrix of scores as numpy.save does, row by row, and goes on where an earlier run was
// ended.
//
//   ASSIGN_OR_RETURN(auto writer, ScoreFileWriter::Open("be.npy", images, captions, job));
//   while (writer->rows_done() < images) RETURN_IF_ERROR(writer->Append(rows, costs));
//   RETURN_IF_ERROR(writer->Commit());
//
// Until Commit the rows lie in `<path>.part`, and `<path>.part.json` says how many there are, with
// a checksum, and of which job.
#ifndef SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_WRITER_H_
#define SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/descriptor.h"

namespace sightline {

// What scores took.
struct ScoreCosts {
  double encoding_seconds = 0;  // embeddings, and what of a picture or text its partner is not in
  double scoring_seconds = 0;
  int64_t pairs = 0;  // that were scored

  void Add(const ScoreCosts& other);
};

// Not thread-safe.  One writer of a path at a time.
class ScoreFileWriter {
 public:
  // Begins, or takes up what a run of the same `job` has left: a text that says all that the scores
  // follow from.  FailedPrecondition, naming the files, if they are of another job or damaged;
  // InvalidArgument for a matrix of more than a tebibyte; errors of files.
  static absl::StatusOr<std::unique_ptr<ScoreFileWriter>> Open(const std::string& path,
                                                               int64_t rows, int64_t columns,
                                                               const std::string& job);

  int64_t rows_done() const { return rows_done_; }
  // Of all runs.
  const ScoreCosts& costs() const { return costs_; }

  // The next rows, whole, and what they took; after a crash they are there.  ResourceExhausted if
  // the disk is full: then what was there before is.
  absl::Status Append(absl::Span<const float> rows, const ScoreCosts& costs);

  // REQUIRES: all rows are there.  The matrix replaces what is at the path.
  absl::Status Commit();

 private:
  ScoreFileWriter(Descriptor file, std::string path, int64_t rows, int64_t columns,
                  std::string job);
  absl::Status Begin();
  absl::Status TakeUp();
  absl::Status WriteState() const;
  // Of the rows that are done, as they lie there.
  absl::StatusOr<uint32_t> SumOfPart() const;
  absl::Status WriteAt(int64_t offset, const char* bytes, int64_t count) const;

  const std::string path_, part_, state_;
  const int64_t rows_, columns_;
  const std::string job_, header_;
  const Descriptor file_;
  int64_t rows_done_ = 0;
  uint32_t sum_ = 0;  // CRC-32C of the rows that are done
  ScoreCosts costs_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_WRITER_H_
