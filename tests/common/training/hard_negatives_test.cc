#include "common/training/hard_negatives.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/common/training/tiny_training.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("mined rows are the most alike that are not related, as a plain search finds them") {
  TrainingSetContent content = TinyContent({});
  content.rows[1].captions[1].key = 0;
  content.rows[2].captions[0].key = 0;
  const TinyTrainingSet set(content);
  const TrainingRows rows(*set, false);
  at::manual_seed(1);
  const at::Tensor texts = at::randn({12, 6}), images = at::randn({16, 6});
  for (const int64_t width : {1, 4, 40}) {
    const MinedNegatives mined = MineNegatives(rows, texts, images, width);
    REQUIRE(static_cast<int64_t>(mined.rows.size()) == 12 * width);
    for (int64_t i = 0; i < 12; ++i) {
      std::vector<std::pair<double, int64_t>> expected;
      for (int64_t j = 0; j < 16; ++j) {
        const int64_t row = rows.pictured()[j];
        const double score = (texts[i] * images[j]).sum().item<double>();
        const bool family = rows.captioned()[i] <= 2 && row <= 2;
        if (row != rows.captioned()[i] && !family) expected.emplace_back(-score, row);
      }
      std::sort(expected.begin(), expected.end());
      const auto found = mined.of(i);
      for (int64_t k = 0; k < width; ++k) {
        const bool more = k < static_cast<int64_t>(expected.size());
        REQUIRE(found[k] == (more ? expected[k].second : -1));
      }
    }
  }
}

}  // namespace
}  // namespace sightline
