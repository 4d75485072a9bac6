#include <algorithm>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/tokenizer/byte_level_words.h"
#include "common/tokenizer/pair_merger.h"
#include "common/tokenizer/unicode.h"
#include "common/tokenizer/vocabulary_kinds.h"
#include "common/tokenizer/word_counter.h"

namespace sightline {
namespace {

// What the reader takes: symbols of 512 bytes, of which a byte of a word has two at most and its
// end four, and so many tokens.
constexpr size_t kMaxBytes = 250;
constexpr int kMostTokens = 49408;

class ByteLevelBpeMaker : public VocabularyMaker {
 public:
  explicit ByteLevelBpeMaker(const VocabularyOptions& options) : options_(options) {}

  absl::Status Add(absl::string_view text) override {
    absl::Status counted;
    RETURN_IF_ERROR(ForEachByteLevelWord(text, [&](absl::string_view word) {
      if (word.size() <= kMaxBytes) counted.Update(words_.Add(std::string(word)));
    }));
    return counted;
  }
  absl::Status AddAlphabet(absl::string_view text) override { return CheckText(text); }
  int64_t word_count() const override { return words_.total(); }

  absl::StatusOr<MadeVocabulary> Make() const override {
    // Bytes, bytes that end a word, start and end of text, and a merge.
    constexpr int kLeast = 2 * 256 + 2 + 1;
    if (options_.max_size < kLeast) {
      return VocabularyTooSmall(options_.max_size, kLeast, "bytes and a merge");
    }
    PairMerger merger(
        [](const std::string& left, const std::string& right) { return absl::StrCat(left, right); },
        /*distinct=*/true);
    std::vector<std::string> spellings;
    for (int byte = 0; byte < 256; ++byte) spellings.push_back(ByteSpelling(byte));
    for (const CountedWord& word : MostFrequentWords(CountedWordsOf(words_))) {
      merger.AddWord(SymbolsOf(word.text, spellings), word.count);
    }
    MadeVocabulary made;
    made.file = "#version: 0.2\n";
    made.size = kLeast - 1;
    while (made.size < std::min(options_.max_size, kMostTokens)) {
      const auto merged = merger.MergeMostFrequent(options_.min_count);
      if (!merged.has_value()) break;
      absl::StrAppend(&made.file, merged->left, " ", merged->right, "\n");
      ++made.size;
    }
    if (made.size < kLeast) return NothingFrequent(options_.min_count);
    return made;
  }

 private:
  static std::vector<std::string> SymbolsOf(const std::string& word,
                                            const std::vector<std::string>& spellings) {
    std::vector<std::string> symbols;
    for (const char byte : word) symbols.push_back(spellings[static_cast<unsigned char>(byte)]);
    absl::StrAppend(&symbols.back(), kWordEnd);
    return symbols;
  }

  const VocabularyOptions options_;
  WordCounter words_;
};

}  // namespace

NewMaker NewByteLevelBpeMaker(const VocabularyOptions& options) {
  return std::make_unique<ByteLevelBpeMaker>(options);
}

}  // namespace sightline
