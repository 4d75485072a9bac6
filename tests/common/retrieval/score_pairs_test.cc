#include <cmath>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

float InnerProduct(const std::string& a, const std::string& b) {
  const std::vector<float> x = EmbeddingOf(a), y = EmbeddingOf(b);
  double sum = 0;
  for (int i = 0; i < kDimension; ++i) sum += static_cast<double>(x[i]) * y[i];
  return static_cast<float>(sum);
}

// Texts and images of every kind, and the names they stand for.
struct Pairs {
  ScorePairsRequest request;
  std::vector<std::string> texts, images;
};

Pairs MakePairs(int texts, int images) {
  Pairs pairs;
  for (int i = 0; i < texts; ++i) {
    const std::string name = absl::StrCat(i % 2 == 0 ? "text-" : "caption-", i);
    pairs.texts.push_back(name);
    if (i % 2 == 0) {
      pairs.request.texts.emplace_back(TextQuery{name});
    } else {
      pairs.request.texts.emplace_back(ItemQuery{"words", name});
    }
  }
  for (int i = 0; i < images; ++i) {
    const std::string name = absl::StrCat("image-", i);
    pairs.images.push_back(name);
    if (i % 3 == 0) {
      pairs.request.images.emplace_back(ImageQuery{name});
    } else if (i % 3 == 1) {
      pairs.request.images.emplace_back(ItemQuery{i % 2 == 0 ? "" : "pictures", name});
    } else {
      ImageInput image;
      image.regions = {1, 1, {1}, {}};
      image.tags = {name};
      pairs.request.images.emplace_back(RegionsQuery{image});
    }
  }
  return pairs;
}

TEST_CASE("every text is scored against every image, row by row") {
  for (const auto& [texts, images] :
       std::vector<std::pair<int, int>>{{1, 1}, {3, 25}, {25, 3}, {7, 7}, {1, 30}, {30, 1}}) {
    World world;
    const Pairs pairs = MakePairs(texts, images);
    const auto result = world.retriever.ScorePairs(pairs.request, world.Call());
    INFO(texts << " texts, " << images << " images: " << result.status());
    REQUIRE(result.ok());
    CHECK(result->target.index == "pictures");
    CHECK(result->score_kind == ScoreKind::kSoftmaxMatch);
    REQUIRE(result->scores.size() == pairs.texts.size() * pairs.images.size());
    for (int text = 0; text < texts; ++text) {
      for (int image = 0; image < images; ++image) {
        const PairScore& score = result->scores[text * images + image];
        CHECK(score.raw_score == MatchOf(pairs.texts[text], pairs.images[image]));
        CHECK(score.rerank_score == score.raw_score);
        CHECK(score.retrieval_score == InnerProduct(pairs.texts[text], pairs.images[image]));
      }
    }
  }
}

TEST_CASE("raw scores come along with their probabilities") {
  WorldOptions options;
  options.score_kind = ScoreKind::kLogitMatch;
  World world(options);
  const auto result = world.retriever.ScorePairs(MakePairs(2, 2).request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->score_kind == ScoreKind::kLogitMatch);
  for (const PairScore& score : result->scores) {
    CHECK(score.rerank_score == Approx(1 / (1 + std::exp(-double{score.raw_score}))));
  }
}

TEST_CASE("pairs that cannot be asked for are refused") {
  World world;
  const auto refused = [&world](const ScorePairsRequest& request, const std::string& field) {
    const absl::Status status = world.retriever.ScorePairs(request, world.Call()).status();
    INFO(status);
    return absl::IsInvalidArgument(status) && GetFields(status) == std::vector<std::string>{field};
  };
  CHECK(refused(MakePairs(0, 1).request, "texts"));
  CHECK(refused(MakePairs(1, 0).request, "images"));
  CHECK(refused(MakePairs(33, 32).request, "texts"));
  ScorePairsRequest request = MakePairs(2, 2).request;
  request.texts[0] = TextQuery{" "};
  CHECK(refused(request, "texts[0].text"));
  request = MakePairs(2, 2).request;
  request.images[1] = ImageQuery{""};
  CHECK(refused(request, "images[1].image"));
  request = MakePairs(2, 2).request;
  request.texts[1] = ItemQuery{"", "caption-1"};  // the scoring index holds pictures
  CHECK(refused(request, "texts[1].item.index"));
  CHECK(world.encoder->behaviour().calls() == 0);
}

