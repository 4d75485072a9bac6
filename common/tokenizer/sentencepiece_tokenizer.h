// XLM-R's tokenizer: SentencePiece's unigram model ("Kudo, Subword Regularization"), with
// the ids of fairseq.
//
//   ASSIGN_OR_RETURN(auto tokenizer, SentencePieceTokenizer::Create(model_bytes));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("a red fish"));
#ifndef SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_TOKENIZER_H_
#define SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/sentencepiece_model.h"
#include "common/tokenizer/sentencepiece_normalizer.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

class BestPaths;

// Ids: <s> 0 (cls_id), <pad> 1, </s> 2 (sep_id), <unk> 3, SentencePiece's id plus one for
// any other piece, <mask> last; so there are two more than pieces.  Neighbouring unknown
// characters are one <unk>.  Special pieces cannot be written into a text.  Thread-safe.
class SentencePieceTokenizer : public Tokenizer {
 public:
  // `model` is SentencePiece's model file ("sentencepiece.bpe.model" of XLM-R, which is a
  // unigram model all the same).
  //
  // InvalidArgument for what sentencepiece_model.h and sentencepiece_normalizer.h refuse,
  // two pieces of one text, and unless the pieces begin with <unk> (of type unknown), <s>
  // and </s> (control) and go on with others that are none of these.
  static absl::StatusOr<std::unique_ptr<SentencePieceTokenizer>> Create(absl::string_view model);

  // See Tokenizer.  The time for a text is linear, with a factor of the longest piece.
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override;
  absl::string_view Spelling(int32_t id) const override;

  int32_t vocabulary_size() const override { return mask_id() + 1; }

 private:
  SentencePieceTokenizer(SentencePieceModel model,
                         std::unique_ptr<SentencePieceNormalizer> normalizer);
  absl::Status CheckSpecialPieces() const;
  absl::Status SortPieces();
  void ExtendPaths(absl::string_view text, size_t begin, BestPaths* paths) const;

  const SentencePieceModel model_;
  const std::unique_ptr<SentencePieceNormalizer> normalizer_;
  // Those that a text can be cut into, sorted by their bytes, with SentencePiece's ids; views
  // into model_.
  std::vector<std::pair<absl::string_view, int32_t>> sorted_;
  float unknown_score_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_SENTENCEPIECE_TOKENIZER_H_
