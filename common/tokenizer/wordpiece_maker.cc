#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/vocabulary_kinds.h"

namespace sightline {
namespace {

class WordPieceMaker : public VocabularyMaker {
 public:
  explicit WordPieceMaker(const VocabularyOptions& options) : builder_(options) {}

  absl::Status Add(absl::string_view text) override { return builder_.Add(text); }
  absl::Status AddAlphabet(absl::string_view text) override { return builder_.AddAlphabet(text); }
  int64_t word_count() const override { return builder_.word_count(); }

  absl::StatusOr<MadeVocabulary> Make() const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> tokens, builder_.Build());
    return MadeVocabulary{absl::StrCat(absl::StrJoin(tokens, "\n"), "\n"),
                          static_cast<int>(tokens.size())};
  }

 private:
  VocabularyBuilder builder_;
};

}  // namespace

NewMaker NewWordPieceMaker(const VocabularyOptions& options) {
  return std::make_unique<WordPieceMaker>(options);
}

}  // namespace sightline
