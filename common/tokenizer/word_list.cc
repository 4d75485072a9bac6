#include "common/tokenizer/word_list.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/treebank_words.h"

namespace sightline {
namespace {

constexpr size_t kMaxWords = 1'000'000;
constexpr size_t kMaxListedWordBytes = 512;
constexpr absl::string_view kWordToId = "word2idx";
constexpr absl::string_view kIdToWord = "idx2word";
constexpr absl::string_view kCount = "idx";
constexpr absl::string_view kPad = "<pad>";
constexpr absl::string_view kStart = "<start>";
constexpr absl::string_view kEnd = "<end>";
constexpr absl::string_view kUnknown = "<unk>";

// For messages: a word of a hostile file, short and printable.
std::string Shown(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 100)), text.size() > 100 ? "..." : "",
                      "\"");
}

// Takes the JSON event by event, so that there is never a tree whose size or depth the file
// decides, and a word that comes twice is seen.
class VocabularyHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  absl::flat_hash_map<std::string, uint64_t> word_to_id;
  absl::flat_hash_map<std::string, std::string> id_to_word;
  bool has_word_to_id = false;
  bool has_id_to_word = false;
  bool has_count = false;
  uint64_t count = 0;
  std::string problem;  // of the first event that was refused

  bool start_object(std::size_t) override {
    if (depth_ == 1 && field_ != kWordToId && field_ != kIdToWord) {
      return Refuse(absl::StrCat(Shown(field_), " is an object"));
    }
    if (depth_ == 2) return Refuse(absl::StrCat(Shown(key_), " is an object"));
    ++depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    return true;
  }

  bool key(std::string& key) override {
    if (depth_ == 2) return Entry(key);
    bool* seen = key == kWordToId   ? &has_word_to_id
                 : key == kIdToWord ? &has_id_to_word
                 : key == kCount    ? &has_count
                                    : nullptr;
    if (seen == nullptr) return Refuse(absl::StrCat(Shown(key), " is no field of a word list"));
    if (std::exchange(*seen, true)) return Refuse(absl::StrCat(Shown(key), " comes twice"));
    field_ = key;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1 && field_ == kCount) {
      count = value;
      return true;
    }
    if (depth_ != 2 || field_ != kWordToId) return Refuse("a number where none belongs");
    if (!word_to_id.emplace(key_, value).second) {
      return Refuse(absl::StrCat("the word ", Shown(key_), " comes twice"));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ != 2 || field_ != kIdToWord) return Refuse("a text where none belongs");
    if (value.size() > kMaxListedWordBytes) return Refuse("a word of more than 512 bytes");
    if (!id_to_word.emplace(key_, value).second) {
      return Refuse(absl::StrCat("the id ", Shown(key_), " comes twice"));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    return Refuse("an array stands where the object with word2idx, or a word, belongs");
  }
  bool end_array() override { return true; }
  bool null() override { return Refuse("null"); }
  bool boolean(bool) override { return Refuse("true or false"); }
  bool number_integer(number_integer_t value) override {
    return Refuse(absl::StrCat("the number ", value));
  }
  bool number_float(number_float_t, const string_t& spelled) override {
    return Refuse(absl::StrCat("the number ", spelled.substr(0, 100)));
  }
  bool binary(binary_t&) override { return Refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Refuse(absl::StrCat("it is no JSON, at byte ", position));
  }

 private:
  bool Refuse(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  bool Entry(const std::string& key) {
    const bool is_word = field_ == kWordToId;
    if ((is_word ? word_to_id.size() : id_to_word.size()) >= kMaxWords) {
      return Refuse("more than 1000000 words");
    }
    if (key.empty()) return Refuse(absl::StrCat(field_, " has an empty key"));
    if (key.size() > kMaxListedWordBytes) return Refuse("a word of more than 512 bytes");
    key_ = key;
    return true;
  }

  int depth_ = 0;
  std::string field_;  // of the outer object
  std::string key_;    // of the inner one
};

absl::Status ListError(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("word list: ", what));
}

// The words by id.
absl::StatusOr<std::vector<std::string>> OrderById(const VocabularyHandler& handler) {
  std::vector<std::string> words(handler.word_to_id.size());
  for (const auto& [word, id] : handler.word_to_id) {
    if (id >= words.size()) {
      return ListError(absl::StrCat("the id of ", Shown(word), " is ", id, "; with ", words.size(),
                                    " words ids are 0 to ", words.size() - 1));
    }
    if (!words[id].empty()) {
      return ListError(absl::StrCat("id ", id, " is that of two words"));
    }
    words[id] = word;
  }
  return words;
}

absl::Status CheckAgreement(const VocabularyHandler& handler,
                            const std::vector<std::string>& words) {
  if (handler.has_count && handler.count != words.size()) {
    return ListError(
        absl::StrCat("idx is ", handler.count, ", but word2idx has ", words.size(), " words"));
  }
  if (!handler.has_id_to_word) return absl::OkStatus();
  if (handler.id_to_word.size() != words.size()) {
    return ListError(absl::StrCat("idx2word has ", handler.id_to_word.size(),
                                  " words, but word2idx has ", words.size()));
  }
  for (size_t id = 0; id < words.size(); ++id) {
    const auto found = handler.id_to_word.find(absl::StrCat(id));
    if (found == handler.id_to_word.end() || found->second != words[id]) {
      return ListError(
          absl::StrCat("idx2word of ", id, " is not ", Shown(words[id]), ", as word2idx has it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSpecialWords(const VocabularyHandler& handler) {
  for (const absl::string_view name : {kPad, kStart, kEnd, kUnknown}) {
    if (!handler.word_to_id.contains(name)) {
      return ListError(absl::StrCat("of ", handler.word_to_id.size(), " words none is \"", name,
                                    "\"; is it a vocabulary of SCAN?"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

WordListTokenizer::WordListTokenizer(Ids ids, std::vector<std::string> words)
    : ids_(std::move(ids)), words_(std::move(words)) {
  set_special_ids({ids_.at(kPad), ids_.at(kUnknown), ids_.at(kStart), ids_.at(kEnd), -1});
}

absl::StatusOr<std::unique_ptr<WordListTokenizer>> WordListTokenizer::Create(
    absl::string_view vocabulary) {
  VocabularyHandler handler;
  bool parsed = false;
  try {
    parsed = nlohmann::json::sax_parse(vocabulary.begin(), vocabulary.end(), &handler);
  } catch (const std::exception& error) {
    return ListError(error.what());
  }
  if (!parsed) return ListError(handler.problem);
  if (!handler.has_word_to_id) return ListError("it has no object word2idx");
  RETURN_IF_ERROR(CheckSpecialWords(handler));
  ASSIGN_OR_RETURN(std::vector<std::string> words, OrderById(handler));
  RETURN_IF_ERROR(CheckAgreement(handler, words));
  Ids ids;
  ids.reserve(words.size());
  for (size_t id = 0; id < words.size(); ++id) ids[words[id]] = static_cast<int32_t>(id);
  return std::unique_ptr<WordListTokenizer>(
      new WordListTokenizer(std::move(ids), std::move(words)));
}

absl::StatusOr<std::vector<int32_t>> WordListTokenizer::Encode(absl::string_view text) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoTreebankWords(text));
  std::vector<int32_t> ids;
  ids.reserve(words.size());
  for (const std::string& word : words) {
    const auto found = ids_.find(word);
    ids.push_back(found == ids_.end() ? unk_id() : found->second);
  }
  return ids;
}

}  // namespace sightline
