// The golden folders of UNITER, M3P and SGRAF.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tests/parity/golden_families.h"
#include "tests/parity/golden_model.h"
#include "tests/parity/golden_network.h"
#include "tests/support/sentencepiece_model.h"

namespace sightline {
namespace {

// SGRAF's vocabulary with `size` words.
std::string WordList(int size) {
  const char* specials[] = {"<pad>", "<start>", "<end>", "<unk>"};
  nlohmann::json words = nlohmann::json::object(), by_id = nlohmann::json::object();
  for (int id = 0; id < size; ++id) {
    const std::string word = id < 4 ? specials[id] : GoldenWord(id);
    words[word] = id;
    by_id[absl::StrCat(id)] = word;
  }
  return nlohmann::json({{"word2idx", words}, {"idx2word", by_id}, {"idx", size}}).dump();
}

std::string SentencePieces(int size) {
  std::vector<std::string> pieces;
  for (int id = 5; id < size; ++id) pieces.push_back(GoldenWord(id));
  return SentencePieceModelBytes(pieces);
}

// UNITER's trunk as both towers of a LightningDOT without projection, in `directory`.
absl::StatusOr<std::unique_ptr<GoldenCase>> TwoTowersOf(const GoldenCase& golden,
                                                        const TempDir& directory) {
  ASSIGN_OR_RETURN(const auto weights, Safetensors::FromBytes(golden.weights_bytes()));
  std::map<std::string, TensorView> towers;
  for (const auto& [name, tensor] : weights->tensors()) {
    absl::string_view trunk = name;
    if (!absl::ConsumePrefix(&trunk, "uniter.")) continue;
    towers[absl::StrCat("img_model.bert.", trunk)] = tensor;
    if (absl::StartsWith(trunk, "img_embeddings.")) continue;
    towers[absl::StrCat("txt_model.bert.", trunk)] = tensor;
  }
  for (const char* name : {"config.json", "case.safetensors"}) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(JoinPath(golden.directory(), name)));
    RETURN_IF_ERROR(WriteFileAtomically(directory.File(name), bytes));
  }
  RETURN_IF_ERROR(
      WriteFileAtomically(directory.File("weights.safetensors"), SerializeSafetensors(towers)));
  return GoldenCase::Open(directory.path(), golden.execution());
}

// The case's captions and regions; SGRAF's regions have no boxes.
absl::StatusOr<GoldenInputs> ReadSgrafInputs(const GoldenCase& golden) {
  GoldenInputs inputs;
  ASSIGN_OR_RETURN(inputs.texts, ReadGoldenTexts(golden, "captions", "caption_length"));
  ASSIGN_OR_RETURN(const FloatTensor regions, golden.Floats("regions", 3));
  const int64_t count = regions.shape[1], width = regions.shape[2];
  for (int64_t i = 0; i < regions.shape[0]; ++i) {
    ImageInput image;
    image.regions.count = count;
    image.regions.feature_size = width;
    const auto begin = regions.values.begin() + i * count * width;
    image.regions.features.assign(begin, begin + count * width);
    inputs.images.push_back(std::move(image));
  }
  return inputs;
}

absl::StatusOr<std::unique_ptr<GoldenModel>> ConvertSgraf(const GoldenCase& golden) {
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  return GoldenModel::Convert(golden, ConvertOptions(), WordList(size));
}

absl::StatusOr<std::unique_ptr<GoldenModel>> ConvertM3p(const GoldenCase& golden,
                                                        const std::string& score_kind) {
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  ConvertOptions options;
  options.use = "joint";
  options.score_kind = score_kind;
  return GoldenModel::Convert(golden, options, SentencePieces(size));
}

// By the head that ranks, or, with a score kind of pairs that match, by the pre-trained one.
absl::StatusOr<std::unique_ptr<GoldenModel>> ConvertUniter(const GoldenCase& golden,
                                                           const std::string& score_kind) {
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  ConvertOptions options;
  options.score_kind = score_kind;
  return GoldenModel::Convert(golden, options, GoldenVocabulary(size, /*cls_id=*/1, /*sep_id=*/2));
}

}  // namespace

absl::StatusOr<GoldenSubject> OpenUniter(const GoldenCase& golden) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadGoldenInputs(golden, /*with_boxes=*/true));
  ASSIGN_OR_RETURN(subject.model, ConvertUniter(golden, ""));
  return subject;
}

absl::Status CompareUniter(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenUniter(golden));
  const auto& [inputs, ranks] = subject;
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  ASSIGN_OR_RETURN(const int hidden, golden.ConfigInt("hidden_size"));
  ASSIGN_OR_RETURN(const auto images, PreparedFeatures(ranks->model(), inputs));
  ASSIGN_OR_RETURN(const std::vector<float> scores,
                   ScoreGoldenPairs(ranks->model(), inputs.texts, images));
  const int64_t count = static_cast<int64_t>(scores.size());
  RETURN_IF_ERROR(comparison->Add(golden, "rank_score", {count, 1}, scores));
  ASSIGN_OR_RETURN(const JointRows rows, UniterJointRows(*ranks, inputs));
  RETURN_IF_ERROR(comparison->Add(golden, "cls_sequence", {count, hidden}, rows.first));
  RETURN_IF_ERROR(comparison->Add(golden, "pooled", {count, hidden}, rows.pooled));

  ASSIGN_OR_RETURN(const auto matches, ConvertUniter(golden, "softmax_match"));
  ASSIGN_OR_RETURN(const std::vector<float> logits, HeadOutputs(matches->model(), inputs));
  RETURN_IF_ERROR(comparison->Add(golden, "itm_logits", {count, 2}, logits));

  // The same trunk on each side of a LightningDOT without projection.
  const TempDir directory;
  ASSIGN_OR_RETURN(const std::unique_ptr<GoldenCase> towers, TwoTowersOf(golden, directory));
  ASSIGN_OR_RETURN(const auto dual,
                   GoldenModel::Convert(*towers, ConvertOptions(),
                                        GoldenVocabulary(size, /*cls_id=*/1, /*sep_id=*/2)));
  return CompareEmbeddings(golden, dual->model(), inputs, "text_cls", "image_cls", "dot_scores",
                           comparison);
}