TEST_CASE("an item that is not there is named") {
  World world;
  ScorePairsRequest request = MakePairs(1, 2).request;
  request.images[1] = ItemQuery{"", "image-999"};
  const absl::Status status = world.retriever.ScorePairs(request, world.Call()).status();
  CHECK(absl::IsNotFound(status));
  CHECK(std::string(status.message()).find("images[1]") != std::string::npos);
  CHECK(std::string(status.message()).find("image-999") != std::string::npos);
}

TEST_CASE("an index without a cross-encoder cannot score pairs") {
  World world;
  GenerationInfo info = *world.pictures.info();
  info.rerankers.clear();
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  const absl::Status status =
      world.retriever.ScorePairs(MakePairs(1, 1).request, world.Call()).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(HasReason(status, reasons::kNoCrossEncoder));
}

TEST_CASE("pairs are scored by the reranker that was named") {
  World world;
  ScorePairsRequest request = MakePairs(2, 3).request;
  request.reranker = kOtherReranker;
  const auto result = world.retriever.ScorePairs(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->reranker == kOtherReranker);
  for (const RerankRequest& sent : world.reranker->requests()) {
    CHECK(sent.reranker == kOtherReranker);
  }
  request.reranker = "";
  CHECK(world.retriever.ScorePairs(request, world.Call())->reranker == "default");
  request.reranker = "finest";
  const absl::Status status = world.retriever.ScorePairs(request, world.Call()).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(HasReason(status, reasons::kUnknownReranker));
  request.reranker = "No Name";
  CHECK(HasReason(world.retriever.ScorePairs(request, world.Call()).status(),
                  reasons::kInvalidField));
}

TEST_CASE("one failure of a backend is the failure of the call") {
  World world;
  const Pairs pairs = MakePairs(4, 30);
  absl::StatusCode expected = absl::StatusCode::kUnavailable;
  SECTION("encoder") {
    world.encoder->behaviour().FailWith(absl::UnavailableError("down"));
  }
  SECTION("no encoder") {
    world.backends.encoder = nullptr;
  }
  SECTION("no reranker") {
    world.backends.reranker = nullptr;
  }
  SECTION("shards") {
    for (int i = 0; i < 3; ++i) {
      world.words.shard(i).fetch().FailWith(absl::UnavailableError("down"));
    }
  }
  SECTION("reranker") {
    world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  }
  SECTION("one slice") {
    world.reranker->behaviour().Follow([](int call) {
      FakeAnswer answer;
      if (call == 5) answer.status = absl::DataLossError("corrupt");
      return answer;
    });
    expected = absl::StatusCode::kDataLoss;
  }
  SECTION("a score that is not a number") {
    world.backends.reranker =
        std::make_shared<FakeReranker>([](const RerankSide&, const RerankSide&) { return NAN; });
    expected = absl::StatusCode::kInternal;
  }
  SECTION("time") {
    world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(300)); });
    expected = absl::StatusCode::kDeadlineExceeded;
  }
  const absl::Status status = world.retriever.ScorePairs(pairs.request, world.Call()).status();
  INFO(status);
  CHECK(status.code() == expected);
}

TEST_CASE("searches beside many pairs are reranked: only what is sent stands before them") {
  World world;
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(50)); });
  REQUIRE(world.retriever.Search(TextSearch("a bird"), world.Call()).ok());  // 200 a second
  world.reranker->behaviour().BeforeEach([] {});
  world.reranker->behaviour().Hold();
  const int before = world.reranker->behaviour().calls();
  const Pairs pairs = MakePairs(30, 30);
  auto scoring = std::async(std::launch::async, [&] {
    return world.retriever.ScorePairs(pairs.request, world.Call(absl::Seconds(60)));
  });
  world.reranker->behaviour().AwaitCalls(before + RetrieverOptions().rerank_parallelism);
  world.reranker->behaviour().AnswerNow();
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->achieved_depth == 20);
  world.reranker->behaviour().Release();
  const auto scored = scoring.get();
  CHECK(scored.status() == absl::OkStatus());
}

}  // namespace
}  // namespace sightline
