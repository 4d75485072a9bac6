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

ProblemDraws Draws(int64_t candidates, WrongSides sides = WrongSides::kOne,
                   double text_negatives = 0.5) {
  ProblemDraws draws;
  draws.candidates = candidates;
  draws.sides = sides;
  draws.text_negatives = text_negatives;
  return draws;
}

// Of each caption the pictures, and of each picture the captions, that come next and are wrong.
NearestWrong NextOnes(const PairCorpus& pairs, int64_t kept) {
  NearestWrong nearest;
  nearest.kept = kept;
  nearest.pictures.assign(pairs.caption_count() * kept, -1);
  nearest.captions.assign(pairs.picture_count() * kept, -1);
  for (int64_t caption = 0; caption < pairs.caption_count(); ++caption) {
    for (int64_t k = 0, next = pairs.picture_of(caption) + 1; k < kept; ++next) {
      const int64_t picture = next % pairs.picture_count();
      if (pairs.MayBeRight(caption, picture)) continue;
      nearest.pictures[caption * kept + k++] = picture;
    }
  }
  for (int64_t picture = 0; picture < pairs.picture_count(); ++picture) {
    for (int64_t k = 0, next = pairs.first_caption(picture) + 1; k < kept; ++next) {
      const int64_t caption = next % pairs.caption_count();
      if (pairs.MayBeRight(caption, picture)) continue;
      nearest.captions[picture * kept + k++] = caption;
    }
  }
  return nearest;
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
  REQUIRE(once.Problems(3, 2, Draws(4)).pairs == again.Problems(3, 2, Draws(4)).pairs);
}

TEST_CASE("a problem's first pair is right and the others are wrong, on one side") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  int wrong_captions = 0, problems = 0;
  for (int64_t step = 0; step < 100; ++step) {
    const DrawnProblems drawn = sampler.Problems(step, 3, Draws(4, WrongSides::kOne, 0.25));
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
  const DrawnProblems drawn = sampler.Problems(0, 2, Draws(3, WrongSides::kInTurn));
  for (size_t begin = 0; begin < 6; begin += 3) {
    const auto [caption, picture] = drawn.pairs[begin];
    REQUIRE(drawn.pairs[begin + 1].first == caption);
    REQUIRE(drawn.pairs[begin + 1].second != picture);
    REQUIRE(drawn.pairs[begin + 2].first != caption);
    REQUIRE(drawn.pairs[begin + 2].second == picture);
  }
}

TEST_CASE("by problem the wrong ones are captions, then pictures, from one step to the next too") {
  const auto pairs = TenPictures();
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  int64_t problem = 0;
  for (int64_t step = 0; step < 4; ++step) {
    const auto drawn = sampler.Problems(step, 3, Draws(4, WrongSides::kByProblem, 0.9)).pairs;
    for (size_t begin = 0; begin < drawn.size(); begin += 4, ++problem) {
      for (size_t i = begin + 1; i < begin + 4; ++i) {
        REQUIRE((drawn[i].first == drawn[begin].first) == (problem % 2 == 1));
        REQUIRE((drawn[i].second == drawn[begin].second) == (problem % 2 == 0));
      }
    }
  }
}

TEST_CASE("so many of the wrong ones are of the nearest, each once, and the rest of all") {
  const auto pairs = TenPictures();
  const NearestWrong nearest = NextOnes(*pairs, 3);
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  const auto has = [](absl::Span<const int64_t> all, int64_t item) {
    return std::find(all.begin(), all.end(), item) != all.end();
  };
  int beyond = 0;
  for (const WrongSides sides : {WrongSides::kOne, WrongSides::kInTurn}) {
    ProblemDraws draws = Draws(6, sides);
    draws.nearest = 3;
    draws.mined = &nearest;
    for (int64_t step = 0; step < 30; ++step) {
      const auto drawn = sampler.Problems(step, 2, draws).Captioned();
      for (size_t begin = 0; begin < drawn.size(); begin += 6) {
        const auto [caption, picture] = drawn[begin];
        std::set<CaptionedPicture> different;
        for (size_t i = begin + 1; i < begin + 6; ++i) {
          REQUIRE_FALSE(pairs->MayBeRight(drawn[i].first, drawn[i].second));
          const bool near = drawn[i].first == caption
                                ? has(nearest.PicturesOf(caption), drawn[i].second)
                                : has(nearest.CaptionsOf(picture), drawn[i].first);
          if (i <= begin + 3) {
            REQUIRE(near);
            different.insert(drawn[i]);
          } else {
            beyond += near ? 0 : 1;
          }
        }
        REQUIRE(different.size() == 3);
      }
    }
  }
  REQUIRE(beyond > 60);
}

