#include "common/models/network/tensor_gate.h"

#include <torch/types.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/models/inputs/stored_features.h"
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
  const FeatureTensor exact = TensorGate::ToFeature("rows", rows);
  REQUIRE(exact.name == "rows");
  REQUIRE(exact.dtype == Dtype::kFloat32);
  REQUIRE(exact.rows == 2);
  REQUIRE(exact.columns == 3);
  REQUIRE(exact.bytes.size() == 6 * 4);
  REQUIRE(torch::equal(kGate.Tensor(StoredRows{&exact, nullptr}), rows));
  const ItemFeatures half = *StoredAs(Dtype::kFloat16, {{exact}});
  REQUIRE(ItemRows(rows).count() == 2);
  REQUIRE(ItemRows(StoredRows{&exact, nullptr}).count() == 2);
  REQUIRE(ItemRows(StoredRows{&exact, nullptr}).columns() == 3);
  REQUIRE(kGate.Tensor(rows).is_same(rows));
  REQUIRE(torch::equal(kGate.Tensor(StoredRows{half.Find("rows"), nullptr}),
                       rows.to(torch::kHalf).to(torch::kFloat)));
}

TEST_CASE("rows in eight bits come in as their codes times their scale") {
  const FeatureTensor codes{"rows", Dtype::kInt8, 2, 3, std::string("\x7f\x81\x00\x02\xff\x40", 6)};
  const float numbers[] = {0.5f, 0.25f};
  FeatureTensor scales{"rows_scales", Dtype::kFloat32, 2, 1, std::string(sizeof(numbers), '\0')};
  std::memcpy(&scales.bytes[0], numbers, sizeof(numbers));
  REQUIRE(torch::equal(kGate.Tensor(StoredRows{&codes, &scales}),
                       torch::tensor({{63.5f, -63.5f, 0.f}, {0.5f, -0.25f, 16.f}})));
}

TEST_CASE("ids are stored as a column of four bytes each") {
  const std::vector<int32_t> ids = {101, 7, 102};
  const FeatureTensor stored =
      TensorGate::ToFeature("ids", torch::tensor({101, 7, 102}, torch::kInt64));
  REQUIRE(stored.rows == 3);
  REQUIRE(stored.columns == 1);
  REQUIRE(stored.bytes.size() == 12);
  REQUIRE(std::memcmp(stored.bytes.data(), ids.data(), 12) == 0);
  REQUIRE(IdsOf(stored) == ids);
  REQUIRE(torch::equal(kGate.Tensor(StoredRows{&stored, nullptr}), kGate.Ids(ids)));
}

TEST_CASE("what goes out lies row after row in float32, whatever it was") {
  const torch::Tensor turned = torch::tensor({{1, 2, 3}, {4, 5, 6}}, torch::kHalf).t();
  REQUIRE(TensorGate::Floats(turned) == std::vector<float>{1, 4, 2, 5, 3, 6});
  REQUIRE(TensorGate::Out(turned).is_contiguous());
  REQUIRE(TensorGate::Out(turned).scalar_type() == torch::kFloat);
}

}  // namespace
}  // namespace sightline
