// A matrix of scores on a disk, as numpy.save writes it.
#ifndef SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_H_
#define SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/files.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/score_matrix.h"

namespace sightline {

// Immutable, thread-safe.  The file is mapped, so matrices of many gigabytes take no more memory
// than is read of them; whoever cuts it short meanwhile ends the process.
class ScoreFile {
 public:
  // A row for each image of `items` and a column for each caption, in either order of bytes
  // (numpy.save(path, scores.T) is no copy).  InvalidArgument, naming the file, for anything else:
  // another type than float32, another shape, or what ParseNpy refuses; errors of opening.
  static absl::StatusOr<std::unique_ptr<ScoreFile>> Open(const std::string& path,
                                                         const MatrixItems& items);

  // Valid as long as the file.
  const ScoreMatrix& matrix() const { return matrix_; }

 private:
  ScoreFile() = default;
  std::unique_ptr<MappedFile> file_;
  ScoreMatrix matrix_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_SCORE_FILE_H_
