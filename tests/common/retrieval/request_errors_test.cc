// Requests that are refused, each with its code and the field at fault.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

ImageInput GoodRegions() {
  ImageInput image;
  image.regions.count = 2;
  image.regions.feature_size = 3;
  image.regions.features.resize(6);
  image.regions.boxes.resize(8);
  image.tags = {"fish"};
  return image;
}

SearchRequest With(Query query, std::string index = "pictures") {
  SearchRequest request;
  request.index = std::move(index);
  request.query = std::move(query);
  return request;
}

SearchRequest WithRegions(const std::function<void(ImageInput&)>& spoil) {
  ImageInput image = GoodRegions();
  spoil(image);
  return With(RegionsQuery{std::move(image)});
}

TEST_CASE("a bad field is INVALID_ARGUMENT and named, before anybody works") {
  SearchRequest top_k_0 = TextSearch("x"), top_k_1001 = TextSearch("x");
  top_k_0.top_k = 0;
  top_k_1001.top_k = 1001;
  SearchRequest depth_101 = TextSearch("x"), depth_negative = TextSearch("x");
  depth_101.depth = 101;
  depth_negative.depth = -1;
  SearchRequest lambda = TextSearch("x");
  lambda.combination = Combination{CombinationKind::kAddLambda, 1.5f};
  const auto with = [](TagFilter filter, EffortWish effort) {
    SearchRequest request = TextSearch("x");
    request.filter = std::move(filter);
    request.effort = effort;
    return request;
  };
  const std::vector<std::string> many(40, "a");
  const struct {
    SearchRequest request;
    const char* field;
    const char* said;
  } kCases[] = {
      {with({many, {}, many}, {}), "filter", "has 80 tags in all; at most 64"},
      {with({{"a", ""}, {}, {}}, {}), "filter.any[1]", "of 0 bytes is no tag"},
      {with({{}, {std::string(1025, 'a')}, {}}, {}), "filter.all[0]", "of 1025 bytes"},
      {with({{}, {}, {"\xFF"}}, {}), "filter.none[0]", "valid UTF-8"},
      {with({}, {0.0f, absl::nullopt}), "effort.recall", "is 0, must be more than 0"},
      {with({}, {1.5f, absl::nullopt}), "effort.recall", "is 1.5"},
      {with({}, {NAN, absl::nullopt}), "effort.recall", "is nan"},
      {with({}, {absl::nullopt, 0}), "effort.effort", "is 0, must be 1 to 1000000"},
      {with({}, {absl::nullopt, 1'000'001}), "effort.effort", "is 1000001"},
      {with({}, {0.5f, 7}), "effort", "names a recall and an effort"},
      {top_k_0, "top_k", "is 0, must be 1 to 1000"},
      {top_k_1001, "top_k", "is 1001"},
      {depth_101, "rerank_depth", "is 101, must be 0 to 100"},
      {depth_negative, "rerank_depth", "is -1"},
      {lambda, "combination", "1.5"},
      {TextSearch(""), "query.text", "0 bytes"},
      {TextSearch(" \t\n"), "query.text", "3 bytes"},
      {TextSearch("\xE3\x80\x80\xC2\xA0"), "query.text", "5 bytes"},  // wide and fixed spaces
      {TextSearch(std::string(100'000, 'x')), "query.text", "100000 bytes; at most 16384"},
      {TextSearch("fish\xFF"), "query.text", "5 bytes is not valid UTF-8"},
      {With(ImageQuery{""}), "query.image", "no bytes"},
      {With(ImageQuery{std::string((16 << 20) + 1, 'x')}), "query.image", "16777217 bytes"},
      {With(EmbeddingQuery{{1, 2}, ""}), "query.embedding.space", "empty"},
      {With(EmbeddingQuery{{}, kSpace}), "query.embedding.vector", "no numbers"},
      {With(EmbeddingQuery{{1, NAN}, kSpace}), "query.embedding.vector", "2 numbers"},
      {With(EmbeddingQuery{std::vector<float>(9), kSpace}), "query.embedding.vector",
       "has 9 numbers; index 'pictures' has 8"},
      {With(ItemQuery{"", ""}), "query.item.item_id", "empty"},
      {WithRegions([](ImageInput& image) { image.regions.count = 0; }), "query.regions",
       "has no regions"},
      {WithRegions([](ImageInput& image) { image.regions.count = int64_t{1} << 62; }),
       "query.regions", "more than the limit"},
      {WithRegions([](ImageInput& image) { image.regions.features.pop_back(); }), "query.regions",
       "5 feature values for 2 regions"},
      {WithRegions([](ImageInput& image) { image.regions.boxes.pop_back(); }), "query.regions",
       "7 box coordinates"},
      {WithRegions([](ImageInput& image) { image.regions.confidences = {1}; }), "query.regions",
       "1 confidences"},
      {WithRegions([](ImageInput& image) {
         image.regions.confidences = {1, NAN};
       }),
       "query.regions", "confidence nan"},
      {WithRegions([](ImageInput& image) { image.regions.boxes[3] = 480; }), "query.regions",
       "480 at region 0, which looks like pixels"},
      {WithRegions([](ImageInput& image) { image.regions.features[5] = INFINITY; }),
       "query.regions", "not a finite number"},
      {WithRegions([](ImageInput& image) { image.tags = {"\xC0\xAF"}; }), "query.regions.tags",
       "not valid UTF-8"},
      {WithRegions([](ImageInput& image) { image.ocr_tokens = {std::string(20'000, 'x')}; }),
       "query.regions.ocr_tokens", "20000 bytes"},
      {With(EmbeddingQuery{EmbeddingOf("x"), kSpace}, ""), "index", "name the index"},
      {With(ItemQuery{"", "image-1"}, ""), "index", "name the index"},
  };
  World world;
  for (const auto& test : kCases) {
    const auto result = world.retriever.Search(test.request, world.Call());
    INFO(test.field << ": " << result.status());
    REQUIRE(absl::IsInvalidArgument(result.status()));
    CHECK(GetFields(result.status()) == std::vector<std::string>{test.field});
    CHECK(std::string(result.status().message()).find(test.said) != std::string::npos);
  }
  CHECK(world.encoder->behaviour().calls() == 0);
  CHECK(world.pictures.shard(0).search().calls() == 0);
}

TEST_CASE("the bounds themselves are allowed") {
  World world;
  SearchRequest request = TextSearch(std::string(16 << 10, 'x'));
  request.top_k = 1000;
  request.depth = 100;
  CHECK(world.retriever.Search(request, world.Call()).ok());
  CHECK(world.retriever.Search(With(RegionsQuery{GoodRegions()}), world.Call()).ok());
  SearchRequest item = With(ItemQuery{"", "image-1"});
  item.top_k = 1000;
  CHECK(world.retriever.Search(item, world.Call()).ok());
}

TEST_CASE("an unknown index is NOT_FOUND, one that nobody has reported is UNAVAILABLE") {
  World world;
  world.catalog.Configure("paintings");
  CHECK(absl::IsNotFound(
      world.retriever.Search(With(TextQuery{"x"}, "nowhere"), world.Call()).status()));
  CHECK(absl::IsUnavailable(
      world.retriever.Search(With(TextQuery{"x"}, "paintings"), world.Call()).status()));
  CHECK(absl::IsNotFound(
      world.retriever.Search(With(ItemQuery{"nowhere", "x"}), world.Call()).status()));
}

TEST_CASE("without a name, an index that nobody has reported may be the one") {
  World world;
  FakeCatalog catalog;
  catalog.Configure("pictures");
  const Retriever retriever(&world.backends, &catalog, &world.budget, RetrieverOptions());
  CHECK(absl::IsUnavailable(retriever.Search(TextSearch("x"), world.Call()).status()));
}

TEST_CASE("an item that is not there is NOT_FOUND") {
  World world;
  const auto result = world.retriever.Search(With(ItemQuery{"words", "caption-999"}), world.Call());
  CHECK(absl::IsNotFound(result.status()));
  CHECK(HasReason(result.status(), reasons::kItemNotFound));
}

TEST_CASE("an item whose shard is down is that shard's error") {
  World world;
  for (int shard = 0; shard < 3; ++shard) {
    world.words.shard(shard).fetch().FailWith(absl::UnavailableError("down"));
  }
  const auto result = world.retriever.Search(With(ItemQuery{"words", "caption-1"}), world.Call());
  CHECK(absl::IsUnavailable(result.status()));
  CHECK(std::string(result.status().message()).find("indexes/words/shards/") != std::string::npos);
}

TEST_CASE("another embedding space is FAILED_PRECONDITION") {
  World world;
  const auto embedding =
      world.retriever.Search(With(EmbeddingQuery{EmbeddingOf("x"), "space-2"}), world.Call());
  CHECK(absl::IsFailedPrecondition(embedding.status()));
  CHECK(HasReason(embedding.status(), reasons::kEmbeddingSpaceMismatch));

  GenerationInfo info = *world.words.info();
  info.ref.space = "space-2";
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  const auto item = world.retriever.Search(With(ItemQuery{"words", "caption-1"}), world.Call());
  CHECK(absl::IsFailedPrecondition(item.status()));
}

TEST_CASE("a generation with other shards than are configured is FAILED_PRECONDITION") {
  World world;
  SECTION("fewer") {
    world.backends.shards["pictures"].pop_back();
  }
  SECTION("none") {
    world.backends.shards.erase("pictures");
  }
  SECTION("one without a server") {
    world.backends.shards["pictures"][1] = nullptr;
  }
  CHECK(absl::IsFailedPrecondition(world.retriever.Search(TextSearch("x"), world.Call()).status()));
}

TEST_CASE("options that make no sense are named") {
  CHECK(Validate(RetrieverOptions()).ok());
  const auto refused = [](const std::function<void(RetrieverOptions&)>& spoil) {
    RetrieverOptions options;
    spoil(options);
    return absl::IsInvalidArgument(Validate(options));
  };
  CHECK(refused([](RetrieverOptions& o) { o.rerank_slice = 0; }));
  CHECK(refused([](RetrieverOptions& o) { o.rerank_parallelism = 0; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_depth = 1001; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_depth = -1; }));
  CHECK(refused([](RetrieverOptions& o) { o.default_depth = 101; }));
  CHECK(refused([](RetrieverOptions& o) { o.default_depth = -1; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_text_bytes = 0; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_image_bytes = 0; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_pairs = 0; }));
  CHECK(refused([](RetrieverOptions& o) { o.max_get_items = 0; }));
}

}  // namespace
}  // namespace sightline