TEST_CASE("nearest pictures come behind a batch's own, each once, and the same for a step") {
  const auto pairs = TenPictures();
  const NearestWrong nearest = NextOnes(*pairs, 4);
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  std::set<std::vector<int64_t>> different;
  for (int64_t step = 0; step < 20; ++step) {
    const DrawnBatch own = sampler.Batch(step, 3);
    DrawnBatch batch = own, again = own;
    sampler.AddNearest(step, 2, nearest, &batch);
    sampler.AddNearest(step, 2, nearest, &again);
    REQUIRE(batch.pictures == again.pictures);
    REQUIRE(batch.captions == own.captions);
    REQUIRE(std::equal(own.pictures.begin(), own.pictures.end(), batch.pictures.begin()));
    REQUIRE(batch.pictures.size() <= 9);
    std::set<int64_t> shown(own.pictures.begin(), own.pictures.end());
    for (size_t i = 3; i < batch.pictures.size(); ++i) {
      REQUIRE(shown.insert(batch.pictures[i]).second);
      bool is_near = false;
      for (const int64_t caption : own.captions) {
        const auto of = nearest.PicturesOf(caption);
        is_near = is_near || std::find(of.begin(), of.end(), batch.pictures[i]) != of.end();
      }
      REQUIRE(is_near);
    }
    different.insert({batch.pictures.begin() + 3, batch.pictures.end()});
    // A further picture is related to whatever it may be right for.
    const std::vector<uint8_t> related = sampler.Related(batch);
    const size_t wide = batch.pictures.size();
    REQUIRE(related.size() == 3 * wide);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 3; j < wide; ++j) {
        REQUIRE(related[i * wide + j] ==
                (pairs->MayBeRight(batch.captions[i], batch.pictures[j]) ? 1 : 0));
      }
    }
  }
  REQUIRE(different.size() > 10);
}

TEST_CASE("the nearest captions stand beside a batch where they are wrong for all of it") {
  const auto pairs = TenPictures();
  const NearestWrong nearest = NextOnes(*pairs, 4);
  const PairSampler again(pairs.get(), EpochUnit::kCaptions, 1);
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  std::set<std::vector<int64_t>> different;
  for (int64_t step = 0; step < 20; ++step) {
    DrawnBatch batch = sampler.Batch(step, 3);
    const std::vector<int64_t> captions = sampler.NearestCaptions(step, 2, nearest, batch);
    REQUIRE(captions.size() <= 6);
    const DrawnBatch own = batch;
    std::set<int64_t> seen(own.captions.begin(), own.captions.end());
    for (const int64_t caption : captions) {
      REQUIRE(seen.insert(caption).second);
      bool is_near = false;
      for (const int64_t picture : own.pictures) {
        REQUIRE_FALSE(pairs->MayBeRight(caption, picture));
        const auto of = nearest.CaptionsOf(picture);
        is_near = is_near || std::find(of.begin(), of.end(), caption) != of.end();
      }
      REQUIRE(is_near);
    }
    // Of further pictures nothing is asked.
    sampler.AddNearest(step, 2, nearest, &batch);
    REQUIRE(again.NearestCaptions(step, 2, nearest, batch) == captions);
    different.insert(captions);
  }
  REQUIRE(different.size() > 10);
}

TEST_CASE("before anything was mined, wrong ones are drawn from all") {
  const auto pairs = TenPictures();
  NearestWrong none;
  none.kept = 2;
  none.pictures.assign(pairs->caption_count() * 2, -1);
  none.captions.assign(pairs->picture_count() * 2, -1);
  PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  ProblemDraws draws = Draws(4);
  draws.nearest = 2;
  draws.mined = &none;
  REQUIRE(sampler.Problems(0, 3, draws).pairs == sampler.Problems(0, 3, Draws(4)).pairs);
  DrawnBatch batch = sampler.Batch(0, 3);
  REQUIRE(sampler.NearestCaptions(0, 2, none, batch).empty());
  sampler.AddNearest(0, 2, none, &batch);
  REQUIRE(batch.pictures.size() == 3);
}

