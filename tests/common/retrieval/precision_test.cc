// Servers that compute in two precisions: no answer, and no list of pages, is of both.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/retrieval/page_token.h"
#include "tests/common/retrieval/two_precisions.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const std::vector<int> kExactOnes = {0, 1}, kQuickOnes = {2, 3};

SearchRequest Fish(int top_k = 10) {
  SearchRequest request = TextSearch("a fish");
  request.top_k = top_k;
  return request;
}

// One slice after the other, so that servers can go between them.
WorldOptions OneByOne() {
  WorldOptions options;
  options.retriever.rerank_parallelism = 1;
  options.retriever.rerank_slice = 5;
  return options;
}

WorldOptions Keeping() {
  WorldOptions options;
  options.caches = {1 << 20, 1 << 20, 1 << 20};
  return options;
}

SearchResult Ask(TwoPrecisions& two, const SearchRequest& request) {
  auto result = two.world.retriever.Search(request, two.world.Call());
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(two.IsOfOne(*result, "a fish"));
  return *std::move(result);
}

// After these, the replica is gone.
void DieAfter(FakeBehaviour& replica, int calls) {
  const int before = replica.calls();
  replica.Follow([before, calls](int call) {
    if (call < before + calls) return FakeAnswer{};
    return FakeAnswer{FakeAnswer::When::kNow, absl::UnavailableError("connection refused")};
  });
}

TEST_CASE("answers spread over the precisions, and each is of one") {
  TwoPrecisions two(OneByOne());
  std::set<std::string> seen;
  for (int i = 0; i < 60; ++i) {
    const SearchResult result = Ask(two, Fish());
    CHECK(result.rerank == RerankOutcome::kComplete);
    CHECK(result.degraded.empty());
    seen.insert(result.reranker_precision);
  }
  CHECK(seen == std::set<std::string>{kExact, kQuick});
  CHECK(two.changed().empty());  // nobody was asked in vain
}

TEST_CASE("what fails is tried again in the same precision") {
  TwoPrecisions two(OneByOne());
  two.Hold(kQuickOnes, kExactOnes);
  DieAfter(two.rerankers[2]->behaviour(), 1);
  const SearchResult result = Ask(two, Fish());
  CHECK(result.rerank == RerankOutcome::kComplete);
  CHECK(result.reranker_precision == kQuick);
  CHECK(two.rerankers[0]->behaviour().calls() + two.rerankers[1]->behaviour().calls() == 0);
}

TEST_CASE("where the last of a precision goes meanwhile, the answer is less and not mixed") {
  TwoPrecisions two(OneByOne());
  two.Hold({2}, kExactOnes);
  DieAfter(two.rerankers[2]->behaviour(), 2);
  const SearchResult result = Ask(two, Fish());
  CHECK(result.rerank == RerankOutcome::kPartial);
  CHECK(result.achieved_depth == 10);
  CHECK(result.reranker_precision == kQuick);
  CHECK(Has(result, DegradedReason::kRerankerFailed));
}

TEST_CASE("where the last of a precision has gone before it scored, those of another score all") {
  TwoPrecisions two(OneByOne());
  two.Hold({2}, kExactOnes);  // so that its precision is drawn
  DieAfter(two.rerankers[2]->behaviour(), 0);
  const SearchResult result = Ask(two, Fish());
  CHECK(result.rerank == RerankOutcome::kComplete);
  CHECK(result.reranker_precision == kExact);
  CHECK(result.degraded.empty());

  // Of a later page that would be another list.
  TwoPrecisions pages;
  pages.Hold({2}, kExactOnes);
  SearchRequest request = Fish(5);
  request.page_token = Ask(pages, request).next_page_token;
  DieAfter(pages.rerankers[2]->behaviour(), 0);
  const auto page = pages.world.retriever.Search(request, pages.world.Call());
  REQUIRE(page.ok());
  CHECK(page->rerank == RerankOutcome::kFailed);
}

