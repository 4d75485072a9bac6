#include "common/training/batches.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/common/training/tiny_training.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// 12 rows to learn from; 1 shares words with 0, 2 with 1 in another language; 5 distractors
// (12 to 16), of which 13 shows what 12 shows, and 14 what row 3 shows.
class Fixture {
 public:
  static TrainingSetContent Content() {
    TinyRows rows;
    rows.distractors = 5;
    TrainingSetContent content = TinyContent(rows);
    content.rows[1].captions[1].key = 0;
    content.rows[2].captions[2].key = 0;
    return content;
  }
  static std::string PictureOf(int64_t row) {
    return TinyPicture(row == 13 ? 12 : row == 14 ? 3 : row);
  }

  TinyTrainingSet set_{Content(), &PictureOf};
  TrainingRows rows_{*set_, /*with_validation=*/false};

  // Two rows belong together if they share words or picture; said slowly.
  bool Belong(int64_t a, int64_t b) const {
    for (const int64_t x : set_->captions(a)) {
      for (const int64_t y : set_->captions(b)) {
        if (set_->caption_key(x) == set_->caption_key(y)) return true;
      }
    }
    return PictureOf(a) == PictureOf(b);
  }

  // Whose caption it is.
  int64_t RowOf(int64_t caption) const {
    int64_t row = 0;
    while (caption >= set_->captions(row)[0] + set_->captions(row).size()) ++row;
    return row;
  }

  MinedNegatives MinedBy(int64_t width) const {
    MinedNegatives mined;
    mined.width = width;
    for (const int64_t row : rows_.captioned()) {
      int64_t left = width;
      for (const int64_t other : rows_.pictured()) {
        if (left > 0 && !Belong(row, other)) mined.rows.push_back(other), --left;
      }
      mined.rows.insert(mined.rows.end(), left, -1);
    }
    return mined;
  }
};

TEST_CASE_METHOD(Fixture, "only rows to learn from are learnt from") {
  REQUIRE(rows_.captioned().size() == 12);
  REQUIRE(rows_.pictured().size() == 17);
  const TrainingRows more(*set_, /*with_validation=*/true);
  REQUIRE(more.captioned().size() == 15);
  for (const int64_t row : more.pictured()) REQUIRE(set_->use(row) != TrainingUse::kHeldOut);
}

TEST_CASE_METHOD(Fixture, "relatives share words or picture") {
  int64_t most = 0;
  for (const int64_t row : rows_.pictured()) {
    int64_t count = 0;
    for (const int64_t other : rows_.pictured()) {
      REQUIRE(rows_.Related(row, other) == (row == other || Belong(row, other)));
      count += row != other && Belong(row, other);
    }
    most = std::max(most, count);
    REQUIRE(static_cast<int64_t>(rows_.relatives(row).size()) == count);
  }
  REQUIRE(most == 2);
}

TEST_CASE_METHOD(Fixture, "an epoch shows each captioned row once, in batches of like size") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.batch_size = 5;
  options.joint.queries = 7;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  REQUIRE(sampler.bi_steps_per_epoch() == 3);
  REQUIRE(sampler.cross_steps_per_epoch() == 2);
  std::vector<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<int64_t> bi, cross;
    for (int64_t step = 0; step < 3; ++step) {
      const BiBatch batch = sampler.Bi(3 * epoch + step);
      REQUIRE(batch.captions.size() == 4);
      bi.insert(bi.end(), batch.rows.begin(), batch.rows.begin() + 4);
    }
    const MinedNegatives mined = MinedBy(6);
    for (int64_t step = 0; step < 2; ++step) {
      const CrossBatch batch = sampler.Cross(2 * epoch + step, mined);
      REQUIRE(batch.problems == 6);
      for (int64_t i = 0; i < 6; ++i) cross.push_back(batch.rows[i * batch.candidates]);
    }
    orders.push_back(bi);
    std::sort(bi.begin(), bi.end());
    std::sort(cross.begin(), cross.end());
    REQUIRE(bi == rows_.captioned());
    REQUIRE(cross == rows_.captioned());
  }
  REQUIRE(orders[0] != orders[1]);
}

TEST_CASE_METHOD(Fixture, "a bi batch pairs rows with captions of theirs and excludes relatives") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.batch_size = 12;
  options.bi.distractors = 3;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  std::set<int64_t> distractors;
  for (int64_t step = 0; step < 20; ++step) {
    const BiBatch batch = sampler.Bi(step);
    REQUIRE(batch.rows.size() == 15);
    REQUIRE(std::set<int64_t>(batch.rows.begin(), batch.rows.end()).size() == 15);
    for (int64_t i = 0; i < 12; ++i) {
      REQUIRE(RowOf(batch.captions[i]) == batch.rows[i]);
      for (int64_t j = 0; j < 15; ++j) {
        REQUIRE(batch.related[i * 15 + j] == (i != j && Belong(batch.rows[i], batch.rows[j])));
      }
    }
    distractors.insert(batch.rows.begin() + 12, batch.rows.end());
  }
  REQUIRE(distractors == std::set<int64_t>{12, 13, 14, 15, 16});
  options.bi.distractors = 100;  // more than there are
  REQUIRE(sampler.Bi(0).rows.size() == 17);
}

