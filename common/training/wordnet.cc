#include "common/training/wordnet.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/checksum.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/function_words.h"

namespace sightline {
namespace {

constexpr char kCounts[] = "cntlist.rev";
constexpr int64_t kMostBytes = 64 << 20;  // data.noun has 15 MB

struct KindName {
  WordKind kind;
  absl::string_view suffix;
};
constexpr KindName kKinds[] = {{WordKind::kNoun, "noun"},
                               {WordKind::kVerb, "verb"},
                               {WordKind::kAdjective, "adj"},
                               {WordKind::kAdverb, "adv"}};

// Rules of detachment (morphy(7WN)): an ending and what stands in its place in the dictionary.
struct Detachment {
  absl::string_view ending, instead;
};
const std::vector<Detachment>& DetachmentsOf(int kind) {
  static const auto* const rules = new std::array<std::vector<Detachment>, 4>{{
      {{"s", ""},
       {"ses", "s"},
       {"xes", "x"},
       {"zes", "z"},
       {"ches", "ch"},
       {"shes", "sh"},
       {"men", "man"},
       {"ies", "y"}},
      {{"s", ""},
       {"ies", "y"},
       {"es", "e"},
       {"es", ""},
       {"ed", "e"},
       {"ed", ""},
       {"ing", "e"},
       {"ing", ""}},
      {{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}},
      {},
  }};
  return (*rules)[kind];
}

// A file of WordNet by its lines; those of the licence, which begin with spaces, are passed over.
class WordNetFile {
 public:
  // What is read becomes part of `digest`.
  static absl::StatusOr<WordNetFile> Read(absl::string_view folder, const std::string& name,
                                          std::string* digest) {
    WordNetFile file;
    file.path_ = JoinPath(folder, name);
    ASSIGN_OR_RETURN(file.text_, ReadFile(file.path_, kMostBytes));
    *digest = Sha256Hex(absl::StrCat(*digest, Sha256Hex(file.text_)));
    return file;
  }

  // False at the end.
  bool Next() {
    while (begin_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', begin_), text_.size());
      const absl::string_view line = absl::string_view(text_).substr(begin_, end - begin_);
      begin_ = end + 1;
      ++number_;
      if (line.empty() || line[0] == ' ') continue;
      fields_ = absl::StrSplit(line.substr(0, line.find('|')), ' ', absl::SkipEmpty());
      next_ = 0;
      return true;
    }
    return false;
  }

  // The next field; "" if there is none.
  absl::string_view Field() { return next_ < fields_.size() ? fields_[next_++] : ""; }
  absl::StatusOr<int> Number(bool hexadecimal = false) {
    const absl::string_view field = Field();
    int number = 0;
    const bool read =
        hexadecimal ? absl::SimpleHexAtoi(field, &number) : absl::SimpleAtoi(field, &number);
    if (!read || number < 0 || number > 0xFFFF) {
      return Bad(absl::StrCat("'", field, "' is no number from 0 to 65535"));
    }
    return number;
  }
  absl::Status Skip(int fields) {
    if (fields_.size() - next_ < static_cast<size_t>(fields)) return Bad("ends too early");
    next_ += static_cast<size_t>(fields);
    return absl::OkStatus();
  }
  absl::Status Bad(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ", line ", number_, ": ",
                                                   EscapeUnlessPrintable(what),
                                                   "; it is not in WordNet's form (wndb(5WN))"));
  }

 private:
  std::string path_, text_;
  size_t begin_ = 0, next_ = 0;
  int64_t number_ = 0;
  std::vector<absl::string_view> fields_;
};

// As people write it: "high-pitched", "take off"; adjectives' syntactic markers "(a)" are left out.
std::string Written(absl::string_view word) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(word.substr(0, word.find('(')), {{"_", " "}}));
}

// Says of a word of a set of synonyms that it means the opposite of one of another set.
struct Opposite {
  std::string word;
  std::string other_set;  // its offset
  size_t other_word = 0;  // from 1; 0: all of it
};

}  // namespace

absl::StatusOr<WordNet> WordNet::Read(absl::string_view folder) {
  if (!FileExists(JoinPath(folder, kCounts))) {
    return absl::NotFoundError(
        absl::StrCat(JoinPath(folder, kCounts),
                     " is not there, so this is no folder of WordNet's; "
                     "Debian's package wordnet-base has /usr/share/wordnet"));
  }
  WordNet wordnet;
  RETURN_IF_ERROR(wordnet.ReadCounts(folder));
  for (int kind = 0; kind < 4; ++kind) {
    RETURN_IF_ERROR(wordnet.ReadIndex(folder, kind));
    RETURN_IF_ERROR(wordnet.ReadExceptions(folder, kind));
    if (kKinds[kind].kind != WordKind::kNoun) RETURN_IF_ERROR(wordnet.ReadAntonyms(folder, kind));
  }
  return wordnet;
}

// A line is a sense, "big%3:00:01::", its number and how often it is meant.
absl::Status WordNet::ReadCounts(absl::string_view folder) {
  ASSIGN_OR_RETURN(WordNetFile file, WordNetFile::Read(folder, kCounts, &digest_));
  while (file.Next()) {
    const std::pair<absl::string_view, absl::string_view> sense =
        absl::StrSplit(file.Field(), absl::MaxSplits('%', 1));
    RETURN_IF_ERROR(file.Skip(1));
    ASSIGN_OR_RETURN(const int count, file.Number());
    // 5 are adjectives that are like another one.
    const int kind = sense.second.empty() ? 0 : sense.second[0] - '0';
    if (kind < 1 || kind > 5) return file.Bad("is of no kind from 1 to 5, behind a %");
    kinds_[kind == 5 ? 2 : kind - 1].counts[Written(sense.first)] += count;
  }
  return absl::OkStatus();
}

