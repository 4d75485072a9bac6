#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/tokenizer/treebank_words.h"
#include "common/tokenizer/unicode.h"
#include "common/tokenizer/vocabulary_kinds.h"
#include "common/tokenizer/word_counter.h"

namespace sightline {
namespace {

class WordListMaker : public VocabularyMaker {
 public:
  explicit WordListMaker(const VocabularyOptions& options) : options_(options) {}

  absl::Status Add(absl::string_view text) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoTreebankWords(text));
    for (const std::string& word : words) RETURN_IF_ERROR(words_.Add(word));
    return absl::OkStatus();
  }
  absl::Status AddAlphabet(absl::string_view text) override { return CheckText(text); }
  int64_t word_count() const override { return words_.total(); }

  absl::StatusOr<MadeVocabulary> Make() const override {
    std::vector<std::string> list = {"<pad>", "<start>", "<end>", "<unk>"};
    const size_t special = list.size();
    if (options_.max_size <= static_cast<int>(special)) {
      return VocabularyTooSmall(options_.max_size, special + 1, "four special words and one more");
    }
    std::vector<std::pair<int64_t, std::string>> frequent;
    for (const auto& [word, count] : words_.counts()) {
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
  WordCounter words_;
};

}  // namespace

NewMaker NewWordListMaker(const VocabularyOptions& options) {
  return std::make_unique<WordListMaker>(options);
}

}  // namespace sightline