TEST_CASE_METHOD(Fixture, "a concept batch pairs two texts of each and excludes shared ones") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.concepts = 4;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  const auto concept_of = [&](int64_t text) {
    int64_t number = 0;
    while (text >= set_->texts(number)[0] + set_->texts(number).size()) ++number;
    return number;
  };
  std::map<int64_t, int> drawn, texts;
  for (int64_t step = 0; step < 1000; ++step) {
    const ConceptBatch batch = sampler.Concepts(step);
    REQUIRE(batch.texts.size() == 4);
    REQUIRE(batch.other_texts.size() == 4);
    std::set<int64_t> distinct;
    for (size_t i = 0; i < 4; ++i) {
      const int64_t number = concept_of(batch.texts[i]);
      REQUIRE(concept_of(batch.other_texts[i]) == number);
      REQUIRE(batch.texts[i] != batch.other_texts[i]);
      distinct.insert(number);
      ++drawn[number];
      ++texts[batch.texts[i]];
      for (size_t j = 0; j < 4; ++j) {
        const int64_t other = concept_of(batch.texts[j]);
        REQUIRE(batch.related[i * 4 + j] == (number + other == 1 && i != j));
      }
    }
    REQUIRE(distinct.size() == 4);
  }
  for (int64_t number = 0; number < 5; ++number) {
    REQUIRE(drawn[number] / 4000.0 == Approx(0.2).margin(0.02));
    for (const int64_t text : set_->texts(number)) {
      REQUIRE(texts[text] * set_->texts(number).size() / 4000.0 == Approx(0.2).margin(0.03));
    }
  }
  options.text.batch_size = 2;
  const BatchSampler texts_sampler(set_.get(), &rows_, &options);
  REQUIRE(texts_sampler.text_steps_per_epoch() == 3);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int64_t> once;
    for (int64_t step = 3 * epoch; step < 3 * epoch + 3; ++step) {
      for (const int64_t text : texts_sampler.Texts(step).texts) once.insert(concept_of(text));
    }
    REQUIRE(once == std::multiset<int64_t>{0, 1, 2, 3, 4});
  }
  options.bi.concepts = 100;  // more than there are
  REQUIRE(sampler.Concepts(0).texts.size() == 5);
}

TEST_CASE_METHOD(Fixture, "captions are drawn by kind with the shares asked for") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.batch_size = 12;
  options.captions.first = 0.75;
  options.captions.other_language = 0.2;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  std::map<int64_t, int> kinds;
  for (int64_t step = 0; step < 500; ++step) {
    const BiBatch batch = sampler.Bi(step);
    for (size_t i = 0; i < batch.captions.size(); ++i) {
      ++kinds[batch.captions[i] - set_->captions(batch.rows[i])[0]];
    }
  }
  REQUIRE(kinds[0] / 6000.0 == Approx(0.8 * 0.75).margin(0.03));
  REQUIRE(kinds[1] / 6000.0 == Approx(0.8 * 0.25).margin(0.03));
  REQUIRE(kinds[2] / 6000.0 == Approx(0.2).margin(0.03));
}

TEST_CASE("tokens are left out one by one, never the special ones and never all") {
  const std::vector<int32_t> tokens = {2, 10, 11, 12, 13, 3};
  Random random(5);
  std::map<int32_t, int> kept;
  for (int draw = 0; draw < 4000; ++draw) {
    const std::vector<int32_t> shown = DropTokens(tokens, 0.25, &random);
    REQUIRE(shown.size() >= 3);
    REQUIRE(shown.front() == 2);
    REQUIRE(shown.back() == 3);
    REQUIRE(std::is_sorted(shown.begin() + 1, shown.end() - 1));
    for (size_t i = 1; i + 1 < shown.size(); ++i) ++kept[shown[i]];
  }
  REQUIRE(kept.size() == 4);
  for (const auto& [token, count] : kept) REQUIRE(count / 4000.0 == Approx(0.75).margin(0.03));
  REQUIRE(DropTokens(tokens, 0, &random) == tokens);
  REQUIRE(DropTokens(tokens, 0.999, &random).size() == 3);
  REQUIRE(DropTokens({2, 10, 3}, 0.999, &random) == std::vector<int32_t>{2, 10, 3});
  REQUIRE(DropTokens({2, 3}, 0.5, &random) == std::vector<int32_t>{2, 3});
}

