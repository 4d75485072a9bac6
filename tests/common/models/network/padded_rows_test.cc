#include "common/models/network/padded_rows.h"

#include <ATen/ATen.h>

#include <numeric>
#include <vector>

#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Lengths = std::vector<int64_t>;

at::Tensor RowsOf(const Lengths& lengths) {
  const int64_t count = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  return at::randn({count, 3}, at::kDouble).requires_grad_(true);
}

TEST_CASE("each sequence's rows lie in its own row of the padded ones, and come back") {
  const Lengths lengths = {2, 4, 1, 3};
  const at::Tensor rows = RowsOf(lengths);
  const PaddedRows padding(lengths, at::kCPU);
  const at::Tensor padded = padding.Pad(rows);
  REQUIRE(padded.sizes() == at::IntArrayRef({4, 4, 3}));
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    CAPTURE(i);
    REQUIRE(at::equal(padded[i].narrow(0, 0, lengths[i]), rows.narrow(0, begin, lengths[i])));
    REQUIRE(padding.mask()[i].sum().item<float>() == lengths[i]);
    begin += lengths[i];
  }
  REQUIRE(at::isfinite(padded).all().item<bool>());
  REQUIRE(at::equal(padding.Pack(padded), rows));
}

TEST_CASE("gradients go through rows and not through padding") {
  const Lengths lengths = {2, 4, 1};
  const at::Tensor rows = RowsOf(lengths);
  const PaddedRows padding(lengths, at::kCPU);
  const at::Tensor weights = at::randn({3, 4, 3}, at::kDouble);
  (padding.Pad(rows) * weights).sum().backward();
  REQUIRE(at::equal(rows.grad(), padding.Pack(weights)));

  const at::Tensor padded = at::randn({3, 4, 3}, at::kDouble).requires_grad_(true);
  const at::Tensor of_rows = at::randn({7, 3}, at::kDouble);
  (padding.Pack(padded) * of_rows).sum().backward();
  REQUIRE(at::equal(padded.grad(), padding.Pad(of_rows) * padding.mask().unsqueeze(2)));
}

TEST_CASE("gradients are slopes, of each way by itself and of attention between them") {
  const Lengths lengths = {2, 4, 1};
  const PaddedRows padding(lengths, at::kCPU);
  const at::Tensor mask = padding.mask().to(at::kDouble);
  const at::Tensor rows = Leaf(at::randn({7, 3})), padded = Leaf(at::randn({3, 4, 3}));
  const at::Tensor of_places = at::randn({3, 4, 3}, at::kDouble) * mask.unsqueeze(2);
  const at::Tensor of_rows = at::randn({7, 3}, at::kDouble);
  RequireGradients({rows}, [&] { return (padding.Pad(rows).pow(2) * of_places).sum(); });
  RequireGradients({padded}, [&] { return (padding.Pack(padded).pow(2) * of_rows).sum(); });
  // Padding is looked at by nobody, and what it would look at is dropped.
  const at::Tensor bias = ((mask - 1) * 1e9).unsqueeze(1);
  RequireGradients({rows}, [&] {
    const at::Tensor x = padding.Pad(rows);
    const at::Tensor weights = at::softmax(at::matmul(x, x.transpose(1, 2)) + bias, 2);
    return (padding.Pack(at::matmul(weights, x)) * of_rows).sum();
  });
}

TEST_CASE("sequences of one length are not padded") {
  const at::Tensor rows = RowsOf({3, 3});
  const PaddedRows padding({3, 3}, at::kCPU);
  REQUIRE(!padding.mask().defined());
  const at::Tensor padded = padding.Pad(rows);
  REQUIRE(padded.data_ptr() == rows.data_ptr());
  REQUIRE(padding.Pack(padded).data_ptr() == rows.data_ptr());
}

}  // namespace
}  // namespace sightline
