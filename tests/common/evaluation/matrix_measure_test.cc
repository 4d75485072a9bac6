#include "common/evaluation/matrix_measure.h"

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/common/evaluation/slow_measures.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Captions belong to images at random; each image has one.
MatrixItems RandomItems(int images, int captions, std::mt19937& random) {
  MatrixItems items;
  for (int i = 0; i < images; ++i) {
    items.images.push_back(absl::StrCat("i", i));
    items.families.push_back(i);
  }
  items.family_count = images;
  for (int c = 0; c < captions; ++c) {
    const int image = c < images ? c : static_cast<int>(random() % images);
    items.captions.push_back({absl::StrCat("c", c), image, "en"});
  }
  std::shuffle(items.captions.begin(), items.captions.end(), random);
  return items;
}

NamedScores Scores(std::vector<ScoreMatrix> members) {
  auto scores = NamedScores::Create("be", std::move(members));
  REQUIRE(scores.ok());
  return *scores;
}

std::vector<QueryMeasures> Measured(const NamedScores& scores, Direction direction,
                                    const EvaluationPool& pool, const MatrixItems& items,
                                    TieRule ties) {
  ComputePool threads(2);
  MatrixMeasureOptions options;
  options.ties = ties;
  auto measures = MeasurePolicy({&scores}, direction, pool, items, options, &threads);
  REQUIRE(measures.ok());
  REQUIRE(measures->size() == 1);
  return measures->front();
}

// One query, by the definition: scores read one by one, right where caption and image agree.
QueryMeasures SlowQuery(const ScoreMatrix& matrix, Direction direction, const EvaluationPool& pool,
                        const MatrixItems& items, int query, TieRule ties) {
  std::vector<float> scores;
  std::vector<int> relevant;
  for (const int candidate : pool.candidates(direction)) {
    const int image = direction == Direction::kTextToImage ? candidate : query;
    const int caption = direction == Direction::kTextToImage ? query : candidate;
    if (items.captions[caption].image == image) relevant.push_back(scores.size());
    scores.push_back(matrix.at(image, caption));
  }
  return SlowMeasures(scores, relevant, ties, 10);
}

TEST_CASE("every query of every pool is measured as by the book") {
  std::mt19937 random(5);
  const MatrixItems items = RandomItems(37, 101, random);
  std::vector<float> values(37 * 101);
  for (float& value : values) value = static_cast<int>(random() % 25) / 8.0f;
  std::vector<float> flipped(values.size());
  for (int i = 0; i < 37; ++i) {
    for (int c = 0; c < 101; ++c) flipped[c * 37 + i] = values[i * 101 + c];
  }
  const ScoreMatrix matrix(values, 37, 101);
  for (const bool by_columns : {false, true}) {
    const ScoreMatrix read(by_columns ? flipped : values, 37, 101, by_columns);
    for (const char* name : {"whole", "folds:37", "list:f", "distractors:f", "pools:f"}) {
      const auto protocol = ParseProtocol(name);
      const auto pools = MakePools(*protocol, items, "i3\ti30\ni4\ti5\ni36\n");
      REQUIRE(pools.ok());
      for (const EvaluationPool& pool : *pools) {
        for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
          const auto fast =
              Measured(Scores({read}), direction, pool, items, TieRule::kCandidateOrder);
          REQUIRE(fast.size() == pool.queries(direction).size());
          for (size_t q = 0; q < fast.size(); ++q) {
            const QueryMeasures slow =
                SlowQuery(matrix, direction, pool, items, pool.queries(direction)[q],
                          TieRule::kCandidateOrder);
            for (int m = 0; m < kQueryMeasureCount; ++m) REQUIRE(fast[q][m] == Approx(slow[m]));
          }
        }
      }
    }
  }
}

TEST_CASE("expected ranks are those over all orders, in both directions") {
  std::mt19937 random(6);
  const MatrixItems items = RandomItems(6, 7, random);
  std::vector<float> values(6 * 7);
  for (float& value : values) value = random() % 2;
  const ScoreMatrix matrix(values, 6, 7);
  const auto pools = MakePools(*ParseProtocol("whole"), items, "");
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    const EvaluationPool& pool = pools->front();
    const auto fast = Measured(Scores({matrix}), direction, pool, items, TieRule::kExpectedRank);
    for (size_t q = 0; q < fast.size(); ++q) {
      const QueryMeasures slow = SlowQuery(matrix, direction, pool, items,
                                           pool.queries(direction)[q], TieRule::kExpectedRank);
      for (int m = 0; m < kQueryMeasureCount; ++m) REQUIRE(fast[q][m] == Approx(slow[m]));
    }
  }
}