TEST_CASE_METHOD(Fixture, "a problem has one right pair and wrong ones on one side") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.queries = 12;
  options.joint.negatives = 5;
  options.joint.random_negatives = 2;
  options.joint.text_negatives = 0.5;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  const MinedNegatives mined = MinedBy(6);
  int wrong_captions = 0;
  for (int64_t step = 0; step < 50; ++step) {
    const CrossBatch batch = sampler.Cross(step, mined);
    REQUIRE(batch.candidates == 6);
    for (int64_t p = 0; p < batch.problems; ++p) {
      const auto* rows = &batch.rows[p * 6];
      const auto* captions = &batch.captions[p * 6];
      REQUIRE(RowOf(captions[0]) == rows[0]);
      const bool same_picture = rows[1] == rows[0];
      wrong_captions += same_picture;
      std::set<int64_t> others;
      for (int64_t c = 1; c < 6; ++c) {
        REQUIRE((rows[c] == rows[0]) == same_picture);
        REQUIRE((captions[c] == captions[0]) == !same_picture);
        const int64_t other = same_picture ? RowOf(captions[c]) : rows[c];
        REQUIRE_FALSE(Belong(rows[0], other));
        REQUIRE(set_->use(other) == TrainingUse::kTrain);
        others.insert(other);
      }
      REQUIRE(others.size() == 5);
    }
  }
  REQUIRE(wrong_captions / 600.0 == Approx(0.5).margin(0.08));
}

TEST_CASE_METHOD(Fixture, "hard negatives come from the mined rows, the first ones more often") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.queries = 12;
  options.joint.negatives = 1;
  options.joint.random_negatives = 0;
  options.joint.text_negatives = 0;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  const MinedNegatives mined = MinedBy(8);
  std::vector<int> places(8, 0);
  for (int64_t step = 0; step < 100; ++step) {
    const CrossBatch batch = sampler.Cross(step, mined);
    for (int64_t p = 0; p < batch.problems; ++p) {
      const auto list = mined.of(rows_.captioned_index(batch.rows[2 * p]));
      const auto at = std::find(list.begin(), list.end(), batch.rows[2 * p + 1]);
      REQUIRE(at != list.end());
      ++places[at - list.begin()];
    }
  }
  // The first quarter gets half of the draws.
  REQUIRE((places[0] + places[1]) / 1200.0 == Approx(0.5).margin(0.06));
  REQUIRE(places[7] > 0);
}

TEST_CASE_METHOD(Fixture, "where wrong rows are few, some come twice") {
  TinyRows few;
  few.train = 3;
  few.distractors = 0;
  const TinyTrainingSet set(few);
  const TrainingRows rows(*set, false);
  TrainingOptions options = TinyTrainingOptions();
  options.joint.negatives = 4;
  const BatchSampler sampler(set.get(), &rows, &options);
  const CrossBatch batch = sampler.Cross(0, {1, {1, 2, 0}});
  REQUIRE(batch.rows.size() == 15);
}

TEST_CASE_METHOD(Fixture, "the paper's loss has one wrong pair, a picture or a caption") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.queries = 12;
  options.joint.loss = CrossLoss::kPairwise;
  options.joint.text_negatives = 0;
  const BatchSampler sampler(set_.get(), &rows_, &options);
  int wrong_captions = 0;
  for (int64_t step = 0; step < 50; ++step) {
    const CrossBatch batch = sampler.Cross(step, MinedBy(4));
    REQUIRE(batch.candidates == 2);
    for (int64_t p = 0; p < 12; ++p) wrong_captions += batch.rows[2 * p] == batch.rows[2 * p + 1];
  }
  REQUIRE(wrong_captions / 600.0 == Approx(0.5).margin(0.08));
}

TEST_CASE_METHOD(Fixture, "a batch depends on seed and number alone") {
  TrainingOptions options = TinyTrainingOptions();
  const BatchSampler sampler(set_.get(), &rows_, &options);
  const BatchSampler again(set_.get(), &rows_, &options);
  again.Bi(4);
  REQUIRE(again.Bi(7).captions == sampler.Bi(7).captions);
  REQUIRE(again.Cross(2, MinedBy(4)).rows == sampler.Cross(2, MinedBy(4)).rows);
  TrainingOptions other = options;
  other.seed = 2;
  REQUIRE(BatchSampler(set_.get(), &rows_, &other).Bi(7).rows != sampler.Bi(7).rows);
}

}  // namespace
}  // namespace sightline
