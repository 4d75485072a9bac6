#include "common/training/item_keys.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

ImageNumbers ImageOf(std::vector<float> features, std::vector<float> boxes,
                     std::vector<int32_t> ids = {}) {
  ImageNumbers image;
  image.regions.count = 1;
  image.regions.features = std::move(features);
  image.regions.boxes = std::move(boxes);
  image.ids = std::move(ids);
  return image;
}

TEST_CASE("items that hold the same have one key, whatever beside them differs") {
  const std::vector<int32_t> text = {2, 7, 3}, same = {2, 7, 3};
  REQUIRE(KeyOf(text) == KeyOf(same));
  REQUIRE(KeyOf(ImageOf({1, 2}, {3}, {4})) == KeyOf(ImageOf({1, 2}, {3}, {4})));
}

TEST_CASE("every number of an item is in its key, and where it stands") {
  std::set<uint64_t> keys;
  const std::vector<std::vector<int32_t>> texts = {{},
                                                   {0},
                                                   {0, 0},
                                                   {1, 2},
                                                   {2, 1},
                                                   {2, 1, 0},
                                                   {0, 1, 0},
                                                   std::vector<int32_t>(9, 1),
                                                   std::vector<int32_t>(10, 1)};
  for (const auto& text : texts) keys.insert(KeyOf(text));
  for (const ImageNumbers& image :
       {ImageOf({}, {}), ImageOf({0}, {}), ImageOf({}, {0}), ImageOf({}, {}, {0}),
        ImageOf({1, 2}, {}), ImageOf({1}, {2}), ImageOf({2, 1}, {}), ImageOf({2, 1}, {}, {1})}) {
    keys.insert(KeyOf(image));
  }
  keys.insert({KeyOfPair(1, 2), KeyOfPair(2, 1), KeyOfPair(1, 1)});
  REQUIRE(keys.size() == texts.size() + 8 + 3);
}

TEST_CASE("keys are the same on every machine") {
  const std::vector<int32_t> text = {2, 7, 3};
  REQUIRE(KeyOf(text) == 0x89decbc27308ad83u);
  REQUIRE(KeyOf(ImageOf({0.5F, -2}, {0.25F}, {9})) == 0x333ce734f798c6d9u);
  REQUIRE(KeyOfPair(1, 2) == 0x1aaea31da7810cau);
}

}  // namespace
}  // namespace sightline
