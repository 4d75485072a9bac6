#include "common/training/pair_sampler.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Pictures 0 to 9, picture i with i % 3 + 1 captions; those of pictures 0 and 3 share their words.
std::unique_ptr<PairCorpus> TenPictures() {
  auto corpus = std::make_unique<MadeUpCorpus>(2);
  for (int i = 0; i < 10; ++i) {
    std::vector<std::string> captions;
    for (int k = 0; k <= i % 3; ++k) {
      captions.push_back("picture " + std::to_string(i == 3 ? 0 : i) + " " + std::to_string(k));
    }
    corpus->Add(MadeUpItem(std::to_string(i), captions));
  }
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  return *PairCorpus::Open(std::move(corpora), {});
}

TEST_CASE("an epoch of captions shows each once, with its picture, in another order each time") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  REQUIRE(sampler.epoch_size() == 19);
  std::vector<int64_t> shown;
  // Batches run over the ends of epochs.
  for (int64_t step = 0; step < 38; ++step) {
    const DrawnBatch batch = sampler.Batch(step, 4);
    REQUIRE(batch.captions.size() == 4);
    for (size_t i = 0; i < 4; ++i) {
      REQUIRE(batch.pictures[i] == pairs->picture_of(batch.captions[i]));
    }
    shown.insert(shown.end(), batch.captions.begin(), batch.captions.end());
  }
  const auto epoch = [&](int number) {
    return std::vector<int64_t>(shown.begin() + number * 19, shown.begin() + (number + 1) * 19);
  };
  for (int number = 0; number < 8; ++number) {
    const std::vector<int64_t> once = epoch(number);
    REQUIRE(std::set<int64_t>(once.begin(), once.end()).size() == 19);
  }
  REQUIRE(epoch(0) != epoch(1));
}

TEST_CASE("an epoch of pictures shows each once, with any of its captions") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kPictures, 1);
  REQUIRE(sampler.epoch_size() == 10);
  std::map<int64_t, std::set<int64_t>> captions;
  for (int64_t step = 0; step < 40; ++step) {
    const DrawnBatch batch = sampler.Batch(step, 5);
    for (size_t i = 0; i < 5; ++i) captions[batch.pictures[i]].insert(batch.captions[i]);
  }
  for (const auto& [picture, drawn] : captions) {
    REQUIRE(static_cast<int64_t>(drawn.size()) == pairs->caption_count(picture));
    for (const int64_t caption : drawn) REQUIRE(pairs->picture_of(caption) == picture);
  }
}

TEST_CASE(
    "a step's draw is the same whoever asks and in whatever order, and another by another seed") {
  const auto pairs = TenPictures();
  PairSampler once(pairs.get(), EpochUnit::kCaptions, 1),
      again(pairs.get(), EpochUnit::kCaptions, 1), other(pairs.get(), EpochUnit::kCaptions, 2);
  const auto all = [](PairSampler* sampler, std::vector<int64_t> steps) {
    std::map<int64_t, std::vector<int64_t>> captions;
    for (const int64_t step : steps) captions[step] = sampler->Batch(step, 4).captions;
    return captions;
  };
  const auto forwards = all(&once, {0, 1, 2, 3, 4, 5, 6});
  REQUIRE(all(&again, {6, 0, 5, 3, 1, 2, 4}) == forwards);
  REQUIRE(all(&other, {0, 1, 2, 3, 4, 5, 6}) != forwards);
  REQUIRE(once.Problems(3, 2, 4, WrongSides::kOne, 0.5).pairs ==
          again.Problems(3, 2, 4, WrongSides::kOne, 0.5).pairs);
}

TEST_CASE("a problem's first pair is right and the others are wrong, on one side") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  int wrong_captions = 0, problems = 0;
  for (int64_t step = 0; step < 100; ++step) {
    const DrawnProblems drawn = sampler.Problems(step, 3, 4, WrongSides::kOne, 0.25);
    REQUIRE(drawn.pairs.size() == 12);
    const std::set<int64_t> captions(drawn.batch.captions.begin(), drawn.batch.captions.end());
    REQUIRE(captions.size() == drawn.batch.captions.size());
    for (size_t begin = 0; begin < 12; begin += 4) {
      ++problems;
      const auto [caption, picture] = drawn.pairs[begin];
      REQUIRE(pairs->picture_of(drawn.batch.captions[caption]) == drawn.batch.pictures[picture]);
      const bool of_picture = drawn.pairs[begin + 1].second == picture;
      wrong_captions += of_picture ? 1 : 0;
      for (size_t i = begin + 1; i < begin + 4; ++i) {
        const auto [other_caption, other_picture] = drawn.pairs[i];
        REQUIRE((of_picture ? other_picture == picture : other_caption == caption));
        REQUIRE_FALSE(pairs->MayBeRight(drawn.batch.captions[other_caption],
                                        drawn.batch.pictures[other_picture]));
      }
    }
  }
  REQUIRE(wrong_captions > 45);
  REQUIRE(wrong_captions < 110);
  REQUIRE(problems == 300);
}

TEST_CASE("of both sides in turn a problem has a wrong picture, then a wrong caption") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  const DrawnProblems drawn = sampler.Problems(0, 2, 3, WrongSides::kInTurn, 0.5);
  for (size_t begin = 0; begin < 6; begin += 3) {
    const auto [caption, picture] = drawn.pairs[begin];
    REQUIRE(drawn.pairs[begin + 1].first == caption);
    REQUIRE(drawn.pairs[begin + 1].second != picture);
    REQUIRE(drawn.pairs[begin + 2].first != caption);
    REQUIRE(drawn.pairs[begin + 2].second == picture);
  }
}

TEST_CASE("what may be right for a caption is related, but not its own place") {
  const auto pairs = TenPictures();
  const PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  DrawnBatch batch;
  batch.pictures = {0, 3, 5, 5};
  for (const int64_t picture : batch.pictures) {
    batch.captions.push_back(pairs->first_caption(picture));
  }
  REQUIRE(sampler.Related(batch) ==
          std::vector<uint8_t>{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0});
}

}  // namespace
}  // namespace sightline
