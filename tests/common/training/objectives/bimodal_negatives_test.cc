#include "common/training/objectives/bimodal_negatives.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Words = std::vector<std::string>;

const std::vector<CaptionWord>& Caption() {
  static const auto* const words = new std::vector<CaptionWord>{
      {"a", WordKind::kOther},     {"big", WordKind::kAdjective}, {"dog", WordKind::kNoun},
      {"sleeps", WordKind::kVerb}, {"near", WordKind::kOther},    {"a", WordKind::kOther},
      {"cat", WordKind::kNoun},    {"quietly", WordKind::kAdverb}};
  return *words;
}

const Words& Tags() {
  static const auto* const tags = new Words{"dog", "cat", "tree", "traffic light"};
  return *tags;
}

// Nothing is known of "sleeps".
Antonyms Table() {
  return {{"big", {"small", "little"}}, {"quietly", {"loudly"}}};
}

TEST_CASE("what surrounds a word stays, and so does its capital") {
  std::vector<CaptionWord> words = SplitCaption("Big (Dogs), they say.");
  REQUIRE(words.size() == 4);
  words[0].kind = WordKind::kAdjective;
  words[1].kind = WordKind::kNoun;
  words[1].lemma = "dog";
  Random random(3);
  const Antonyms antonyms = {{"big", {"small"}}};
  const Words text = *HardNegativeText(words, Words{"dog", "tree"}, antonyms, 1, &random);
  REQUIRE(text == Words{"Small", "(Tree),", "they", "say."});
}

TEST_CASE("nouns become other tags, other words their antonyms, each half of the time") {
  std::map<std::string, int64_t> changed, drawn;
  constexpr int64_t kDraws = 2000;
  for (uint64_t row = 0; row < kDraws; ++row) {
    Random random(RowSeed(1, RandomStream::kHardTexts, 0, row));
    const Words text = HardNegativeText(Caption(), Tags(), Table(), 0.5, &random).value();
    REQUIRE(text.size() == Caption().size());
    int64_t differ = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const CaptionWord& word = Caption()[i];
      if (text[i] == word.text) continue;
      ++differ;
      ++changed[word.text];
      ++drawn[text[i]];
      if (word.kind == WordKind::kNoun) {
        REQUIRE(std::count(Tags().begin(), Tags().end(), text[i]) == 1);
      } else {
        const Words antonyms = Table().at(word.text);
        REQUIRE(std::count(antonyms.begin(), antonyms.end(), text[i]) == 1);
      }
    }
    REQUIRE(differ > 0);
  }
  REQUIRE(changed.size() == 4);
  // A half, and a quarter of the draws that hit none of the four.
  const double share = 0.5 + std::pow(0.5, 4) / 4;
  for (const auto& [word, count] : changed) {
    REQUIRE(std::abs(static_cast<double>(count) / kDraws - share) < 5 * 0.5 / std::sqrt(kDraws));
  }
  for (const char* word : {"tree", "traffic light", "small", "little", "loudly"}) {
    REQUIRE(drawn[word] > kDraws / 8);
  }
}

TEST_CASE("a caption of which nothing can be replaced has no hard negative") {
  Random random(1);
  const std::vector<CaptionWord> words = {{"it", WordKind::kOther}, {"sleeps", WordKind::kVerb}};
  REQUIRE_FALSE(HardNegativeText(words, Tags(), Table(), 0.5, &random).has_value());
  // A noun whose only tag is its own is none that can be replaced.
  const std::vector<CaptionWord> dog = {{"dog", WordKind::kNoun}};
  REQUIRE_FALSE(HardNegativeText(dog, Words{"dog"}, Table(), 0.5, &random).has_value());
  REQUIRE(HardNegativeText(dog, Words{"dog", "cat"}, Table(), 0.0, &random).value() ==
          Words{"cat"});
}

BatchTags Batch() {
  return BatchTags({{"dog", "traffic light", "sky", "tree", "grass", "traffic"},
                    {"dog", "cat", "sky"},
                    {"car", "traffic light"}});
}

std::string TagOf(const RegionOf& at) {
  static const std::vector<Words> tags = {
      {"dog", "traffic light", "sky", "tree", "grass", "traffic"},
      {"dog", "cat", "sky"},
      {"car", "traffic light"}};
  return tags[at.picture][at.region];
}

TEST_CASE("all that a caption mentions is replaced, and half of the rest") {
  const Words caption = {"a", "dog", "at", "a", "traffic", "light"};
  std::vector<int64_t> replaced(6, 0);
  std::set<std::string> shown;
  constexpr int64_t kDraws = 1000;
  for (uint64_t row = 0; row < kDraws; ++row) {
    Random random(RowSeed(1, RandomStream::kHardImages, 0, row));
    const auto regions = Batch().HardNegativeImage(0, caption, 0.5, &random);
    REQUIRE(regions.size() == 6);
    int64_t rest = 0;
    for (int64_t i = 0; i < 6; ++i) {
      if (regions[i].picture == 0) {
        REQUIRE(regions[i].region == i);
        continue;
      }
      ++replaced[i];
      rest += i == 2 || i == 3 || i == 4;
      // Neither its own tag, nor one that would make the caption true again.
      const std::string tag = TagOf(regions[i]);
      REQUIRE(tag != TagOf({0, i}));
      REQUIRE(tag != "dog");
      REQUIRE(tag != "traffic light");
      shown.insert(tag);
    }
    REQUIRE(rest == 1);  // half of sky, tree and grass
  }
  REQUIRE(shown == std::set<std::string>{"cat", "sky", "car"});
  // "traffic" is a word of the caption.
  for (const int64_t i : {0, 1, 5}) REQUIRE(replaced[i] == kDraws);
  for (const int64_t i : {2, 3, 4}) REQUIRE(std::abs(replaced[i] - kDraws / 3) < 80);
}

TEST_CASE("a tag of two words is mentioned by both of them in a row") {
  Random random(1);
  const auto regions =
      Batch().HardNegativeImage(2, Words{"light", "traffic", "and", "cars"}, 0, &random);
  REQUIRE(regions[0].picture == 2);
  REQUIRE(regions[1].picture == 2);
}

TEST_CASE("a region for which the batch has nothing else stays") {
  Random random(1);
  const BatchTags batch({{"dog", "cat"}, {"dog", "dog"}});
  const auto regions = batch.HardNegativeImage(0, Words{"dog", "cat"}, 0.5, &random);
  REQUIRE(regions[0].picture == 0);
  REQUIRE(regions[1].picture == 0);
  const auto other = batch.HardNegativeImage(0, Words{"cat"}, 0, &random);
  REQUIRE(other[0].picture == 0);
  REQUIRE(other[1].picture == 1);
}

}  // namespace
}  // namespace sightline