TEST_CASE("a page goes on in the precisions of the first, until these are gone") {
  TwoPrecisions two;
  two.Hold(kQuickOnes, kExactOnes);
  SearchRequest request = Fish(5);
  const SearchResult first = Ask(two, request);
  CHECK(first.encoder_precision == kQuick);
  CHECK(first.reranker_precision == kQuick);
  request.page_token = first.next_page_token;

  two.Hold(kExactOnes, kQuickOnes);
  const SearchResult second = Ask(two, request);
  CHECK(second.encoder_precision == kQuick);
  CHECK(second.reranker_precision == kQuick);
  CHECK(second.rerank == RerankOutcome::kComplete);
  CHECK(Ask(two, Fish(5)).reranker_precision == kExact);

  two.Hold(kExactOnes);
  const auto expired = [&] {
    const auto third = two.world.retriever.Search(request, two.world.Call());
    return HasReason(third.status(), reasons::kPageTokenExpired);
  };
  CHECK(expired());
  // A query that nobody encodes: the rerankers alone decide.
  two.Hold(kQuickOnes);
  SearchRequest caption;
  caption.index = "pictures";
  caption.query = ItemQuery{"words", "caption-1"};
  caption.top_k = 5;
  const auto listed = two.world.retriever.Search(caption, two.world.Call());
  REQUIRE(listed.ok());
  caption.page_token = listed->next_page_token;
  two.Hold(kExactOnes);
  request = caption;
  CHECK(expired());
}

TEST_CASE("precisions that tokens make up cost nobody his pace") {
  TwoPrecisions two;
  two.Hold(kQuickOnes);
  // A hundred a second.
  for (const int replica : kQuickOnes) {
    two.rerankers[replica]->behaviour().BeforeEach(
        [&two] { two.world.clock.Advance(absl::Milliseconds(100)); });
  }
  // Encoded by nobody, so that nobody refuses before there is something to rerank.
  SearchRequest request;
  request.index = "pictures";
  request.query = ItemQuery{"words", "caption-1"};
  request.top_k = 5;
  const auto first = two.world.retriever.Search(request, two.world.Call());
  REQUIRE(first.ok());
  REQUIRE(first->rerank == RerankOutcome::kComplete);
  for (int i = 0; i < 100; ++i) {
    auto token = ParsePageToken(first->next_page_token);
    REQUIRE(token.ok());
    token->precisions->reranker = absl::StrCat("made-up-", i);
    request.page_token = ToText(*token);
    const auto page = two.world.retriever.Search(request, two.world.Call());
    REQUIRE(HasReason(page.status(), reasons::kPageTokenExpired));
  }
  request.page_token.clear();
  for (const int replica : kQuickOnes) two.rerankers[replica]->behaviour().BeforeEach([] {});
  const auto late = two.world.retriever.Search(request, two.world.Call(absl::Milliseconds(200)));
  REQUIRE(late.ok());
  CHECK(late->degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced});
}

TEST_CASE("a server that computes otherwise than it told is left out and asked anew") {
  TwoPrecisions two;
  two.Tell({0, 2}, {kQuick, kQuick, kQuick, kQuick});
  for (int i = 0; i < 10; ++i) {
    const SearchResult result = Ask(two, Fish());
    CHECK(result.reranker_precision == kQuick);
    CHECK(result.rerank == RerankOutcome::kComplete);
  }
  REQUIRE_FALSE(two.changed().empty());
  for (const std::string& address : two.changed()) CHECK(address == "0");
}

// A server of a release that knows nothing of precisions.
class OfOld : public RerankerClient {
 public:
  explicit OfOld(std::shared_ptr<FakeReranker> inner) : inner_(std::move(inner)) {}
  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    request.wish = {};
    inner_->RerankCandidates(call, std::move(request),
                             [done = std::move(done)](absl::StatusOr<RerankResponse> answer) {
                               if (answer.ok()) answer->precision.clear();
                               done(std::move(answer));
                             });
  }

 private:
  const std::shared_ptr<FakeReranker> inner_;
};

TEST_CASE("servers that do not tell are a group of their own") {
  int made = 0;
  TwoPrecisions two(OneByOne(), {}, [&](std::shared_ptr<FakeReranker> fake) {
    return made++ < 2 ? std::shared_ptr<RerankerClient>(std::make_shared<OfOld>(fake)) : fake;
  });
  two.Tell({0, 1, 2, 3}, {"", "", kQuick, kQuick});
  std::set<std::string> seen;
  for (int i = 0; i < 60; ++i) {
    auto result = two.world.retriever.Search(Fish(), two.world.Call());
    REQUIRE(result.ok());
    CHECK(result->rerank == RerankOutcome::kComplete);
    seen.insert(result->reranker_precision);
    if (result->reranker_precision.empty()) result->reranker_precision = kExact;
    CHECK(two.IsOfOne(*result, "a fish"));
  }
  CHECK(seen == std::set<std::string>{"", kQuick});

  // One that went back to the old release since it was polled does not refuse; its answer counts
  // for nothing all the same.
  two.Tell({0, 1, 2, 3}, {kQuick, kQuick, kQuick, kQuick});
  for (int i = 0; i < 10; ++i) {
    CHECK(Ask(two, Fish()).reranker_precision == kQuick);
  }
}

