#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("items come in the order of the request, whichever shard holds them") {
  World world;
  GetItemsRequest request{
      "pictures", {"image-9", "image-0", "nothing", "image-9", "image-3"}, true};
  const auto result = world.retriever.GetItems(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->target.generation == "generation-7");
  CHECK(result->unreachable.empty());
  REQUIRE(result->items.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    REQUIRE(result->items[i].has_value() == (i != 2));
    if (i == 2) continue;
    CHECK(result->items[i]->item_id == request.item_ids[i]);
    CHECK(result->items[i]->caption == absl::StrCat("caption of ", request.item_ids[i]));
    CHECK(result->items[i]->embedding == EmbeddingOf(request.item_ids[i]));
  }
}

TEST_CASE("embeddings come only when wanted") {
  World world;
  const auto result = world.retriever.GetItems({"pictures", {"image-1"}, false}, world.Call());
  REQUIRE(result.ok());
  CHECK(result->items[0]->embedding.empty());
}

GetItemsRequest AllPictures() {
  GetItemsRequest request;
  request.index = "pictures";
  for (int i = 0; i < 40; ++i) request.item_ids.push_back(absl::StrCat("image-", i));
  return request;
}

TEST_CASE("items of a shard that is down or late are missing, and the shard is named") {
  World world;
  SECTION("down") {
    world.pictures.shard(1).fetch().FailWith(absl::UnavailableError("down"));
  }
  SECTION("late") {
    world.pictures.shard(1).fetch().Ignore();
    world.pictures.shard(2).fetch().BeforeEach([&] { world.clock.Advance(absl::Seconds(1)); });
  }
  const auto result = world.retriever.GetItems(AllPictures(), world.Call());
  REQUIRE(result.ok());
  CHECK(result->unreachable == std::vector<std::string>{"indexes/pictures/shards/1"});
  CHECK(result->failures.size() == 1);
  int found = 0;
  for (const auto& item : result->items) found += item.has_value() ? 1 : 0;
  CHECK(found == static_cast<int>(40 - world.pictures.shard(1).items().size()));
}

TEST_CASE("when no shard answers, neither does GetItems") {
  World world;
  for (int i = 0; i < 3; ++i) {
    world.pictures.shard(i).fetch().FailWith(absl::UnavailableError("down"));
  }
  CHECK(absl::IsUnavailable(world.retriever.GetItems(AllPictures(), world.Call()).status()));
}

// A shard that answers with other items than it was asked for.
class ConfusedShard : public IndexSearchClient {
 public:
  void SearchShard(const CallContext&, SearchShardRequest, Done<SearchShardResponse>) override {}
  void FetchItems(const CallContext&, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    FetchItemsResponse response;
    for (size_t i = 0; i < request.item_ids.size(); ++i) {
      response.items.emplace_back(StoredItem());
      response.items.back()->item_id = "another";
    }
    done(response);
  }
};

TEST_CASE("a shard that answers with other items counts as unreachable") {
  World world;
  world.backends.shards["pictures"][0] = std::make_shared<ConfusedShard>();
  const auto result = world.retriever.GetItems(AllPictures(), world.Call());
  REQUIRE(result.ok());
  CHECK(result->unreachable == std::vector<std::string>{"indexes/pictures/shards/0"});
  for (const auto& item : result->items) CHECK((!item.has_value() || item->item_id != "another"));
}

TEST_CASE("requests for items are checked") {
  World world;
  const auto code = [&world](const GetItemsRequest& request, const CallContext& call) {
    return world.retriever.GetItems(request, call).status().code();
  };
  using absl::StatusCode;
  CHECK(code({"", {"a"}}, world.Call()) == StatusCode::kInvalidArgument);
  CHECK(code({"pictures", {}}, world.Call()) == StatusCode::kInvalidArgument);
  CHECK(code({"pictures", {"a", ""}}, world.Call()) == StatusCode::kInvalidArgument);
  CHECK(code({"pictures", std::vector<std::string>(1001, "a")}, world.Call()) ==
        StatusCode::kInvalidArgument);
  CHECK(code({"nowhere", {"a"}}, world.Call()) == StatusCode::kNotFound);
  CHECK(code({"pictures", {"a"}}, world.Call(absl::ZeroDuration())) ==
        StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace sightline
