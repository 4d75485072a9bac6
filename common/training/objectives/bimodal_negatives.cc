#include "common/training/objectives/bimodal_negatives.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/training/draw_fitting.h"
#include "common/training/objectives/masking.h"

namespace sightline {
namespace {

const std::string& LemmaOf(const CaptionWord& word) {
  return word.lemma.empty() ? word.text : word.lemma;
}

std::string Written(const CaptionWord& word, absl::string_view written) {
  return absl::StrCat(word.before, written.empty() ? word.text : written, word.after);
}

// What may stand in the place of `word`.
absl::Span<const std::string> AlternativesTo(const CaptionWord& word,
                                             absl::Span<const std::string> tags,
                                             const Antonyms& antonyms) {
  if (word.kind == WordKind::kOther) return {};
  if (word.kind == WordKind::kNoun) return tags;
  const auto found = antonyms.find(LemmaOf(word));
  if (found == antonyms.end()) return {};
  return found->second;
}

// A word and what is drawn in its place.
struct Replacement {
  size_t place = 0;
  std::string text;
};

// For every word that can be replaced.
std::vector<Replacement> DrawReplacements(absl::Span<const CaptionWord> words,
                                          absl::Span<const std::string> tags,
                                          const Antonyms& antonyms, Random* random) {
  std::vector<Replacement> drawn;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto differs = [&](const std::string& other) { return other != LemmaOf(words[i]); };
    const absl::optional<std::string> other =
        DrawFitting(AlternativesTo(words[i], tags, antonyms), differs, random);
    if (other.has_value()) drawn.push_back({i, *other});
  }
  return drawn;
}

// Tags that the caption has, all of their words in a row.
class Mentions {
 public:
  explicit Mentions(absl::Span<const std::string> caption)
      : text_(absl::StrCat(" ", absl::StrJoin(caption, " "), " ")) {}
  bool Has(absl::string_view tag) const {
    return absl::StrContains(text_, absl::StrCat(" ", tag, " "));
  }

 private:
  const std::string text_;
};

}  // namespace

std::vector<CaptionWord> SplitCaption(absl::string_view caption) {
  std::vector<CaptionWord> words;
  for (const absl::string_view piece : absl::StrSplit(caption, ' ', absl::SkipEmpty())) {
    size_t begin = 0, end = piece.size();
    while (begin < end && absl::ascii_ispunct(piece[begin])) ++begin;
    while (end > begin && absl::ascii_ispunct(piece[end - 1])) --end;
    CaptionWord& word = words.emplace_back();
    word.before = std::string(piece.substr(0, begin));
    word.written = std::string(piece.substr(begin, end - begin));
    word.after = std::string(piece.substr(end));
    word.text = absl::AsciiStrToLower(word.written);
  }
  return words;
}

absl::optional<std::vector<std::string>> HardNegativeText(absl::Span<const CaptionWord> words,
                                                          absl::Span<const std::string> tags,
                                                          const Antonyms& antonyms, double share,
                                                          Random* random) {
  const std::vector<Replacement> all = DrawReplacements(words, tags, antonyms, random);
  if (all.empty()) return absl::nullopt;
  std::vector<std::string> text;
  for (const CaptionWord& word : words) text.push_back(Written(word, word.written));
  for (const int64_t chosen : ChoosePlaces(static_cast<int64_t>(all.size()), share, random)) {
    const CaptionWord& word = words[all[chosen].place];
    std::string other = all[chosen].text;
    if (!word.written.empty() && absl::ascii_isupper(word.written[0])) {
      other[0] = absl::ascii_toupper(other[0]);
    }
    text[all[chosen].place] = Written(word, other);
  }
  return text;
}

BatchTags::BatchTags(std::vector<std::vector<std::string>> tags) : tags_(std::move(tags)) {
  for (size_t picture = 0; picture < tags_.size(); ++picture) {
    for (size_t region = 0; region < tags_[picture].size(); ++region) {
      regions_.push_back({static_cast<int64_t>(picture), static_cast<int64_t>(region)});
    }
  }
}

std::vector<RegionOf> BatchTags::HardNegativeImage(int64_t picture,
                                                   absl::Span<const std::string> caption,
                                                   double rest_share, Random* random) const {
  const Mentions mentions(caption);
  std::vector<RegionOf> shown;
  std::vector<int64_t> replaced, rest;
  for (int64_t i = 0; i < static_cast<int64_t>(tags_[picture].size()); ++i) {
    shown.push_back({picture, i});
    (mentions.Has(tags_[picture][i]) ? replaced : rest).push_back(i);
  }
  const auto more = static_cast<int64_t>(rest_share * static_cast<double>(rest.size()));
  random->ShuffleFirst(more, &rest);
  replaced.insert(replaced.end(), rest.begin(), rest.begin() + more);
  for (const int64_t region : replaced) {
    const auto fits = [&](const RegionOf& other) {
      return other.picture != picture && tag(other) != tags_[picture][region] &&
             !mentions.Has(tag(other));
    };
    const auto other = DrawFitting(absl::MakeConstSpan(regions_), fits, random);
    if (other.has_value()) shown[region] = *other;
  }
  return shown;
}

}  // namespace sightline
