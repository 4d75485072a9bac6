// The golden folders of families that only retrieve.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "tests/parity/golden_families.h"
#include "tests/parity/golden_model.h"

namespace sightline {
namespace {

// Words for the ids between `skip` first and last ones.
absl::StatusOr<std::vector<std::string>> WordsOf(const IntTensor& ids, const IntTensor& lengths,
                                                 int64_t row, int64_t skip) {
  const int64_t length = lengths.values[row];
  if (length < 0 || length > ids.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat("a length is ", length));
  }
  std::vector<std::string> words;
  for (int64_t i = skip; i < length - skip; ++i) {
    words.push_back(GoldenWord(ids.values[row * ids.shape[1] + i]));
  }
  return words;
}

absl::StatusOr<std::string> VocabularyOf(const GoldenCase& golden, int cls_id, int sep_id) {
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  return GoldenVocabulary(size, cls_id, sep_id);
}

absl::Status AddSceneText(const GoldenCase& golden, GoldenInputs* inputs) {
  ASSIGN_OR_RETURN(const IntTensor ids, golden.Ints("ocr_ids", 2));
  ASSIGN_OR_RETURN(const IntTensor lengths, golden.Ints("ocr_length", 1));
  for (size_t i = 0; i < inputs->images.size(); ++i) {
    ASSIGN_OR_RETURN(inputs->images[i].ocr_tokens, WordsOf(ids, lengths, i, /*skip=*/0));
  }
  return absl::OkStatus();
}

absl::StatusOr<GoldenSubject> OpenTowers(const GoldenCase& golden, bool scene_text) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadGoldenInputs(golden, /*with_boxes=*/true));
  if (scene_text) RETURN_IF_ERROR(AddSceneText(golden, &subject.inputs));
  ASSIGN_OR_RETURN(const int cls_id, golden.ConfigInt("cls_id"));
  ASSIGN_OR_RETURN(const int sep_id, golden.ConfigInt("sep_id"));
  ASSIGN_OR_RETURN(const std::string vocabulary, VocabularyOf(golden, cls_id, sep_id));
  ConvertOptions options;
  options.scene_text = scene_text;
  ASSIGN_OR_RETURN(subject.model, GoldenModel::Convert(golden, options, vocabulary));
  return subject;
}

}  // namespace

absl::StatusOr<GoldenSubject> OpenLightningDot(const GoldenCase& golden) {
  return OpenTowers(golden, /*scene_text=*/false);
}

absl::StatusOr<GoldenSubject> OpenSceneText(const GoldenCase& golden) {
  return OpenTowers(golden, /*scene_text=*/true);
}

absl::Status CompareLightningDot(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenLightningDot(golden));
  return CompareEmbeddings(golden, subject.model->model(), subject.inputs, "dot", comparison);
}

absl::Status CompareSceneText(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenSceneText(golden));
  return CompareEmbeddings(golden, subject.model->model(), subject.inputs, "dot", comparison);
}

absl::StatusOr<GoldenSubject> OpenVlDeformer(const GoldenCase& golden) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadGoldenInputs(golden, /*with_boxes=*/false));
  GoldenInputs& inputs = subject.inputs;
  ASSIGN_OR_RETURN(const IntTensor ids, golden.Ints("tag_ids", 2));
  ASSIGN_OR_RETURN(const IntTensor lengths, golden.Ints("tag_length", 1));
  for (size_t i = 0; i < inputs.images.size(); ++i) {
    ASSIGN_OR_RETURN(inputs.images[i].tags, WordsOf(ids, lengths, i, /*skip=*/1));
  }
  // The case's tags stand between their special tokens.
  const std::vector<int64_t>& first = ids.values;
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   VocabularyOf(golden, first[0], first[lengths.values[0] - 1]));
  ConvertOptions options;
  options.family = "vldeformer";
  // The reference gives padded tags the segment of tags.
  options.tag_padding_type = 1;
  ASSIGN_OR_RETURN(options.max_token_count, golden.ConfigInt("max_seq_length"));
  ASSIGN_OR_RETURN(options.tag_token_count, golden.ConfigInt("max_tag_length"));
  ASSIGN_OR_RETURN(options.region_count, golden.ConfigInt("max_img_seq_length"));
  ASSIGN_OR_RETURN(subject.model, GoldenModel::Convert(golden, options, vocabulary));
  return subject;
}

absl::Status CompareVlDeformer(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenVlDeformer(golden));
  return CompareEmbeddings(golden, subject.model->model(), subject.inputs, "cosine", comparison);
}

}  // namespace sightline
