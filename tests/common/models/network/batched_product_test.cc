#include "common/models/network/batched_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include "common/models/network/autocast.h"
#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// B x L x H as heads, B x h x L x H / h.
at::Tensor Heads(const at::Tensor& rows, int64_t heads) {
  return rows.view({rows.size(0), rows.size(1), heads, rows.size(2) / heads}).transpose(1, 2);
}

void RequireClose(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  REQUIRE(at::allclose(a, b, /*rtol=*/1e-5, /*atol=*/1e-5));
}

// That products and both gradients are at::matmul's.
void RequireAsMatmul(const at::Tensor& a, const at::Tensor& b) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(true); };
  const at::Tensor our_a = leaf(a), our_b = leaf(b), their_a = leaf(a), their_b = leaf(b);
  const at::Tensor ours = BatchedProduct(our_a, our_b), theirs = at::matmul(their_a, their_b);
  RequireClose(ours, theirs);
  const at::Tensor slope = at::randn(theirs.sizes(), theirs.options());
  (ours * slope).sum().backward();
  (theirs * slope).sum().backward();
  RequireClose(our_a.grad(), their_a.grad());
  RequireClose(our_b.grad(), their_b.grad());
}

TEST_CASE("products and gradients are those of LibTorch, however matrices lie") {
  at::manual_seed(1);
  RequireAsMatmul(at::randn({3, 5, 7}), at::randn({3, 7, 9}));
  RequireAsMatmul(at::randn({3, 7, 5}).transpose(1, 2), at::randn({3, 9, 7}).transpose(1, 2));
  RequireAsMatmul(at::randn({2, 3, 5, 7}), at::randn({2, 3, 7, 9}));
  RequireAsMatmul(at::randn({1, 1, 1, 1}), at::randn({1, 1, 1, 1}));
  RequireAsMatmul(at::randn({4, 1, 6}), at::randn({4, 6, 1}));
  RequireAsMatmul(at::randn({4, 6, 1}), at::randn({4, 1, 6}));
  RequireAsMatmul(at::randn({1, 5, 7}).expand({3, 5, 7}), at::randn({3, 7, 9}));
  const at::Tensor q = Heads(at::randn({2, 11, 12}), 3), k = Heads(at::randn({2, 13, 12}), 3);
  RequireAsMatmul(q, k.transpose(2, 3));
  RequireAsMatmul(at::randn({2, 3, 11, 13}), k);
  RequireAsMatmul(Heads(at::randn({2, 1, 12}), 3), k.transpose(2, 3));
  RequireAsMatmul(Heads(at::randn({2, 11, 12}), 1),
                  Heads(at::randn({2, 13, 12}), 1).transpose(2, 3));
}

TEST_CASE("matrices of no rows or nothing to add up make products of none or of zeros") {
  RequireAsMatmul(at::randn({3, 0, 7}), at::randn({3, 7, 9}));
  RequireAsMatmul(at::randn({3, 5, 0}), at::randn({3, 0, 9}));
  RequireAsMatmul(at::randn({0, 5, 7}), at::randn({0, 7, 9}));
}

TEST_CASE("gradients are slopes") {
  at::manual_seed(2);
  const at::Tensor a = Leaf(at::randn({2, 3, 4})), b = Leaf(at::randn({2, 4, 5}));
  const at::Tensor slope = at::randn({2, 3, 5}, at::kDouble);
  RequireGradients({a, b}, [&] { return (BatchedProduct(a, b).pow(2) * slope).sum(); });
  const at::Tensor rows = Leaf(at::randn({2, 4, 6}));
  RequireGradients({rows}, [&] {
    const at::Tensor heads = Heads(rows, 2);
    const at::Tensor weights = at::softmax(BatchedProduct(heads, heads.transpose(2, 3)), -1);
    return BatchedProduct(weights, heads).pow(2).sum();
  });
}

TEST_CASE("what attention reads of heads is put together without a copy") {
  const at::Tensor v = Heads(at::randn({2, 5, 12}), 3);
  const at::Tensor seen = BatchedProduct(at::randn({2, 3, 7, 5}), v);
  const at::Tensor rows = seen.transpose(1, 2).reshape({2, 7, 12});
  REQUIRE(rows.data_ptr() == seen.data_ptr());
}

