#include "common/tokenizer/treebank_words.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/status_macros.h"
#include "common/tokenizer/unicode.h"

namespace sightline {
namespace {

// A sentence, by code points.
using Text = std::u32string;
using TextView = std::u32string_view;

constexpr TextView kClosers = U"])}>\"'\u00BB\u201D\u2019";
constexpr size_t npos = TextView::npos;

bool IsOneOf(char32_t c, TextView set) {
  return set.find(c) != npos;
}

// As the \w and \d of Python's regular expressions.
bool IsWordCharacter(char32_t c) {
  return c == U'_' || (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_L_MASK | U_GC_N_MASK)) != 0;
}

bool IsDigit(char32_t c) {
  return u_isdigit(static_cast<UChar32>(c));
}

bool StartsAt(const Text& text, size_t at, TextView what) {
  return text.compare(at, what.size(), what) == 0;
}

// Whether a word of \w ends before `at`; that one stands there is known.
bool WordEndsBefore(const Text& text, size_t at) {
  return at >= text.size() || !IsWordCharacter(text[at]);
}

// Like re.sub, one rule after the other over the whole sentence: `rule(text, at, &out)`
// appends the replacement of a match at `at` and returns its length, or returns 0.  Each
// rule looks a bounded way ahead or takes what it looked at, so a pass is linear.
template <typename Rule>
void Substitute(Rule rule, Text* text) {
  Text out;
  out.reserve(text->size() + 16);
  for (size_t at = 0; at < text->size();) {
    const size_t matched = rule(*text, at, &out);
    if (matched == 0) out += (*text)[at];
    at += std::max<size_t>(matched, 1);
  }
  *text = std::move(out);
}

void AppendPadded(TextView what, Text* out) {
  *out += U' ';
  *out += what;
  *out += U' ';
}

// Spaces around each character of `set`.
void PadEach(TextView set, Text* text) {
  Substitute(
      [set](const Text& in, size_t at, Text* out) -> size_t {
        if (!IsOneOf(in[at], set)) return 0;
        AppendPadded({&in[at], 1}, out);
        return 1;
      },
      text);
}

// Spaces around each `what`, which becomes `replacement`.
void PadAll(TextView what, TextView replacement, Text* text) {
  Substitute(
      [=](const Text& in, size_t at, Text* out) -> size_t {
        if (!StartsAt(in, at, what)) return 0;
        AppendPadded(replacement, out);
        return what.size();
      },
      text);
}

// Spaces around each run of at least `least` times `c`.
void PadRuns(char32_t c, size_t least, Text* text) {
  Substitute(
      [=](const Text& in, size_t at, Text* out) -> size_t {
        const size_t length = std::min(in.find_first_not_of(c, at), in.size()) - at;
        if (length == 0) return 0;
        // A shorter run is taken as a whole too, so that none is looked at twice.
        if (length >= least) {
          AppendPadded({&in[at], length}, out);
        } else {
          out->append(in, at, length);
        }
        return length;
      },
      text);
}

void SplitOpeningQuotes(Text* text) {
  PadEach(U"\u00AB\u201C\u2018\u201E", text);
  PadRuns(U'`', 1, text);
  if (!text->empty() && text->front() == U'"') text->replace(0, 1, U"``");
  PadAll(U"``", U"``", text);
  Substitute(
      [](const Text& in, size_t at, Text* out) -> size_t {
        if (!IsOneOf(in[at], U" ([{<") || at + 1 >= in.size()) return 0;
        const size_t quote = in[at + 1] == U'"' ? 1 : StartsAt(in, at + 1, U"''") ? 2 : 0;
        if (quote == 0) return 0;
        *out += in[at];
        *out += U" `` ";
        return 1 + quote;
      },
      text);
  // A quote before a word of one letter that is no contraction.
  Substitute(
      [](const Text& in, size_t at, Text* out) -> size_t {
        if (in[at] != U'\'' || at + 1 >= in.size() || !IsWordCharacter(in[at + 1])) return 0;
        if (IsOneOf(in[at + 1], U"mtsdn") || !WordEndsBefore(in, at + 2)) return 0;
        *out += U"' ";
        *out += in[at + 1];
        return 2;
      },
      text);
}

// The last period, with only closers and spaces behind it, if no other stands before it.
void SplitFinalPeriod(Text* text) {
  size_t end = text->size();
  while (end > 0 && ((*text)[end - 1] == U' ' || IsOneOf((*text)[end - 1], kClosers))) --end;
  if (end < 2 || (*text)[end - 1] != U'.' || (*text)[end - 2] == U'.') return;
  text->insert(end, 1, U' ');
  text->insert(end - 1, 1, U' ');
}

void SplitPunctuation(Text* text) {
  SplitFinalPeriod(text);
  // Not within a number.  The character behind is taken too: of ",," only the first is
  // split off here.
  Substitute(
      [](const Text& in, size_t at, Text* out) -> size_t {
        if (!IsOneOf(in[at], U":,") || at + 1 >= in.size() || IsDigit(in[at + 1])) return 0;
        AppendPadded({&in[at], 1}, out);
        *out += in[at + 1];
        return 2;
      },
      text);
  if (!text->empty() && IsOneOf(text->back(), U":,")) text->insert(text->size() - 1, 1, U' ');
  PadRuns(U'.', 2, text);
  PadEach(U";@#$%&", text);
  PadEach(U"?!", text);
  Substitute(
      [](const Text& in, size_t at, Text* out) -> size_t {
        if (in[at] == U'\'' || !StartsAt(in, at + 1, U"' ")) return 0;
        *out += in[at];
        *out += U" ' ";
        return 3;
      },
      text);
  PadEach(U"*", text);
  PadEach(U"[](){}<>", text);
  PadAll(U"--", U"--", text);
}

// One of `endings` and a space behind it, after something that is no quote or space.
template <size_t kCount>
void SplitEndings(const TextView (&endings)[kCount], Text* text) {
  Substitute(
      [&endings](const Text& in, size_t at, Text* out) -> size_t {
        if (IsOneOf(in[at], U"' ")) return 0;
        for (const TextView ending : endings) {
          const size_t behind = at + 1 + ending.size();
          if (!StartsAt(in, at + 1, ending) || behind >= in.size() || in[behind] != U' ') continue;
          *out += in[at];
          *out += U' ';
          *out += ending;
          *out += U' ';
          return behind + 1 - at;
        }
        return 0;
      },
      text);
}

void SplitEndings(Text* text) {
  static constexpr TextView kShort[] = {U"'s", U"'m", U"'d", U"'"};
  static constexpr TextView kLong[] = {U"'ll", U"'re", U"'ve", U"n't"};
  PadEach(U"\u00BB\u201D\u2019", text);
  PadAll(U"''", U"''", text);
  PadAll(U"\"", U"''", text);
  SplitEndings(kShort, text);
  SplitEndings(kLong, text);
}

struct Contraction {
  TextView first;
  TextView second;
};

// Words that are two; those that begin with a quote, only behind a space.
template <size_t kCount>
void SplitContractions(const Contraction (&contractions)[kCount], Text* text) {
  Substitute(
      [&contractions](const Text& in, size_t at, Text* out) -> size_t {
        const bool quote = in[at] == U'\'';
        if (at == 0 || (quote ? in[at - 1] != U' ' : IsWordCharacter(in[at - 1]))) return 0;
        for (const auto& [first, second] : contractions) {
          const size_t length = first.size() + second.size();
          if (!StartsAt(in, at, first) || !StartsAt(in, at + first.size(), second)) continue;
          if (!WordEndsBefore(in, at + length)) continue;
          if (first == U"wan" && in[at + length] != U' ') continue;
          *out += U' ';
          *out += first;
          AppendPadded(second, out);
          return length;
        }
        return 0;
      },
      text);
}

void SplitContractions(Text* text) {
  static constexpr Contraction kWords[] = {
      {U"can", U"not"}, {U"d", U"'ye"},  {U"gim", U"me"},  {U"gon", U"na"},
      {U"got", U"ta"},  {U"lem", U"me"}, {U"more", U"'n"}, {U"wan", U"na"},
  };
  static constexpr Contraction kIs[] = {{U"'t", U"is"}};
  static constexpr Contraction kWas[] = {{U"'t", U"was"}};
  SplitContractions(kWords, text);
  SplitContractions(kIs, text);
  SplitContractions(kWas, text);
}

void AppendWords(Text sentence, std::vector<std::string>* words) {
  SplitOpeningQuotes(&sentence);
  SplitPunctuation(&sentence);
  sentence = U" " + sentence + U" ";
  SplitEndings(&sentence);
  SplitContractions(&sentence);
  std::string word;
  for (const char32_t c : sentence) {
    if (c != U' ') {
      AppendCodePoint(static_cast<UChar32>(c), &word);
    } else if (!word.empty()) {
      words->push_back(std::move(word));
      word.clear();
    }
  }
}

// Whether a sentence ends with `word`, which white space follows.
bool EndsSentence(TextView word) {
  const size_t end = word.find_last_not_of(kClosers);
  if (end == npos || end == 0 || word[end] != U'.') return false;
  const TextView stem = word.substr(0, end);
  return stem.find(U'.') == npos && !(stem.size() == 1 && IsWordCharacter(stem[0]));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitIntoTreebankWords(absl::string_view text) {
  RETURN_IF_ERROR(CheckText(text));
  ASSIGN_OR_RETURN(const std::string lower, LowerCase(text));
  std::vector<std::string> words;
  Text sentence;
  Text word;
  const auto finish_word = [&] {
    if (word.empty()) return;
    if (!sentence.empty()) sentence += U' ';
    sentence += word;
    if (EndsSentence(word)) {
      AppendWords(std::move(sentence), &words);
      sentence.clear();
    }
    word.clear();
  };
  for (int64_t offset = 0; offset < static_cast<int64_t>(lower.size());) {
    const UChar32 c = NextCodePoint(lower, &offset);
    if (IsPythonSpace(c)) {
      finish_word();
    } else {
      word += static_cast<char32_t>(c);
    }
  }
  finish_word();
  AppendWords(std::move(sentence), &words);
  return words;
}

}  // namespace sightline
