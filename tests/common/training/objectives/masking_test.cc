#include "common/training/objectives/masking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int32_t kMask = 103, kRandomBegin = 200, kRandomEnd = 300;

TokenMasking Masking() {
  TokenMasking masking;
  masking.mask_id = kMask;
  masking.random_begin = kRandomBegin;
  masking.random_end = kRandomEnd;
  return masking;
}

// Every target is masked.
TokenMasking MaskedAlways() {
  TokenMasking masking = Masking();
  masking.masked = 1;
  masking.random = 0;
  return masking;
}

Random RandomOf(uint64_t row) {
  return Random(RowSeed(1, RandomStream::kMaskedTokens, 0, row));
}

MaskedTokens Masked(const std::vector<int32_t>& tokens, uint64_t row) {
  Random random = RandomOf(row);
  return MaskTokens(tokens, Masking(), &random);
}

// Within five standard deviations of a share of `draws`.
bool IsShare(int64_t count, double share, int64_t draws) {
  const double expected = share * static_cast<double>(draws);
  return std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected * (1 - share));
}

TEST_CASE("words that are named are the only targets of a text that has one of them") {
  TokenMasking masking = MaskedAlways();
  masking.words = {3, 8};
  masking.share = 0.5;
  const auto places = [&masking](const std::vector<int32_t>& tokens) {
    std::set<int64_t> places;
    for (uint64_t row = 0; row < 100; ++row) {
      Random random = RandomOf(row);
      const MaskedTokens shown = MaskTokens(tokens, masking, &random);
      for (size_t i = 0; i < shown.places.size(); ++i) {
        REQUIRE(shown.targets[i] == tokens[shown.places[i]]);
        REQUIRE(shown.tokens[shown.places[i]] == masking.mask_id);
      }
      REQUIRE_FALSE(shown.places.empty());
      places.insert(shown.places.begin(), shown.places.end());
    }
    return places;
  };
  REQUIRE(places({7, 8, 9, 3, 7}) == std::set<int64_t>{1, 3});
  REQUIRE(places({7, 6, 9}) == std::set<int64_t>{0, 1, 2});
  // In a caption whose picture has the word, too: there it is hidden with it.
  Random random = RandomOf(1);
  const CoMasked both = CoMaskTokens({7, 8, 7}, {8}, masking, &random);
  REQUIRE(both.caption.places == std::vector<int64_t>{1});
  REQUIRE(both.scene == std::vector<int32_t>{masking.mask_id});
}

TEST_CASE("of many tokens 15 % are targets, shown as mask, random and as they are 80/10/10") {
  const std::vector<int32_t> tokens(100, 7);
  int64_t targets = 0, masked = 0, kept = 0;
  std::set<int32_t> random;
  int64_t random_count = 0;
  constexpr int64_t kRows = 1000;
  for (int64_t row = 0; row < kRows; ++row) {
    const MaskedTokens shown = Masked(tokens, row);
    REQUIRE(std::is_sorted(shown.places.begin(), shown.places.end()));
    REQUIRE(shown.targets == std::vector<int32_t>(shown.places.size(), 7));
    targets += static_cast<int64_t>(shown.places.size());
    int64_t changed = 0;
    for (const int64_t place : shown.places) {
      const int32_t token = shown.tokens[place];
      masked += token == kMask;
      kept += token == 7;
      if (token == kMask || token == 7) continue;
      REQUIRE(token >= kRandomBegin);
      REQUIRE(token < kRandomEnd);
      random.insert(token);
      ++random_count;
    }
    for (const int32_t token : shown.tokens) changed += token != 7;
    // Nothing but targets is changed.
    REQUIRE(changed <= static_cast<int64_t>(shown.places.size()));
    REQUIRE(shown.tokens.size() == tokens.size());
  }
  REQUIRE(IsShare(targets, 0.15, kRows * 100));
  REQUIRE(IsShare(masked, 0.8, targets));
  REQUIRE(IsShare(kept, 0.1, targets));
  REQUIRE(masked + kept + random_count == targets);
  REQUIRE(random.size() == 100);  // the whole range comes
}

TEST_CASE("one token at least is a target, each of a short text about equally often") {
  const std::vector<int32_t> tokens = {5, 6, 7};
  std::vector<int64_t> seen(3, 0);
  for (uint64_t row = 0; row < 3000; ++row) {
    const MaskedTokens shown = Masked(tokens, row);
    REQUIRE_FALSE(shown.places.empty());
    for (size_t i = 0; i < shown.places.size(); ++i) {
      REQUIRE(shown.targets[i] == tokens[shown.places[i]]);
      ++seen[shown.places[i]];
    }
  }
  // 0.15, and a third of the texts in which no draw hit.
  for (const int64_t count : seen) REQUIRE(IsShare(count, 0.15 + std::pow(0.85, 3) / 3, 3000));
  REQUIRE(Masked({}, 1).places.empty());
}

