#include "common/evaluation/retrieval_table.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// A query whose best right candidate has that rank; nothing else is right.
QueryMeasures Rank(int rank) {
  return MeasureQuery({{rank - 1, 1, 1}}, 10);
}

std::vector<QueryMeasures> Ranks(const std::vector<int>& ranks) {
  std::vector<QueryMeasures> queries;
  for (const int rank : ranks) queries.push_back(Rank(rank));
  return queries;
}

// Each image has two captions in each language; families are given.
MatrixItems Items(const std::vector<int>& families,
                  const std::vector<std::string>& languages = {"en"}) {
  MatrixItems items;
  items.families = families;
  items.family_count = 1 + *std::max_element(families.begin(), families.end());
  for (size_t i = 0; i < families.size(); ++i) {
    items.images.push_back(absl::StrCat("i", i));
    for (const std::string& language : languages) {
      for (int c = 0; c < 2; ++c) {
        items.captions.push_back(
            {absl::StrCat("i", i, language, c), static_cast<int>(i), language});
      }
    }
  }
  return items;
}

TablePart Part(const MatrixItems& items, const std::string& protocol = "whole") {
  return {"", *MakePools(*ParseProtocol(protocol), items, "")};
}

PoolOutcome Outcome(const std::vector<int>& captions, const std::vector<int>& images) {
  return {{Ranks(captions), Ranks(images)}};
}

std::vector<MethodRow> Table(const std::vector<TablePart>& parts,
                             const std::vector<MethodOutcome>& methods, const MatrixItems& items,
                             RecallTriple triple = RecallTriple::k1To10, int resamples = 1000) {
  ComputePool threads(2);
  BootstrapOptions options;
  options.resamples = resamples;
  return MakeTable(parts, methods, items, triple, options, &threads);
}

double At(const PartRow& row, Direction direction, int measure) {
  return row.values[TableIndex(direction, measure)];
}

TEST_CASE("a row has the means of both directions, AR and rsum") {
  const MatrixItems items = Items({0, 1});
  const auto rows = Table({Part(items)}, {{{Outcome({1, 2, 7, 30}, {4, 1})}}}, items);
  const PartRow& row = rows[0].parts[0];
  constexpr Direction kText = Direction::kTextToImage, kImage = Direction::kImageToText;
  REQUIRE(row.queries[0] == 4);
  REQUIRE(row.queries[1] == 2);
  REQUIRE(At(row, kText, kRecallAt1) == 0.25);
  REQUIRE(At(row, kText, kRecallAt5) == 0.5);
  REQUIRE(At(row, kText, kRecallAt10) == 0.75);
  REQUIRE(At(row, kText, kRecallAt20) == 0.75);
  REQUIRE(At(row, kText, kReciprocalOfRank) == Approx((1 + 1 / 2.0 + 1 / 7.0 + 1 / 30.0) / 4));
  REQUIRE(At(row, kText, kRank) == 10);
  REQUIRE(row.median_rank[0].estimate == 4.5);
  REQUIRE(At(row, kImage, kRecallAt1) == 0.5);
  REQUIRE(At(row, kImage, kRecallAt5) == 1);
  REQUIRE(row.median_rank[1].estimate == 2.5);
  REQUIRE(row.values[kRecallSum] == 0.25 + 0.5 + 0.75 + 0.5 + 1 + 1);
  REQUIRE(row.values[kAverageRecall] == Approx(4.0 / 6));
  REQUIRE(rows[0].meta_average.estimate == Approx(4.0 / 6));
  REQUIRE(row.minus_first.empty());
  REQUIRE_FALSE(rows[0].meta_minus_first.has_value());
}

TEST_CASE("full pools have AR over 5, 10 and 20") {
  const MatrixItems items = Items({0, 1});
  const auto rows =
      Table({Part(items)}, {{{Outcome({1, 6, 15, 30}, {6, 1})}}}, items, RecallTriple::k5To20);
  REQUIRE(rows[0].parts[0].values[kRecallSum] == 0.25 + 0.5 + 0.75 + 0.5 + 1 + 1);
}

