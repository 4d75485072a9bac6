#include "common/tokenizer/vocabulary_maker.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/byte_level_words.h"
#include "common/tokenizer/pair_merger.h"
#include "common/tokenizer/treebank_words.h"

namespace sightline {
namespace {

absl::Status TooSmall(int max_size, size_t least, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "a vocabulary of at most ", max_size, " tokens does not hold ", what, ", which are ", least));
}

absl::Status NothingFrequent(int64_t min_count) {
  return absl::InvalidArgumentError(
      absl::StrCat("nothing is in the texts ", min_count, " times; are there any?"));
}

class WordPieceMaker : public VocabularyMaker {
 public:
  explicit WordPieceMaker(const VocabularyOptions& options) : builder_(options) {}

  absl::Status Add(absl::string_view text) override { return builder_.Add(text); }
  int64_t word_count() const override { return builder_.word_count(); }
  absl::StatusOr<MadeVocabulary> Make() const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> tokens, builder_.Build());
    return MadeVocabulary{absl::StrCat(absl::StrJoin(tokens, "\n"), "\n"),
                          static_cast<int>(tokens.size())};
  }

 private:
  VocabularyBuilder builder_;
};

class ByteLevelBpeMaker : public VocabularyMaker {
 public:
  explicit ByteLevelBpeMaker(const VocabularyOptions& options) : options_(options) {}

  absl::Status Add(absl::string_view text) override {
    return ForEachByteLevelWord(text, [this](absl::string_view word) {
      ++words_[std::string(word)];
      ++word_count_;
    });
  }
  int64_t word_count() const override { return word_count_; }

  absl::StatusOr<MadeVocabulary> Make() const override {
    // Bytes, bytes that end a word, start and end of text, and a merge.
    constexpr int kLeast = 2 * 256 + 2 + 1;
    if (options_.max_size < kLeast) return TooSmall(options_.max_size, kLeast, "bytes and a merge");
    PairMerger merger(
        [](const std::string& left, const std::string& right) { return absl::StrCat(left, right); },
        /*distinct=*/true);
    std::vector<std::string> spellings;
    for (int byte = 0; byte < 256; ++byte) spellings.push_back(ByteSpelling(byte));
    for (const auto& [word, count] : words_) merger.AddWord(SymbolsOf(word, spellings), count);
    MadeVocabulary made;
    made.file = "#version: 0.2\n";
    made.size = kLeast - 1;
    while (made.size < options_.max_size) {
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
  std::map<std::string, int64_t> words_;
  int64_t word_count_ = 0;
};

class WordListMaker : public VocabularyMaker {
 public:
  explicit WordListMaker(const VocabularyOptions& options) : options_(options) {}

  absl::Status Add(absl::string_view text) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoTreebankWords(text));
    for (const std::string& word : words) ++words_[word];
    word_count_ += static_cast<int64_t>(words.size());
    return absl::OkStatus();
  }
  int64_t word_count() const override { return word_count_; }

  absl::StatusOr<MadeVocabulary> Make() const override {
    std::vector<std::string> list = {"<pad>", "<start>", "<end>", "<unk>"};
    const size_t special = list.size();
    if (options_.max_size <= static_cast<int>(special)) {
      return TooSmall(options_.max_size, special + 1, "four special words and one more");
    }
    std::vector<std::pair<int64_t, std::string>> frequent;
    for (const auto& [word, count] : words_) {
      if (count >= options_.min_count) frequent.emplace_back(-count, word);
    }
    if (frequent.empty()) return NothingFrequent(options_.min_count);
    std::sort(frequent.begin(), frequent.end());
    for (const auto& [count, word] : frequent) {
      if (static_cast<int>(list.size()) == options_.max_size) break;
      list.push_back(word);
    }
    nlohmann::json json;
    for (size_t id = 0; id < list.size(); ++id) {
      json["word2idx"][list[id]] = id;
      json["idx2word"][absl::StrCat(id)] = list[id];
    }
    json["idx"] = list.size();
    return MadeVocabulary{json.dump() + "\n", static_cast<int>(list.size())};
  }

 private:
  const VocabularyOptions options_;
  std::map<std::string, int64_t> words_;
  int64_t word_count_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<VocabularyMaker>> NewVocabularyMaker(
    TokenizerKind kind, const VocabularyOptions& options) {
  switch (kind) {
    case TokenizerKind::kWordPiece:
      return std::make_unique<WordPieceMaker>(options);
    case TokenizerKind::kByteLevelBpe:
      return std::make_unique<ByteLevelBpeMaker>(options);
    case TokenizerKind::kWordList:
      return std::make_unique<WordListMaker>(options);
    case TokenizerKind::kSentencePiece:
      break;
  }
  return absl::InvalidArgumentError(
      "SentencePiece's own trainer makes its models: spm_train --model_type=unigram "
      "--normalization_rule_name=nmt_nfkc --input=TEXTS --model_prefix=NAME (in Debian of the "
      "package sentencepiece)");
}

}  // namespace sightline
