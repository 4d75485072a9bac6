#include "common/retrieval/rerank_pace.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000'000);

absl::Time At(double seconds) {
  return kStart + absl::Seconds(seconds);
}

// A request that has all the time, and all of it is sent.
RerankShare Send(const std::shared_ptr<RerankPace>& pace, int pairs, double at) {
  RerankShare share = pace->Take(pairs, 10, At(at), absl::InfiniteFuture());
  share.Sent(pairs, At(at));
  return share;
}

// Of one request after another, each answered in `each` seconds: 20 candidates.
void Answer(const std::shared_ptr<RerankPace>& pace, double from, double until, double each) {
  for (double t = from; t < until; t += each) {
    RerankShare share = Send(pace, 20, t);
    share.Answered(20, At(t), At(t + each));
  }
}

TEST_CASE("what nobody has measured cuts nothing") {
  const auto pace = std::make_shared<RerankPace>();
  CHECK(pace->PairsPerSecond(At(0)) == 0);
  CHECK(pace->Take(20, 10, At(0), At(0.001)).pairs() == 20);
  CHECK(pace->Take(0, 10, At(0), At(1)).pairs() == 0);
}

TEST_CASE("the pace is what is answered while there is something to answer") {
  const auto pace = std::make_shared<RerankPace>();
  // A tenth of the time is used.
  for (int i = 0; i < 20; ++i) {
    RerankShare share = Send(pace, 20, i);
    share.Answered(10, At(i), At(i + 0.05));
    share.Answered(10, At(i), At(i + 0.1));
  }
  CHECK(pace->PairsPerSecond(At(20)) == Approx(200));
}

TEST_CASE("slices that wait for each other are not counted twice") {
  const auto pace = std::make_shared<RerankPace>();
  RerankShare first = Send(pace, 10, 0), second = Send(pace, 10, 0);
  first.Answered(10, At(0), At(0.1));
  second.Answered(10, At(0), At(0.2));
  CHECK(pace->PairsPerSecond(At(0.2)) == Approx(100));
}

TEST_CASE("a reranker that hung is as fast as it was, once it answers") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);
  { RerankShare lost = Send(pace, 20, 2); }  // until its deadline
  Answer(pace, 7, 7.1, 0.1);
  CHECK(pace->PairsPerSecond(At(7.1)) == Approx(200));
}

TEST_CASE("a change of pace is known after seconds, and forgotten without answers") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 10, 0.1);
  Answer(pace, 10, 16, 0.4);
  CHECK(pace->PairsPerSecond(At(16)) == Approx(50).epsilon(0.2));
  CHECK(pace->PairsPerSecond(At(25)) > 0);
  CHECK(pace->PairsPerSecond(At(27)) == 0);
  CHECK(pace->Take(20, 10, At(27), At(27.1)).pairs() == 20);
}

TEST_CASE("no more is sent than fits behind what is under way") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);  // 200 a second
  CHECK(pace->Take(5, 10, At(2), At(2.205)).pairs() == 5);
  CHECK(pace->Take(100, 10, At(2), At(2.205)).pairs() == 36);  // 0.9 of 41
  const RerankShare others = Send(pace, 20, 2);
  CHECK(pace->Take(100, 10, At(2), At(2.205)).pairs() == 16);
  CHECK(pace->Take(100, 10, At(2), At(2.1)).pairs() == 0);
  CHECK(pace->Take(100, 10, At(2), absl::InfiniteFuture()).pairs() == 100);
}

TEST_CASE("while nothing is under way some are sent, however slow it was") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 8, 4);  // 5 a second
  CHECK(pace->Take(20, 10, At(8), At(8.5)).pairs() == 10);
  CHECK(pace->Take(7, 10, At(8), At(8.5)).pairs() == 7);
  const RerankShare other = Send(pace, 1, 8);
  CHECK(pace->Take(20, 10, At(8), At(8.5)).pairs() <= 1);
}