TEST_CASE("folds count alike, whatever they hold") {
  // The second fold has one caption less.
  MatrixItems items = Items({0, 1});
  items.captions.pop_back();
  const auto rows =
      Table({Part(items, "folds:2")}, {{{Outcome({1, 3}, {1}), Outcome({9}, {2})}}}, items);
  const PartRow& row = rows[0].parts[0];
  REQUIRE(At(row, Direction::kTextToImage, kRecallAt1) == 0.25);  // (1/2 + 0) / 2, not 1/3
  REQUIRE(At(row, Direction::kTextToImage, kRank) == 5.5);
  REQUIRE(row.median_rank[0].estimate == 5.5);
  REQUIRE(At(row, Direction::kImageToText, kRecallAt1) == 0.5);
  REQUIRE(row.queries[0] == 3);
  for (int v = 0; v < kTableValueCount; ++v) {
    REQUIRE(row.intervals[v].estimate == Approx(row.values[v]));
  }
}

TEST_CASE("Meta-Ave is the mean of AR over languages") {
  const MatrixItems items = Items({0, 1}, {"de", "en"});
  std::vector<TablePart> parts;
  for (const std::string language : {"de", "en"}) {
    parts.push_back({language, {*InLanguage(Part(items).pools[0], items, language)}});
  }
  const auto rows =
      Table(parts, {{{Outcome({1, 1, 1, 1}, {1, 1})}, {Outcome({30, 30, 30, 30}, {1, 7})}}}, items);
  REQUIRE(rows[0].parts[0].values[kAverageRecall] == 1);
  REQUIRE(rows[0].parts[1].values[kAverageRecall] == Approx(2.0 / 6));
  REQUIRE(rows[0].meta_average.estimate == Approx((1 + 2.0 / 6) / 2));
}

TEST_CASE("draws without a language tell nothing of it") {
  // One family in six has German captions: it is missing in a third of the draws.
  MatrixItems items = Items({0, 1, 2, 3, 4, 5});
  for (int c = 0; c < 2; ++c) items.captions[c].language = "de";
  const TablePart all = Part(items);
  const TablePart german = {"de", {*InLanguage(all.pools[0], items, "de")}};
  const TablePart english = {"en", {*InLanguage(all.pools[0], items, "en")}};
  const PoolOutcome found = Outcome({1, 1}, {1});
  const PoolOutcome others = Outcome(std::vector<int>(10, 1), std::vector<int>(5, 1));
  const PoolOutcome later = Outcome({3, 3}, {3});
  const auto rows = Table({german, english}, {{{found}, {others}}, {{later}, {others}}}, items);
  const PartRow& row = rows[0].parts[0];
  for (const int measure : {kRecallAt1, kRank}) {
    const Interval& interval = row.intervals[TableIndex(Direction::kTextToImage, measure)];
    REQUIRE(interval.low == 1);
    REQUIRE(interval.high == 1);
  }
  REQUIRE(row.median_rank[0].low == 1);
  REQUIRE(rows[0].meta_average.low == 1);
  const PartRow& second = rows[1].parts[0];
  REQUIRE(second.median_minus_first[0].low == 2);
  REQUIRE(second.minus_first[TableIndex(Direction::kTextToImage, kRank)].low == 2);
}

TEST_CASE("a family is drawn whole: many alike are no surer than one") {
  std::mt19937 random(4);
  // 200 images, alone or in families of ten that are found or missed together.
  std::vector<int> apart, together, images, captions;
  for (int i = 0; i < 200; ++i) {
    apart.push_back(i);
    together.push_back(i / 10);
    images.push_back(i % 10 == 0 ? (random() % 2 == 0 ? 1 : 30) : images.back());
    captions.insert(captions.end(), {images.back(), images.back()});
  }
  const auto width = [&](const std::vector<int>& families) {
    const MatrixItems items = Items(families);
    const auto rows = Table({Part(items)}, {{{Outcome(captions, images)}}}, items);
    const Interval& recall =
        rows[0].parts[0].intervals[TableIndex(Direction::kTextToImage, kRecallAt1)];
    REQUIRE(recall.low < recall.estimate);
    REQUIRE(recall.estimate < recall.high);
    return recall.high - recall.low;
  };
  // sqrt(10) as wide.
  REQUIRE(width(together) / width(apart) == Approx(std::sqrt(10.0)).epsilon(0.15));
}

