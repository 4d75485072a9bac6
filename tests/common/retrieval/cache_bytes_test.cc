// What caches say that they take, beside what the allocator says.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/retrieval/search_caches.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("what a cache says it takes is what it takes") {
  constexpr int kAnswers = 200;
  ResultCache results(int64_t{1} << 30, {});
  EmbeddingCache embeddings(int64_t{1} << 30, {});
  const CallContext call = CallContext::Unbounded();
  const PeakAllocation allocated;
  SECTION("answers") {
    for (int i = 0; i < kAnswers; ++i) {
      const auto answer =
          results.Get(absl::StrCat(std::string(31, 'k'), i), call, absl::InfiniteFuture(),
                      [i](const CallContext&) {
                        SearchResult result;
                        result.target.space = std::string(64, 's');
                        result.next_page_token = std::string(150, 't');
                        result.hits.resize(i % 40);
                        for (Hit& hit : result.hits) {
                          hit.item_id = "clipart/animals/fish";
                          hit.caption = std::string(i, 'c');
                          hit.tags.assign(i % 3, "a tag that is longer than a string holds inside");
                        }
                        return result;
                      });
      REQUIRE(answer.ok());
    }
    CHECK(results.Describe().entries == kAnswers);
    CHECK(allocated.bytes_now() <= results.Describe().bytes);
    CHECK(2 * allocated.bytes_now() >= results.Describe().bytes);
  }
  SECTION("scores") {
    ScoreCache scores(int64_t{1} << 30, {});
    const PeakAllocation held;
    for (int i = 0; i < kAnswers; ++i) {
      KnownScores known;
      for (int row = 0; row < i; ++row) known.Add(row % 3, row, {});
      scores.Keep(absl::StrCat(std::string(31, 'k'), i), std::move(known));
    }
    CHECK(held.bytes_now() <= scores.Describe().bytes);
    CHECK(2 * held.bytes_now() >= scores.Describe().bytes);
  }
  SECTION("encoded queries") {
    for (int i = 0; i < kAnswers; ++i) {
      ResolvedQuery query;
      query.embedding = EmbeddingMatrix(1, 768);
      if (i % 3 == 1) query.side = TextQuery{std::string(i, 't')};
      if (i % 3 == 2) {
        ItemFeatures features;
        features.tensors.resize(3);
        for (FeatureTensor& tensor : features.tensors) tensor.bytes = std::string(100 * i, 'f');
        query.side = Shared<ItemFeatures>(std::move(features));
      }
      embeddings.Keep(absl::StrCat(std::string(31, 'k'), i), query);
    }
    CHECK(embeddings.Describe().entries == kAnswers);
    CHECK(allocated.bytes_now() <= embeddings.Describe().bytes);
    CHECK(2 * allocated.bytes_now() >= embeddings.Describe().bytes);
  }
}

}  // namespace
}  // namespace sightline