TEST_CASE("what a request leaves unanswered is not under way any more") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);
  {
    RerankShare share = Send(pace, 20, 2);
    RerankShare moved = std::move(share);
    moved.Answered(10, At(2), At(2.05));
    CHECK(pace->Take(100, 0, At(2.05), At(2.255)).pairs() == 26);
  }
  CHECK(pace->Take(100, 0, At(2.05), At(2.255)).pairs() == 36);
}

TEST_CASE("what counts is what is sent, when it is sent") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);  // 200 a second
  RerankShare pairs = pace->TakeAll(1024);
  CHECK(pairs.pairs() == 1024);
  CHECK(pace->Take(20, 10, At(2), At(2.5)).pairs() == 20);
  // Two slices under way, and the next when one is answered.
  pairs.Sent(10, At(2));
  pairs.Sent(10, At(2));
  for (int i = 0; i < 10; ++i) {
    const double now = 2.05 + 0.05 * i;
    pairs.Answered(10, At(now - 0.05), At(now));
    pairs.Sent(10, At(now));
    CHECK(pace->Take(20, 10, At(now), At(now + 0.5)).pairs() >= 10);
  }
  // What is lost is not under way any more.
  CHECK(pace->Take(100, 10, At(2.5), At(2.7)).pairs() < 20);
  pairs.Lost(20);
  CHECK(pace->Take(100, 10, At(2.5), At(2.705)).pairs() == 36);
}

TEST_CASE("while nothing is under way only the time counts, whatever others have asked for") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);
  for (int i = 0; i < 100; ++i) pace->Take(100, 10, At(2), At(2.5));  // and sent nothing
  CHECK(pace->Take(50, 10, At(2), At(2.5)).pairs() == 50);
  CHECK(pace->Take(100, 10, At(2), At(2.505)).pairs() == 90);
  CHECK(pace->Take(20, 10, At(2), At(2)).pairs() == 10);
}

TEST_CASE("beyond twice what has been under way nobody knows the pace") {
  const auto pace = std::make_shared<RerankPace>();
  Answer(pace, 0, 2, 0.1);  // 20 under way
  std::vector<RerankShare> burst;
  for (int i = 0; i < 8; ++i) {
    burst.push_back(pace->Take(20, 10, At(2), At(2.5)));
    CHECK(burst.back().pairs() == 20);
    burst.back().Sent(20, At(2));
  }
  // There is one server: now it is known.
  for (int i = 0; i < 4; ++i) burst[i].Answered(20, At(2), At(2.1 + 0.1 * i));
  CHECK(pace->Take(20, 10, At(2.4), At(2.9)).pairs() < 10);
}

TEST_CASE("each cross-encoder has a pace of its own") {
  RerankPaces paces;
  const auto fast = paces.Of("fast");
  Answer(fast, 0, 2, 0.1);
  CHECK(paces.Of("fast") == fast);
  CHECK(paces.Of("slow")->PairsPerSecond(At(2)) == 0);
  for (int i = 0; i < 1000; ++i) paces.Of(std::to_string(i));
  CHECK(fast->PairsPerSecond(At(2)) > 0);  // whoever has it keeps it
}

TEST_CASE("paces that requests under way have stay, and then those that were asked for last") {
  RerankPaces paces;
  const auto held = paces.Of("held");
  const auto known = [&paces](const std::string& model) { return paces.Find(model) != nullptr; };
  paces.Of("idle");
  paces.Of("busy");
  for (int i = 0; i < 1000; ++i) {
    paces.Of(std::to_string(i));
    paces.Of("busy");
  }
  CHECK(paces.Find("held") == held);
  CHECK(known("busy"));
  CHECK(known("999"));
  CHECK_FALSE(known("idle"));
  CHECK_FALSE(known("0"));
  CHECK_FALSE(known("never asked for"));
}

}  // namespace
}  // namespace sightline