TEST_CASE("a distractor that scores more costs a rank, and less none") {
  MatrixItems items;
  items.images = {"asked", "other"};
  items.families = {0, 1};
  items.family_count = 2;
  items.captions = {{"c0", 0, "en"}, {"c1", 1, "en"}};
  const std::vector<float> values = {0.5f, 0.7f, 0.6f, 0.1f};
  const ScoreMatrix matrix(values, 2, 2);
  const auto alone = MakePools(*ParseProtocol("list:f"), items, "asked");
  const auto among = MakePools(*ParseProtocol("distractors:f"), items, "asked");
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    const auto rank = [&](const EvaluationPool& pool) {
      const auto measures =
          Measured(Scores({matrix}), direction, pool, items, TieRule::kCandidateOrder);
      REQUIRE(measures.size() == 1);
      return measures[0][kRank];
    };
    REQUIRE(rank(alone->front()) == 1);
    REQUIRE(rank(among->front()) == 2);
  }
}

TEST_CASE("an ensemble is the mean of its members") {
  std::mt19937 random(7);
  const MatrixItems items = RandomItems(9, 20, random);
  std::vector<float> a(180), b(180), mean(180);
  for (int i = 0; i < 180; ++i) {
    a[i] = static_cast<int>(random() % 64) / 64.0f;
    b[i] = static_cast<int>(random() % 64) / 64.0f;
    mean[i] = (a[i] + b[i]) / 2;
  }
  const auto pools = MakePools(*ParseProtocol("whole"), items, "");
  const NamedScores ensemble = Scores({ScoreMatrix(a, 9, 20), ScoreMatrix(b, 9, 20)});
  REQUIRE(ensemble.at(3, 4) == mean[3 * 20 + 4]);
  std::vector<float> gathered(2);
  REQUIRE(ensemble.Gather(Direction::kImageToText, {3}, {4, 5}, absl::MakeSpan(gathered)).ok());
  REQUIRE(gathered == std::vector<float>{mean[3 * 20 + 4], mean[3 * 20 + 5]});
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    REQUIRE(Measured(ensemble, direction, pools->front(), items, TieRule::kCandidateOrder) ==
            Measured(Scores({ScoreMatrix(mean, 9, 20)}), direction, pools->front(), items,
                     TieRule::kCandidateOrder));
  }
}

TEST_CASE("members of unequal shape, no member and bad names are refused") {
  const std::vector<float> values(6);
  const auto problem = [](std::string name, std::vector<ScoreMatrix> members) {
    const auto status = NamedScores::Create(std::move(name), std::move(members)).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  REQUIRE_THAT(problem("e", {ScoreMatrix(values, 2, 3), ScoreMatrix(values, 3, 2)}),
               Catch::Contains("2 x 3 and 3 x 2"));
  REQUIRE_THAT(problem("e", {}), Catch::Contains("'e' has no matrix"));
  for (const std::string name : {"", "a,b", "a b", "a:b"}) {
    REQUIRE_THAT(problem(name, {ScoreMatrix(values, 2, 3)}), Catch::Contains("is no name"));
  }
}

TEST_CASE("a score that is no number is refused with row and column, where it takes part") {
  std::mt19937 random(8);
  MatrixItems items = RandomItems(3, 4, random);
  for (int c = 0; c < 4; ++c) items.captions[c].image = c % 3;
  std::vector<float> values(12, 0.5f);
  values[1 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  ComputePool threads(1);
  const auto measure = [&](const char* protocol, Direction direction) {
    const auto pools = MakePools(*ParseProtocol(protocol), items, "i0");
    const NamedScores scores = Scores({ScoreMatrix(values, 3, 4)});
    return MeasurePolicy({&scores}, direction, pools->front(), items, {}, &threads).status();
  };
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    REQUIRE_THAT(std::string(measure("whole", direction).message()),
                 Catch::Contains("'be' is no number at row 1, column 2 (from 0)") &&
                     Catch::Contains("B of a policy A:B"));
    REQUIRE(measure("list:f", direction).ok());
  }
}

}  // namespace
}  // namespace sightline