TEST_CASE("a row's bits do not depend on the others, nor on how many threads there are") {
  at::manual_seed(3);
  const at::Tensor a = at::randn({64, 40, 48}), b = at::randn({64, 48, 40});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = BatchedProduct(a, b);
  at::set_num_threads(4);
  const at::Tensor together = BatchedProduct(a, b);
  at::set_num_threads(threads);
  REQUIRE(at::equal(alone, together));
  const at::Tensor some =
      BatchedProduct(a.narrow(0, 9, 1).narrow(1, 3, 2), b.narrow(0, 9, 1).narrow(2, 17, 5));
  REQUIRE(at::equal(some[0], alone[9].narrow(0, 3, 2).narrow(1, 17, 5)));
}

TEST_CASE("one that needs no gradient gets none, and a slope may be one number for all") {
  at::manual_seed(4);
  const at::Tensor a = at::randn({2, 3, 4}), b = at::randn({2, 4, 5}).requires_grad_(true);
  BatchedProduct(a, b).sum().backward();
  REQUIRE(!a.grad().defined());
  RequireClose(b.grad(), a.sum(1).unsqueeze(2).expand_as(b));
  const at::Tensor c = at::randn({2, 5, 3}).requires_grad_(true);
  BatchedProduct(c, a).sum().backward();
  RequireClose(c.grad(), a.sum(2).unsqueeze(1).expand_as(c));
}

TEST_CASE("without gradients products are the same") {
  at::manual_seed(5);
  const at::Tensor a = at::randn({2, 3, 4}).requires_grad_(true), b = at::randn({2, 4, 5});
  const at::Tensor with = BatchedProduct(a, b);
  REQUIRE(with.requires_grad());
  {
    const at::NoGradGuard no_grad;
    const at::Tensor without = BatchedProduct(a, b);
    REQUIRE(!without.requires_grad());
    REQUIRE(at::equal(with, without));
  }
  const c10::InferenceMode inference;
  REQUIRE(at::equal(with, BatchedProduct(a, b)));
}

TEST_CASE("what was multiplied and then changed gives no wrong gradients") {
  const at::Tensor a = at::ones({1, 2, 2}).requires_grad_(true), b = at::ones({1, 2, 2});
  const at::Tensor product = BatchedProduct(a, b);
  b.add_(1);
  REQUIRE_THROWS_AS(product.sum().backward(), c10::Error);
}

TEST_CASE("gradients of gradients are refused rather than left out") {
  const at::Tensor a = at::ones({1, 2, 2}).requires_grad_(true);
  const at::Tensor product = BatchedProduct(a, a);
  REQUIRE_THROWS_AS(product.sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true),
                    c10::Error);
}

TEST_CASE("products that are not small are LibTorch's own") {
  at::manual_seed(6);
  RequireAsMatmul(at::randn({2, 65, 64}), at::randn({2, 64, 64}));
  const at::Tensor a = at::randn({2, 65, 64}), b = at::randn({2, 64, 64});
  REQUIRE(65 * 64 * 64 > kMostOfSmall);
  REQUIRE(at::equal(BatchedProduct(a, b), at::matmul(a, b)));
}

TEST_CASE("where products are rounded, so are these") {
  if (!ProbeBfloat16(at::kCPU).ok()) return;  // not every CPU's LibTorch rounds
  const AutocastScope scope(/*bfloat16=*/true, /*on_gpu=*/false);
  const at::Tensor exact = at::ones({1, 2, 2}), rounded = exact.to(at::kBFloat16);
  REQUIRE(BatchedProduct(exact, exact).scalar_type() == at::kBFloat16);
  // As of attention, whose weights are exact and whose values are not.
  REQUIRE(BatchedProduct(exact, rounded).scalar_type() == at::kBFloat16);
}

TEST_CASE("matrices that do not go together are refused, none is repeated") {
  REQUIRE_THROWS_AS(BatchedProduct(at::ones({2, 3, 4}), at::ones({2, 5, 6})), c10::Error);
  REQUIRE_THROWS_AS(BatchedProduct(at::ones({2, 3, 4}), at::ones({1, 4, 6})), c10::Error);
  REQUIRE_THROWS_AS(BatchedProduct(at::ones({2, 3, 4}), at::ones({4, 6})), c10::Error);
  REQUIRE_THROWS_AS(BatchedProduct(at::ones({3, 4}), at::ones({4, 6})), c10::Error);
  REQUIRE_THROWS_AS(BatchedProduct(at::ones({1, 2, 2}), at::ones({1, 2, 2}, at::kDouble)),
                    c10::Error);
}

}  // namespace
}  // namespace sightline