TEST_CASE("while nobody has told, the first answer decides for the others") {
  TwoPrecisions two(OneByOne());
  two.reranker->SetRoster(RosterOf({"0", "1", "2", "3"}));
  for (int i = 0; i < 20; ++i) {
    const SearchResult result = Ask(two, Fish());
    CHECK(result.rerank == RerankOutcome::kComplete);
    CHECK_FALSE(result.reranker_precision.empty());
  }
}

TEST_CASE("a query is encoded in another precision rather than not at all") {
  TwoPrecisions two(Keeping());
  two.Hold(kQuickOnes, kExactOnes);
  for (const int gone : kQuickOnes) {
    two.encoders[gone]->behaviour().FailWith(absl::UnavailableError("connection refused"));
  }
  const SearchResult result = Ask(two, Fish());
  CHECK(result.encoder_precision == kExact);
  CHECK(result.reranker_precision == kQuick);
  // What was looked up is another precision, so nothing is kept of it.
  for (const int gone : kQuickOnes) two.encoders[gone]->behaviour().AnswerNow();
  two.world.clock.Advance(absl::Seconds(10));
  const SearchResult again = Ask(two, Fish());
  CHECK_FALSE(again.from_cache);
  CHECK(again.encoder_precision == kQuick);
}

TEST_CASE("what is kept in one precision answers for no other") {
  TwoPrecisions two(Keeping());
  two.Hold(kQuickOnes, kExactOnes);
  CHECK(Ask(two, Fish()).reranker_precision == kQuick);
  CHECK(Ask(two, Fish()).from_cache);
  two.Hold(kExactOnes, kQuickOnes);
  const SearchResult exact = Ask(two, Fish());
  CHECK_FALSE(exact.from_cache);
  CHECK(exact.encoder_precision == kExact);
  CHECK(exact.reranker_precision == kExact);
  CHECK(two.encoders[0]->behaviour().calls() + two.encoders[1]->behaviour().calls() == 1);
  two.Hold(kQuickOnes, kExactOnes);
  const SearchResult quick = Ask(two, Fish());
  CHECK(quick.from_cache);
  CHECK(quick.reranker_precision == kQuick);
}

TEST_CASE("scores that are kept are gone on with in their precision") {
  WorldOptions options = Keeping();
  options.caches.max_result_bytes = 0;
  TwoPrecisions two(options);
  two.Hold(kQuickOnes, kExactOnes);
  SearchRequest request = Fish();
  request.depth = 10;
  Ask(two, request);
  request.depth = 30;
  const SearchResult deeper = Ask(two, request);
  CHECK(deeper.reranker_precision == kQuick);
  CHECK(deeper.achieved_depth == 30);
  two.Hold(kExactOnes, kQuickOnes);
  const SearchResult other = Ask(two, request);
  CHECK(other.reranker_precision == kExact);
}

TEST_CASE("pairs are scored in one precision, or not at all") {
  TwoPrecisions two(OneByOne());
  ScorePairsRequest request;
  request.index = "pictures";
  request.texts = {TextQuery{"a fish"}};
  for (int i = 0; i < 20; ++i) request.images.push_back(ItemQuery{"", absl::StrCat("image-", i)});
  for (int round = 0; round < 30; ++round) {
    const auto result = two.world.retriever.ScorePairs(request, two.world.Call());
    REQUIRE(result.ok());
    const bool exact = result->scores[0].raw_score == MatchOf("a fish", "image-0");
    for (int i = 0; i < 20; ++i) {
      CHECK(result->scores[i].raw_score ==
            (exact ? 1.0f : 0.5f) * MatchOf("a fish", absl::StrCat("image-", i)));
    }
  }
  two.Hold({2}, kExactOnes);
  DieAfter(two.rerankers[2]->behaviour(), 2);
  CHECK(absl::IsUnavailable(two.world.retriever.ScorePairs(request, two.world.Call()).status()));
}

}  // namespace
}  // namespace sightline