TEST_CASE("a row is masked alike whenever its seed, step and number are, and else otherwise") {
  const std::vector<int32_t> tokens(200, 7);
  REQUIRE(Masked(tokens, 3).tokens == Masked(tokens, 3).tokens);
  REQUIRE(Masked(tokens, 3).tokens != Masked(tokens, 4).tokens);
  const uint64_t seed = RowSeed(1, RandomStream::kMaskedTokens, 5, 6);
  REQUIRE(seed != RowSeed(1, RandomStream::kMaskedTokens, 6, 5));
  REQUIRE(seed != RowSeed(2, RandomStream::kMaskedTokens, 5, 6));
  REQUIRE(seed != RowSeed(1, RandomStream::kMaskedRegions, 5, 6));
}

TEST_CASE("regions are masked one by one, and one at least") {
  int64_t count = 0;
  for (uint64_t row = 0; row < 1000; ++row) {
    Random random = RandomOf(row);
    const std::vector<int64_t> places = MaskRegions(50, 0.15, &random);
    REQUIRE_FALSE(places.empty());
    REQUIRE(places.back() < 50);
    count += static_cast<int64_t>(places.size());
  }
  REQUIRE(IsShare(count, 0.15, 50000));
  Random random(1);
  REQUIRE(MaskRegions(1, 0.0, &random) == std::vector<int64_t>{0});
  REQUIRE(MaskRegions(0, 0.5, &random).empty());
}

TEST_CASE("a target's token is masked wherever the picture has it, however the caption shows it") {
  TokenMasking masking = Masking();
  masking.share = 1;
  const std::vector<int32_t> caption = {10, 11, 12}, scene = {12, 90, 10, 12};
  for (const double masked : {1.0, 0.0}) {
    masking.masked = masked;
    masking.random = 0;
    Random random(1);
    const CoMasked shown = CoMaskTokens(caption, scene, masking, &random);
    REQUIRE(shown.caption.targets == caption);
    REQUIRE((shown.caption.tokens == caption) == (masked == 0));
    REQUIRE(shown.scene == std::vector<int32_t>{kMask, 90, kMask, kMask});
  }
}

TEST_CASE("a shared token outside of the targets takes the place of one") {
  TokenMasking masking = MaskedAlways();
  masking.share = 0.3;
  // Only 12 is shared: it always becomes a target, and the number of targets stays.
  const std::vector<int32_t> caption = {10, 11, 12, 13, 14}, scene = {90, 12};
  std::set<std::vector<int64_t>> seen;
  for (uint64_t row = 0; row < 200; ++row) {
    Random random = RandomOf(row), again = RandomOf(row);
    const std::vector<int64_t> sampled = ChoosePlaces(5, 0.3, &again);
    const CoMasked shown = CoMaskTokens(caption, scene, masking, &random);
    REQUIRE(shown.caption.places.size() == sampled.size());
    REQUIRE(std::is_sorted(shown.caption.places.begin(), shown.caption.places.end()));
    REQUIRE(shown.caption.tokens[2] == kMask);
    REQUIRE(shown.scene == std::vector<int32_t>{90, kMask});
    // All others were sampled.
    for (const int64_t place : shown.caption.places) {
      REQUIRE((place == 2 || std::count(sampled.begin(), sampled.end(), place) == 1));
    }
    seen.insert(shown.caption.places);
  }
  REQUIRE(seen.size() > 8);
}

TEST_CASE("where nothing is shared, targets are those that were sampled") {
  const std::vector<int32_t> caption = {10, 11, 12, 13, 14}, scene = {90, 91};
  Random random = RandomOf(1), again = RandomOf(1);
  const CoMasked shown = CoMaskTokens(caption, scene, Masking(), &random);
  const MaskedTokens alone = MaskTokens(caption, Masking(), &again);
  REQUIRE(shown.caption.places == alone.places);
  REQUIRE(shown.caption.tokens == alone.tokens);
  REQUIRE(shown.scene == scene);
  REQUIRE(CoMaskTokens({}, scene, Masking(), &random).scene == scene);
}

TEST_CASE("shares and ids that make no sense are told, all at once") {
  REQUIRE(CheckTokenMasking(Masking(), kRandomEnd).ok());
  TokenMasking masking = Masking();
  masking.share = std::numeric_limits<double>::quiet_NaN();
  masking.masked = 0.95;
  masking.random_end = kRandomBegin;
  const std::string told(CheckTokenMasking(masking, 103).message());
  for (const char* part : {"share is nan", "0.95 and 0.1", "mask_id is 103, not below 103",
                           "random tokens are 200 to before 200"}) {
    REQUIRE_THAT(told, Catch::Contains(part));
  }
  REQUIRE_FALSE(CheckTokenMasking(Masking(), kRandomEnd - 1).ok());
}

}  // namespace
}  // namespace sightline
