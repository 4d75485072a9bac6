#include "common/index/hnsw_beam.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<Reached> RandomOffers(int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Reached> offers;
  for (int i = 0; i < count; ++i) {
    offers.push_back({static_cast<float>(random() % 100), static_cast<uint32_t>(i)});
  }
  return offers;
}

template <typename Beam>
std::vector<float> KeptBy(const Beam& beam) {
  std::vector<float> kept;
  for (size_t i = 0; i < beam.size(); ++i) kept.push_back(beam.at(i).similarity);
  return kept;
}

TEST_CASE("beams keep the best offers, best first") {
  for (const int width : {1, 7, 64, 300}) {
    std::vector<Reached> offers = RandomOffers(200, width);
    SortedBeam sorted;
    HeapBeam heap;
    sorted.Reset(width);
    heap.Reset(width, nullptr);
    for (const Reached& offer : offers) {
      sorted.Offer(offer);
      heap.Offer(offer);
    }
    heap.Sort();
    std::sort(offers.begin(), offers.end(),
              [](auto& a, auto& b) { return a.similarity > b.similarity; });
    offers.resize(std::min<size_t>(offers.size(), width));
    std::vector<float> best;
    for (const Reached& offer : offers) best.push_back(offer.similarity);
    REQUIRE(KeptBy(sorted) == best);
    REQUIRE(KeptBy(heap) == best);
  }
}

TEST_CASE("beams expand the best first, once each, and what comes in meanwhile") {
  SortedBeam sorted;
  HeapBeam heap;
  sorted.Reset(3);
  heap.Reset(3, nullptr);
  const auto both = [&](auto&& with) {
    with(sorted);
    with(heap);
  };
  both([](auto& beam) {
    beam.Offer({1, 10});
    beam.Offer({5, 50});
    beam.Offer({3, 30});
    uint32_t vertex = 0;
    REQUIRE(beam.ExpandedNext(0) == 50);
    REQUIRE(beam.Expand(&vertex));
    REQUIRE(vertex == 50);
    beam.Offer({4, 40});  // 10 gives way
    beam.Offer({2, 20});  // not good enough
    REQUIRE(beam.Expand(&vertex));
    REQUIRE(vertex == 40);
    beam.Offer({6, 60});  // 30 gives way
    REQUIRE(beam.Expand(&vertex));
    REQUIRE(vertex == 60);
    REQUIRE(!beam.Expand(&vertex));
  });
}

TEST_CASE("what is no number is not kept") {
  SortedBeam sorted;
  sorted.Reset(2);
  HeapBeam heap;
  heap.Reset(2, nullptr);
  for (const float similarity : {std::nanf(""), 1.0f, std::nanf(""), 2.0f, std::nanf("")}) {
    sorted.Offer({similarity, 1});
    heap.Offer({similarity, 1});
  }
  heap.Sort();
  REQUIRE(KeptBy(sorted) == std::vector<float>{2, 1});
  REQUIRE(KeptBy(heap) == std::vector<float>{2, 1});
}

TEST_CASE("a beam of a set expands all and keeps those of the set") {
  const RowSet among = RowSet::OfRows({1, 3}, 10);
  HeapBeam heap;
  heap.Reset(2, &among);
  for (const uint32_t row : {0, 1, 2, 3, 4}) heap.Offer({static_cast<float>(row), row});
  std::vector<uint32_t> expanded;
  for (uint32_t vertex = 0; heap.Expand(&vertex);) expanded.push_back(vertex);
  REQUIRE(expanded == std::vector<uint32_t>{4, 3, 2, 1});  // 0 is worse than both that are kept
  heap.Sort();
  REQUIRE(heap.size() == 2);
  REQUIRE(heap.at(0).vertex == 3);
  REQUIRE(heap.at(1).vertex == 1);
}

TEST_CASE("a vertex is seen for the first time once, until all are forgotten") {
  SeenVertices seen;
  for (const int64_t vertices : {1000, 100, 100000}) {
    for (const int marks : {3, 90}) {
      seen.Reset(vertices);
      for (int i = 0; i < marks; ++i) REQUIRE(!seen.Contains(i));
      for (int i = 0; i < marks; ++i) REQUIRE(seen.Mark(i));
      for (int i = 0; i < marks; ++i) REQUIRE(!seen.Mark(i));
      REQUIRE(seen.Mark(vertices - 1));
      REQUIRE(seen.Contains(vertices - 1));
    }
  }
}

}  // namespace
}  // namespace sightline