absl::Status CompareStoredUniter(const GoldenCase& golden, Dtype dtype,
                                 GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, ReadGoldenInputs(golden, /*with_boxes=*/true));
  ASSIGN_OR_RETURN(const auto ranks, ConvertUniter(golden, ""));
  ASSIGN_OR_RETURN(const auto images, StoredFeatures(ranks->model(), inputs, dtype));
  ASSIGN_OR_RETURN(const std::vector<float> scores,
                   ScoreGoldenPairs(ranks->model(), inputs.texts, images));
  const int64_t count = static_cast<int64_t>(scores.size());
  RETURN_IF_ERROR(comparison->Add(golden, "rank_score", {count, 1}, scores));
  ASSIGN_OR_RETURN(const auto matches, ConvertUniter(golden, "logit_match"));
  return CompareStoredLogits(golden, *matches, inputs, "itm_logits", dtype, comparison);
}

absl::StatusOr<GoldenSubject> OpenM3p(const GoldenCase& golden) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadGoldenInputs(golden, /*with_boxes=*/true));
  ASSIGN_OR_RETURN(subject.model, ConvertM3p(golden, ""));
  return subject;
}

absl::Status CompareM3p(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenM3p(golden));
  const auto& [inputs, model] = subject;
  ASSIGN_OR_RETURN(const int hidden, golden.ConfigInt("hidden_size"));
  RETURN_IF_ERROR(CompareEmbeddings(golden, model->model(), inputs, "cosine", comparison));
  ASSIGN_OR_RETURN(const JointRows rows, M3pJointRows(*model, inputs));
  const int64_t count = static_cast<int64_t>(rows.pooled.size()) / hidden;
  RETURN_IF_ERROR(comparison->Add(golden, "pooled", {count, hidden}, rows.pooled));
  ASSIGN_OR_RETURN(const std::vector<float> logits, HeadOutputs(model->model(), inputs));
  return comparison->Add(golden, "classifier_logits", {count, 2}, logits);
}

absl::Status CompareStoredM3p(const GoldenCase& golden, Dtype dtype, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, ReadGoldenInputs(golden, /*with_boxes=*/true));
  ASSIGN_OR_RETURN(const auto model, ConvertM3p(golden, "logit_match"));
  return CompareStoredLogits(golden, *model, inputs, "classifier_logits", dtype, comparison);
}

absl::StatusOr<GoldenSubject> OpenSgraf(const GoldenCase& golden) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadSgrafInputs(golden));
  ASSIGN_OR_RETURN(subject.model, ConvertSgraf(golden));
  return subject;
}

absl::Status CompareSgraf(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenSgraf(golden));
  const auto& [inputs, model] = subject;
  const int64_t texts = static_cast<int64_t>(inputs.texts.size());
  const int64_t images = static_cast<int64_t>(inputs.images.size());
  ASSIGN_OR_RETURN(const int embedding, golden.ConfigInt("embed_size"));
  ASSIGN_OR_RETURN(const IntTensor ids, golden.Ints("captions", 2));
  ASSIGN_OR_RETURN(const std::vector<float> image_rows,
                   ImageFeatureRows(model->model(), inputs.images, 0));
  const int64_t count = images == 0 ? 0 : inputs.images[0].regions.count;
  RETURN_IF_ERROR(comparison->Add(golden, "image_local", {images, count, embedding}, image_rows));
  ASSIGN_OR_RETURN(const std::vector<float> text_rows,
                   PreparedTextRows(model->model(), inputs.texts, 0, ids.shape[1]));
  RETURN_IF_ERROR(
      comparison->Add(golden, "text_local", {texts, ids.shape[1], embedding}, text_rows));
  ASSIGN_OR_RETURN(const auto features, PreparedFeatures(model->model(), inputs));
  ASSIGN_OR_RETURN(const std::vector<float> scores,
                   ScoreAllGoldenPairs(model->model(), inputs.texts, features));
  return comparison->Add(golden, "similarity", {images, texts}, scores);
}

absl::Status CompareStoredSgraf(const GoldenCase& golden, Dtype dtype,
                                GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, ReadSgrafInputs(golden));
  ASSIGN_OR_RETURN(const auto model, ConvertSgraf(golden));
  ASSIGN_OR_RETURN(const auto features, StoredFeatures(model->model(), inputs, dtype));
  ASSIGN_OR_RETURN(const std::vector<float> scores,
                   ScoreAllGoldenPairs(model->model(), inputs.texts, features));
  return comparison->Add(
      golden, "similarity",
      {static_cast<int64_t>(inputs.images.size()), static_cast<int64_t>(inputs.texts.size())},
      scores);
}

}  // namespace sightline
