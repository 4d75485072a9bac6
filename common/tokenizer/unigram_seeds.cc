#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/unicode.h"
#include "common/tokenizer/unigram_learner.h"

namespace sightline {
namespace {

constexpr int kMaxPieceCharacters = 16;
constexpr UChar32 kWordStart = 0x2581;

// Where a substring may begin.
struct Suffix {
  uint32_t word = 0;
  uint32_t begin = 0;  // byte
};

// A substring, and how much it is worth as a piece.
struct Candidate {
  absl::string_view text;
  double worth = 0;
};

bool IsBetter(const Candidate& a, const Candidate& b) {
  return a.worth != b.worth ? a.worth > b.worth : a.text < b.text;
}

// The first `count` characters of `text`; nothing if it has fewer.
absl::string_view FirstCharacters(absl::string_view text, int count) {
  int64_t offset = 0;
  for (; count > 0; --count) {
    if (offset == static_cast<int64_t>(text.size())) return {};
    NextCodePoint(text, &offset);
  }
  return text.substr(0, static_cast<size_t>(offset));
}

enum class Sign { kLetter, kNumber, kOther };

Sign SignOf(UChar32 c) {
  const uint32_t category = U_GET_GC_MASK(c);
  if ((category & (U_GC_L_MASK | U_GC_M_MASK)) != 0) return Sign::kLetter;
  return (category & U_GC_N_MASK) != 0 ? Sign::kNumber : Sign::kOther;
}

// Whether all characters but the mark of a word's start are of one sort.
bool IsOfOneSort(absl::string_view text) {
  int64_t offset = 0;
  UChar32 first = NextCodePoint(text, &offset);
  if (first == kWordStart) first = NextCodePoint(text, &offset);
  while (offset < static_cast<int64_t>(text.size())) {
    if (SignOf(NextCodePoint(text, &offset)) != SignOf(first)) return false;
  }
  return true;
}

// Every suffix of every word, in bytewise order.
class SuffixArray {
 public:
  explicit SuffixArray(const std::vector<CountedWord>& words) : words_(words) {
    for (size_t word = 0; word < words.size(); ++word) {
      const std::string& text = words[word].text;
      for (int64_t at = 0; at < static_cast<int64_t>(text.size()); NextCodePoint(text, &at)) {
        suffixes_.push_back({static_cast<uint32_t>(word), static_cast<uint32_t>(at)});
      }
    }
    std::sort(suffixes_.begin(), suffixes_.end(),
              [this](const Suffix& a, const Suffix& b) { return TextOf(a) < TextOf(b); });
  }

  size_t size() const { return suffixes_.size(); }
  absl::string_view operator[](size_t i) const { return TextOf(suffixes_[i]); }
  int64_t CountOf(size_t i) const { return words_[suffixes_[i].word].count; }

 private:
  absl::string_view TextOf(const Suffix& suffix) const {
    return absl::string_view(words_[suffix.word].text).substr(suffix.begin);
  }

  const std::vector<CountedWord>& words_;
  std::vector<Suffix> suffixes_;
};

// The best so far of any number of candidates.
class BestCandidates {
 public:
  explicit BestCandidates(size_t most) : most_(most) {}

  void Add(const Candidate& candidate) {
    candidates_.push_back(candidate);
    if (candidates_.size() > 2 * most_ + 1) Cut();
  }

  std::vector<Candidate> Take() {
    Cut();
    std::sort(candidates_.begin(), candidates_.end(), IsBetter);
    return std::move(candidates_);
  }

 private:
  void Cut() {
    if (candidates_.size() <= most_) return;
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<int64_t>(most_),
                     candidates_.end(), IsBetter);
    candidates_.resize(most_);
  }

  const size_t most_;
  std::vector<Candidate> candidates_;
};

// Those of `length` characters: each is what a run of neighbours begins with.
void AddSubstrings(const SuffixArray& suffixes, int length, int64_t min_count,
                   BestCandidates* best) {
  for (size_t begin = 0; begin < suffixes.size();) {
    const absl::string_view text = FirstCharacters(suffixes[begin], length);
    size_t end = begin + 1;
    if (!text.empty()) {
      int64_t count = suffixes.CountOf(begin);
      for (; end < suffixes.size() && absl::StartsWith(suffixes[end], text); ++end) {
        count += suffixes.CountOf(end);
      }
      const absl::string_view longer = FirstCharacters(suffixes[begin], length + 1);
      const bool always_longer = length < kMaxPieceCharacters && !longer.empty() &&
                                 absl::StartsWith(suffixes[end - 1], longer) && IsOfOneSort(longer);
      if (count >= min_count && !always_longer && IsOfOneSort(text)) {
        best->Add({text, static_cast<double>(count) * length});
      }
    }
    begin = end;
  }
}

}  // namespace

std::vector<UnigramPiece> SeedPieces(const std::vector<CountedWord>& words,
                                     const std::set<std::string>& characters,
                                     const UnigramOptions& options) {
  std::map<absl::string_view, double> of_characters;
  for (const std::string& character : characters) of_characters[character] = 0;
  for (const CountedWord& word : words) {
    for (absl::string_view rest = word.text; !rest.empty();) {
      const absl::string_view character = FirstCharacters(rest, 1);
      of_characters[character] += static_cast<double>(word.count);
      rest.remove_prefix(character.size());
    }
  }
  const SuffixArray suffixes(words);
  BestCandidates best(options.max_seeds);
  for (int length = 2; length <= kMaxPieceCharacters; ++length) {
    AddSubstrings(suffixes, length, options.min_count, &best);
  }

  // What no word has may still be asked for.
  constexpr double kLeastWorth = 1;
  std::vector<Candidate> all;
  for (const auto& [character, count] : of_characters) {
    all.push_back({character, std::max(count, kLeastWorth)});
  }
  for (const Candidate& candidate : best.Take()) all.push_back(candidate);
  double sum = 0;
  for (const Candidate& candidate : all) sum += candidate.worth;
  std::vector<UnigramPiece> pieces;
  pieces.reserve(all.size());
  for (const Candidate& candidate : all) {
    pieces.push_back({std::string(candidate.text), std::log(candidate.worth / sum)});
  }
  return pieces;
}

}  // namespace sightline
