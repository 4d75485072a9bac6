// Attention's kernels, run on the host block by block, against attention in doubles.
#include "common/kernels/device_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "common/device/block.h"
#include "common/device/host_device.h"
#include "common/kernels/device_tile_attention.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

using device::Bfloat16;

struct Load {
  int heads = 1, head_size = 0;
  std::vector<int> lengths;
  bool has_bias = false, first_only = false;
};

// A pass's rows: queries, keys and values side by side, as a stack has them.
template <typename Number>
class Pass {
 public:
  explicit Pass(const Load& load) : load_(load), hidden_(load.heads * load.head_size) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    int32_t begin = 0;
    for (const int length : load.lengths) {
      const auto sequence = static_cast<int32_t>(ranges_.size());
      for (int first = 0; first < length; first += kQueriesOfTile) {
        tiles_.push_back({sequence, first});
      }
      ranges_.push_back({begin, length});
      begin += length;
    }
    counts_ = {begin, static_cast<int32_t>(ranges_.size()), static_cast<int32_t>(tiles_.size())};
    for (int64_t i = 0; i < int64_t{begin} * 3 * hidden_; ++i) {
      rows_.push_back(device::Narrowed<Number>(2 * normal(random)));
    }
    for (int32_t i = 0; i < begin; ++i) bias_.push_back(i % 3 == 1 ? -10000.0f : normal(random));
    // Of sequences of a single row too something is to be seen.
    for (const SequenceRange& range : ranges_) bias_[range.begin] = 0.5f;
  }

  std::vector<float> Attended() {
    AttendTask<Number> task;
    task.counts = &counts_;
    task.tiles = tiles_.data();
    task.ranges = ranges_.data();
    // Of sequences' first rows alone; else the rows as they lie.
    std::vector<Number> firsts;
    for (const SequenceRange& range : ranges_) {
      const auto row = rows_.begin() + int64_t{range.begin} * 3 * hidden_;
      firsts.insert(firsts.end(), row, row + hidden_);
    }
    task.queries = load_.first_only ? firsts.data() : rows_.data();
    task.query_stride = load_.first_only ? hidden_ : 3 * hidden_;
    task.keys = rows_.data() + hidden_;
    task.values = rows_.data() + 2 * hidden_;
    task.key_stride = 3 * hidden_;
    task.first_only = load_.first_only;
    task.key_bias = load_.has_bias ? bias_.data() : nullptr;
    task.heads = load_.heads;
    task.head_size = load_.head_size;
    task.scale = Scale();
    std::vector<Number> out(query_rows() * hidden_, device::Narrowed<Number>(12345));
    task.out = out.data();
    task.out_stride = hidden_;
    // Of tiles more than there are, as a bucket has them.
    Launch(task, (std::max(counts_.tiles, counts_.sequences) + 2) * load_.heads);
    std::vector<float> wide;
    for (const Number number : out) wide.push_back(device::Wide(number));
    return wide;
  }

  std::vector<double> Expected() const {
    std::vector<double> out;
    for (const SequenceRange& range : ranges_) {
      for (int query = 0; query < (load_.first_only ? 1 : range.length); ++query) {
        for (int head = 0; head < load_.heads; ++head) AppendHead(range, query, head, &out);
      }
    }
    return out;
  }

 private:
  float Scale() const { return 1 / std::sqrt(static_cast<float>(load_.head_size)); }
  int64_t query_rows() const { return load_.first_only ? counts_.sequences : counts_.rows; }

  static void Launch(const AttendTask<Number>& task, int blocks) {
    device::HostDevice device;
    if (task.head_size <= 32) {
      REQUIRE(device.Launch(blocks, Attend<Number, 32>{task}).ok());
    } else if (task.head_size <= 64) {
      REQUIRE(device.Launch(blocks, Attend<Number, 64>{task}).ok());
    } else {
      REQUIRE(device.Launch(blocks, Attend<Number, 128>{task}).ok());
    }
    REQUIRE(device.Wait().ok());
  }

  double At(int64_t row, int part, int head, int i) const {
    return device::Wide(rows_[(row * 3 + part) * hidden_ + head * load_.head_size + i]);
  }

  void AppendHead(const SequenceRange& range, int query, int head, std::vector<double>* out) const {
    std::vector<double> weights;
    for (int key = 0; key < range.length; ++key) {
      double score = 0;
      for (int i = 0; i < load_.head_size; ++i) {
        score += At(range.begin + query, 0, head, i) * At(range.begin + key, 1, head, i);
      }
      weights.push_back(score * Scale() + (load_.has_bias ? bias_[range.begin + key] : 0));
    }
    const double most = *std::max_element(weights.begin(), weights.end());
    for (double& weight : weights) weight = std::exp(weight - most);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (int i = 0; i < load_.head_size; ++i) {
      double seen = 0;
      for (int key = 0; key < range.length; ++key) {
        seen += weights[key] / sum * At(range.begin + key, 2, head, i);
      }
      out->push_back(seen);
    }
  }

  const Load load_;
  const int hidden_;
  PassCounts counts_;
  std::vector<SequenceRange> ranges_;
  std::vector<QueryTile> tiles_;
  std::vector<Number> rows_;
  std::vector<float> bias_;
};

// Values are of some two; weights and results are rounded to eight bits, once each.
template <typename Number>
void CheckAgainstDoubles(const Load& load, double allowed) {
  CAPTURE(load.heads, load.head_size, load.lengths, load.has_bias, load.first_only);
  Pass<Number> pass(load);
  const std::vector<float> found = pass.Attended();
  const std::vector<double> expected = pass.Expected();
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found[i], expected[i]);
    REQUIRE(std::abs(found[i] - expected[i]) <= allowed * (1 + std::abs(expected[i])));
  }
}

TEST_CASE("what is seen is what attention in doubles sees") {
  const std::vector<int> several = {3, 70, 1, 16, 33, 100};
  for (const bool has_bias : {false, true}) {
    for (const bool first_only : {false, true}) {
      for (const auto& [heads, head_size] :
           {std::pair{2, 4}, {1, 16}, {3, 32}, {2, 64}, {1, 128}, {2, 24}, {1, 96}, {1, 44}}) {
        const Load load = {heads, head_size, several, has_bias, first_only};
        CheckAgainstDoubles<float>(load, 1e-5);
        CheckAgainstDoubles<Bfloat16>(load, 1e-2);
      }
    }
  }
}

TEST_CASE("heads whose numbers cannot be read in fours are seen as they are") {
  for (const int head_size : {3, 5, 18, 35, 66}) {
    const Load load = {8, head_size, {5, 66, 1}, true, false};
    CheckAgainstDoubles<float>(load, 1e-5);
    CheckAgainstDoubles<Bfloat16>(load, 1e-2);
  }
}

TEST_CASE("sequences of every length about a tile's are seen whole") {
  for (int length = 1; length <= 70; ++length) {
    CheckAgainstDoubles<Bfloat16>({1, 16, {length}, false, false}, 1e-2);
    CheckAgainstDoubles<Bfloat16>({1, 80, {length}, false, true}, 1e-2);
  }
}

}  // namespace
}  // namespace sightline::kernels