TEST_CASE("the only wrong ones are found, and each is as likely as another") {
  auto corpus = std::make_unique<MadeUpCorpus>(2);
  for (int i = 0; i < 40; ++i) {
    corpus->Add(MadeUpItem(std::to_string(i), {i == 37 || i == 5 ? "bird" : "fish"}));
  }
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  const auto pairs = *PairCorpus::Open(std::move(corpora), {});
  const PairSampler sampler(pairs.get(), EpochUnit::kCaptions, 1);
  std::map<int64_t, int> pictures, captions;
  Random random(1);
  const int64_t fish = pairs->first_caption(0);
  for (int i = 0; i < 400; ++i) {
    ++pictures[sampler.WrongPicture(fish, &random)];
    ++captions[sampler.WrongCaption(0, &random)];
  }
  for (const auto& drawn : {pictures, captions}) {
    REQUIRE(drawn.size() == 2);
    for (const auto& [item, times] : drawn) {
      REQUIRE(pairs->item_id(item) != pairs->item_id(0));
      // Five standard deviations.
      REQUIRE(times > 150);
      REQUIRE(times < 250);
    }
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

TEST_CASE("only pictures that are wanted are drawn, and wrong ones come from all") {
  const auto pairs = TenPictures();
  PairDraws draws;
  draws.wanted = [](int64_t picture) { return picture >= 7; };
  for (const EpochUnit unit : {EpochUnit::kCaptions, EpochUnit::kPictures}) {
    draws.unit = unit;
    PairSampler sampler(pairs.get(), draws, 1);
    // Pictures 7, 8 and 9 have two, three and one captions.
    REQUIRE(sampler.epoch_size() == (unit == EpochUnit::kCaptions ? 6 : 3));
    std::set<int64_t> shown;
    for (int64_t step = 0; step < 6; ++step) {
      for (const int64_t picture : sampler.Batch(step, 2).pictures) shown.insert(picture);
    }
    REQUIRE(shown == std::set<int64_t>{7, 8, 9});
    shown.clear();
    for (int64_t step = 0; step < 20; ++step) {
      const DrawnProblems drawn =
          sampler.Problems(step, 2, {/*candidates=*/3, WrongSides::kOne, /*text_negatives=*/0});
      shown.insert(drawn.batch.pictures.begin(), drawn.batch.pictures.end());
    }
    REQUIRE(shown.size() == 10);
  }
}

TEST_CASE("batches by rows show each once, and as much as fits") {
  const auto pairs = TenPictures();
  PairDraws draws;
  draws.batch_rows = 64;
  // A caption's number says how long it is: 8 or 16 rows.
  draws.rows = [](int64_t caption) { return caption % 2 == 0 ? 8 : 16; };
  PairSampler captions(pairs.get(), draws, 1);
  std::set<int64_t> shown;
  for (int64_t step = 0; shown.size() < 19; ++step) {
    const DrawnBatch batch = captions.BatchOfRows(step);
    int64_t longest = 0;
    for (size_t i = 0; i < batch.captions.size(); ++i) {
      REQUIRE(batch.pictures[i] == pairs->picture_of(batch.captions[i]));
      longest = std::max(longest, draws.rows(batch.captions[i]));
      REQUIRE(shown.insert(batch.captions[i]).second);
    }
    REQUIRE(longest * static_cast<int64_t>(batch.captions.size()) <= 64);
  }
  // Of pictures any caption, of which the longest counts.
  draws.unit = EpochUnit::kPictures;
  PairSampler pictures(pairs.get(), draws, 1), again(pairs.get(), draws, 1);
  std::set<int64_t> of_pictures, of_captions;
  for (int64_t step = 0; step < 60; ++step) {
    const DrawnBatch batch = pictures.BatchOfRows(step);
    REQUIRE(again.BatchOfRows(step).captions == batch.captions);
    of_pictures.insert(batch.pictures.begin(), batch.pictures.end());
    of_captions.insert(batch.captions.begin(), batch.captions.end());
  }
  REQUIRE(of_pictures.size() == 10);
  REQUIRE(of_captions.size() == 19);
}

}  // namespace
}  // namespace sightline