// R@1 of both directions, AR of R@1 alone would be too simple: AR of all six, by the book.
Interval SlowAverageRecall(const MatrixItems& items, const PoolOutcome& outcome, int resamples) {
  std::mt19937 random(77);
  std::vector<double> drawn;
  for (int i = 0; i < resamples; ++i) {
    double found[2] = {}, asked[2] = {};
    for (int f = 0; f < items.family_count; ++f) {
      const int family = random() % items.family_count;
      for (size_t image = 0; image < items.images.size(); ++image) {
        if (items.families[image] != family) continue;
        const auto add = [&](int d, const QueryMeasures& query) {
          found[d] += (query[0] + query[1] + query[2]) / 3;
          ++asked[d];
        };
        add(1, outcome.of(Direction::kImageToText)[image]);
        for (size_t c = 0; c < items.captions.size(); ++c) {
          if (items.captions[c].image == image) add(0, outcome.of(Direction::kTextToImage)[c]);
        }
      }
    }
    drawn.push_back((found[0] / asked[0] + found[1] / asked[1]) / 2);
  }
  std::sort(drawn.begin(), drawn.end());
  return {0, drawn[resamples * 25 / 1000], drawn[resamples * 975 / 1000 - 1]};
}

TEST_CASE("intervals are those of families drawn by the book") {
  std::mt19937 random(9);
  std::vector<int> families, images, captions;
  for (int i = 0; i < 90; ++i) {
    families.push_back(i < 30 ? i : 30 + random() % 20);
    images.push_back(1 + random() % 12);
    captions.push_back(1 + random() % 12);
    captions.push_back(1 + random() % 12);
  }
  // Every family has a member.
  for (int f = 30; f < 50; ++f) families[f] = f;
  const MatrixItems items = Items(families);
  const PoolOutcome outcome = Outcome(captions, images);
  const auto rows = Table({Part(items)}, {{{outcome}}}, items, RecallTriple::k1To10, 10'000);
  const Interval fast = rows[0].parts[0].intervals[kAverageRecall];
  const Interval slow = SlowAverageRecall(items, outcome, 10'000);
  const double width = slow.high - slow.low;
  REQUIRE(fast.low == Approx(slow.low).margin(0.05 * width));
  REQUIRE(fast.high == Approx(slow.high).margin(0.05 * width));
  REQUIRE(fast.estimate == Approx(rows[0].parts[0].values[kAverageRecall]));
}

// Of captions, by the book: all that are drawn in one list, and its middle.
Interval SlowMedian(const MatrixItems& items, const std::vector<int>& ranks, int resamples) {
  std::mt19937 random(78);
  std::vector<double> drawn;
  for (int i = 0; i < resamples; ++i) {
    std::vector<int> list;
    for (int f = 0; f < items.family_count; ++f) {
      const int family = static_cast<int>(random() % items.family_count);
      for (size_t c = 0; c < items.captions.size(); ++c) {
        if (items.families[items.captions[c].image] == family) list.push_back(ranks[c]);
      }
    }
    std::sort(list.begin(), list.end());
    const size_t half = list.size() / 2;
    drawn.push_back(list.size() % 2 == 1 ? list[half] : (list[half - 1] + list[half]) / 2.0);
  }
  std::sort(drawn.begin(), drawn.end());
  return {0, drawn[resamples * 25 / 1000], drawn[resamples * 975 / 1000 - 1]};
}

TEST_CASE("a median's interval is that of families drawn by the book") {
  std::mt19937 random(12);
  // Families of one to three, and one caption less in all, so that lists are odd and even.
  std::vector<int> families, images, captions;
  for (int i = 0; i < 60; ++i) {
    families.push_back(i < 40 ? i : static_cast<int>(random() % 20));
    images.push_back(1);
    captions.push_back(1 + static_cast<int>(random() % 400));
    captions.push_back(captions.back() + static_cast<int>(random() % 30));
  }
  MatrixItems items = Items(families);
  items.captions.pop_back();
  captions.pop_back();
  std::vector<int> later;
  for (const int rank : captions) later.push_back(rank + 3);
  const auto rows =
      Table({Part(items)}, {{{Outcome(captions, images)}}, {{Outcome(later, images)}}}, items,
            RecallTriple::k1To10, 10'000);
  const Interval& fast = rows[0].parts[0].median_rank[0];
  const Interval slow = SlowMedian(items, captions, 10'000);
  const double width = slow.high - slow.low;
  REQUIRE(width > 50);
  REQUIRE(fast.low == Approx(slow.low).margin(0.05 * width));
  REQUIRE(fast.high == Approx(slow.high).margin(0.05 * width));
  std::sort(captions.begin(), captions.end());
  REQUIRE(fast.estimate == captions[captions.size() / 2]);

  // Where each rank is three more, so is each median, and all are by the same draws.
  const PartRow& second = rows[1].parts[0];
  REQUIRE(second.median_rank[0].low == fast.low + 3);
  REQUIRE(second.median_rank[0].high == fast.high + 3);
  for (const double of_difference :
       {second.median_minus_first[0].estimate, second.median_minus_first[0].low,
        second.median_minus_first[0].high}) {
    REQUIRE(of_difference == 3);
  }
  for (const double of_images : {second.median_rank[1].low, second.median_rank[1].high}) {
    REQUIRE(of_images == 1);
  }
}

TEST_CASE("a fold of which nothing is drawn has no median") {
  // Each fold is one family: of half the draws one of them is missing.
  const MatrixItems items = Items({0, 1});
  const auto rows =
      Table({Part(items, "folds:2")}, {{{Outcome({3, 3}, {3}), Outcome({9, 9}, {9})}}}, items);
  const Interval& median = rows[0].parts[0].median_rank[0];
  REQUIRE(median.estimate == 6);
  REQUIRE(median.low == 3);
  REQUIRE(median.high == 9);
}

TEST_CASE("methods are compared over the same draws") {
  std::mt19937 random(10);
  std::vector<int> families, images, captions, better;
  for (int i = 0; i < 100; ++i) {
    families.push_back(i);
    images.push_back(1 + random() % 20);
    for (int c = 0; c < 2; ++c) captions.push_back(1 + random() % 20);
  }
  // One more found at the first place of every family, surely.
  better = captions;
  for (size_t c = 0; c < better.size(); c += 2) {
    captions[c] = 2;
    better[c] = 1;
  }
  const MatrixItems items = Items(families);
  const auto rows =
      Table({Part(items)}, {{{Outcome(captions, images)}}, {{Outcome(better, images)}}}, items);
  const auto& gains = rows[1].parts[0].minus_first;
  const Interval& recall = gains[TableIndex(Direction::kTextToImage, kRecallAt1)];
  REQUIRE(recall.estimate == Approx(0.5));
  REQUIRE(recall.low == Approx(0.5));
  REQUIRE(recall.high == Approx(0.5));
  REQUIRE(gains[TableIndex(Direction::kImageToText, kRecallAt1)].high == 0);
  REQUIRE(gains[kAverageRecall].estimate == Approx(0.5 / 6));
  REQUIRE(rows[1].meta_minus_first->estimate == Approx(0.5 / 6));
  const auto& apart = rows[1].parts[0].intervals[TableIndex(Direction::kTextToImage, kRecallAt1)];
  REQUIRE(apart.high - apart.low > 0);
}

TEST_CASE("distractors are not drawn") {
  // Eight of nine families ask nothing: the ninth is drawn alone, so nothing varies.
  const MatrixItems items = Items({0, 1, 2, 3, 4, 5, 6, 7, 8});
  const TablePart part = {"", *MakePools(*ParseProtocol("distractors:f"), items, "i4")};
  const auto rows = Table({part}, {{{Outcome({1, 3}, {2})}}}, items);
  const Interval& recall =
      rows[0].parts[0].intervals[TableIndex(Direction::kTextToImage, kRecallAt1)];
  REQUIRE(recall.estimate == 0.5);
  REQUIRE(recall.low == 0.5);
  REQUIRE(recall.high == 0.5);
}

}  // namespace
}  // namespace sightline
