// Writes what training_set.h reads.
#ifndef SIGHTLINE_COMMON_TRAINING_TRAINING_SET_WRITER_H_
#define SIGHTLINE_COMMON_TRAINING_TRAINING_SET_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/training/training_set.h"

namespace sightline {

struct TrainingCaption {
  std::vector<int32_t> tokens;  // [CLS] pieces [SEP]
  int64_t language = 0;         // index into TrainingSetContent::languages
  int64_t key = 0;              // equal where the words are equal
};

struct TrainingRow {
  TrainingUse use = TrainingUse::kTrain;
  int64_t group = 0;
  std::vector<TrainingCaption> captions;  // by language
};

// Token lists ([CLS] pieces [SEP]) of two or more texts that say the same.
using TrainingConcept = std::vector<std::vector<int32_t>>;

// Everything but the pictures.
struct TrainingSetContent {
  std::vector<TrainingRow> rows;  // in the bytewise order of item ids
  std::vector<TrainingConcept> concepts;
  int64_t image_size = 0;
  int64_t max_token_count = 0;
  int64_t vocabulary_size = 0;
  SpecialTokens special_tokens;
  std::vector<std::string> languages;
  std::string vocabulary_sha256;
  std::string items_sha256;
};

// Writes the file at `path`, atomically.  `picture` is asked for each row once, in order,
// and returns its 3 * image_size^2 bytes; they are used up before the next call.  Equal
// content gives equal bytes.
//
// Errors of `picture` and of writing; InvalidArgument for a picture of another length.
// Whether the numbers make sense is the reader's question.
absl::Status WriteTrainingSet(
    absl::string_view path, const TrainingSetContent& content,
    const std::function<absl::StatusOr<absl::string_view>(int64_t row)>& picture);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TRAINING_SET_WRITER_H_