absl::Status WordNet::ReadIndex(absl::string_view folder, int kind) {
  ASSIGN_OR_RETURN(
      WordNetFile file,
      WordNetFile::Read(folder, absl::StrCat("index.", kKinds[kind].suffix), &digest_));
  while (file.Next()) {
    const std::string lemma = Written(file.Field());
    RETURN_IF_ERROR(file.Skip(2));  // kind, number of sets
    ASSIGN_OR_RETURN(const int pointers, file.Number());
    RETURN_IF_ERROR(file.Skip(pointers + 1));  // their symbols, number of senses
    ASSIGN_OR_RETURN(kinds_[kind].tagged_senses[lemma], file.Number());
  }
  return absl::OkStatus();
}

absl::Status WordNet::ReadExceptions(absl::string_view folder, int kind) {
  ASSIGN_OR_RETURN(WordNetFile file,
                   WordNetFile::Read(folder, absl::StrCat(kKinds[kind].suffix, ".exc"), &digest_));
  while (file.Next()) {
    const std::string form = Written(file.Field());
    const absl::string_view lemma = file.Field();
    if (lemma.empty()) return file.Bad("names no word that it is a form of");
    kinds_[kind].exceptions.emplace(form, Written(lemma));
  }
  return absl::OkStatus();
}

absl::Status WordNet::ReadAntonyms(absl::string_view folder, int kind) {
  ASSIGN_OR_RETURN(WordNetFile file,
                   WordNetFile::Read(folder, absl::StrCat("data.", kKinds[kind].suffix), &digest_));
  absl::flat_hash_map<std::string, std::vector<std::string>> sets;  // words by offset
  std::vector<Opposite> opposites;
  while (file.Next()) {
    std::vector<std::string>& words = sets[std::string(file.Field())];
    RETURN_IF_ERROR(file.Skip(2));  // lexicographer's file, kind
    ASSIGN_OR_RETURN(const int count, file.Number(/*hexadecimal=*/true));
    for (int i = 0; i < count; ++i) {
      words.push_back(Written(file.Field()));
      RETURN_IF_ERROR(file.Skip(1));  // which of the words that are written alike
    }
    ASSIGN_OR_RETURN(const int pointers, file.Number());
    for (int i = 0; i < pointers; ++i) {
      const bool opposite = file.Field() == "!";
      std::string set(file.Field());
      RETURN_IF_ERROR(file.Skip(1));  // kind
      ASSIGN_OR_RETURN(const int ends, file.Number(/*hexadecimal=*/true));
      const auto own = static_cast<size_t>(ends >> 8), other = static_cast<size_t>(ends & 0xFF);
      if (!opposite) continue;
      if (own < 1 || own > words.size()) {
        return file.Bad(absl::StrCat("has no word ", own, ", which an antonym is said of"));
      }
      opposites.push_back({words[own - 1], std::move(set), other});
    }
  }
  absl::flat_hash_set<std::pair<std::string, std::string>> said;
  for (const Opposite& opposite : opposites) {
    const auto set = sets.find(opposite.other_set);
    const size_t place = opposite.other_word;
    if (set == sets.end() || place < 1 || place > set->second.size()) {
      return file.Bad(absl::StrCat("ends, and there is no word ", place, " at ", opposite.other_set,
                                   ", which is said to be the antonym of ", opposite.word));
    }
    const std::string& other = set->second[place - 1];
    if (said.emplace(opposite.word, other).second) antonyms_[opposite.word].push_back(other);
  }
  return absl::OkStatus();
}

std::string WordNet::LemmaOf(const std::string& word, int kind) const {
  const Kind& own = kinds_[kind];
  const auto exception = own.exceptions.find(word);
  if (exception != own.exceptions.end() && own.tagged_senses.contains(exception->second)) {
    return exception->second;
  }
  if (own.tagged_senses.contains(word)) return word;
  for (const Detachment& rule : DetachmentsOf(kind)) {
    absl::string_view stem = word;
    if (!absl::ConsumeSuffix(&stem, rule.ending)) continue;
    std::string lemma = absl::StrCat(stem, rule.instead);
    if (own.tagged_senses.contains(lemma)) return lemma;
  }
  return "";
}

void WordNet::Understand(CaptionWord* word) const {
  const std::string& text = word->text;
  if (text.empty() || absl::ascii_isdigit(text[0]) || IsFunctionWord(text)) return;
  std::pair<int64_t, int> most = {-1, -1};
  for (int kind = 0; kind < 4; ++kind) {
    const Kind& own = kinds_[kind];
    std::string lemma = LemmaOf(word->text, kind);
    const auto senses = own.tagged_senses.find(lemma);
    if (senses == own.tagged_senses.end()) continue;
    const auto count = own.counts.find(lemma);
    const std::pair<int64_t, int> often = {count == own.counts.end() ? 0 : count->second,
                                           senses->second};
    if (often <= most) continue;
    most = often;
    word->kind = kKinds[kind].kind;
    word->lemma = std::move(lemma);
  }
}

std::vector<CaptionWord> WordNet::WordsOf(absl::string_view caption) const {
  std::vector<CaptionWord> words = SplitCaption(caption);
  for (CaptionWord& word : words) Understand(&word);
  return words;
}

}  // namespace sightline
