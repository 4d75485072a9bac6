#include "common/models/network/tensor_gate.h"

#include <torch/types.h>

#include <cstring>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const TensorGate kGate;

TEST_CASE("ids, rows and zeros come in with their numbers and shapes") {
  const std::vector<int32_t> ids = {4, 0, 70000};
  REQUIRE(torch::equal(kGate.Ids(ids), torch::tensor({4, 0, 70000}, torch::kInt64)));
  REQUIRE(kGate.Ids({}).size(0) == 0);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  REQUIRE(torch::equal(kGate.Rows(values, 2), torch::tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}})));
  REQUIRE(kGate.Rows(values, 3).sizes() == torch::IntArrayRef({2, 3}));
  REQUIRE(torch::equal(kGate.Zeros({2}, torch::kInt64), torch::tensor({0, 0}, torch::kInt64)));
}

TEST_CASE("what goes out as item features comes in as the same numbers, rounded as it was stored") {
  // Not in the order of its bytes.
  const torch::Tensor rows = torch::tensor({{1.5f, -2.f}, {0.1f, 65504.f}, {0.f, 3.f}}).t();
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32}) {
    const FeatureTensor stored = TensorGate::ToFeature("rows", dtype, rows);
    REQUIRE(stored.name == "rows");
    REQUIRE(stored.dtype == dtype);
    REQUIRE(stored.rows == 2);
    REQUIRE(stored.columns == 3);
    REQUIRE(stored.bytes.size() == 6 * (dtype == Dtype::kFloat16 ? 2 : 4));
    const torch::Tensor expected =
        dtype == Dtype::kFloat16 ? rows.to(torch::kHalf).to(torch::kFloat) : rows;
    REQUIRE(torch::equal(kGate.Feature(stored), expected));
  }
}

TEST_CASE("ids are stored as a column of four bytes each") {
  const std::vector<int32_t> ids = {101, 7, 102};
  const FeatureTensor stored =
      TensorGate::ToFeature("ids", Dtype::kInt32, torch::tensor({101, 7, 102}, torch::kInt64));
  REQUIRE(stored.rows == 3);
  REQUIRE(stored.columns == 1);
  REQUIRE(stored.bytes.size() == 12);
  REQUIRE(std::memcmp(stored.bytes.data(), ids.data(), 12) == 0);
  REQUIRE(IdsOf(stored) == ids);
  REQUIRE(torch::equal(kGate.Feature(stored), kGate.Ids(ids)));
}

TEST_CASE("what goes out lies row after row in float32, whatever it was") {
  const torch::Tensor turned = torch::tensor({{1, 2, 3}, {4, 5, 6}}, torch::kHalf).t();
  REQUIRE(TensorGate::Floats(turned) == std::vector<float>{1, 4, 2, 5, 3, 6});
  REQUIRE(TensorGate::Out(turned).is_contiguous());
  REQUIRE(TensorGate::Out(turned).scalar_type() == torch::kFloat);
}

}  // namespace
}  // namespace sightline
