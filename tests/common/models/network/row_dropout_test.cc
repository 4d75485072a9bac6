#include "common/models/network/row_dropout.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kColumns = 37;  // no multiple of what is computed at once
constexpr double kShare = 0.25;

at::Tensor FactorsOf(uint64_t seed, const std::vector<uint64_t>& keys,
                     const std::vector<int64_t>& lengths, uint64_t layer = 1) {
  const DropoutScope scope(seed, keys);
  return DropoutFactors(RowKeysOf(lengths), layer, kColumns, kShare, at::kCPU);
}

double ShareOfEqual(const at::Tensor& a, const at::Tensor& b) {
  return (a == b).to(at::kDouble).mean().item<double>();
}

RowDropout Prepared(double share) {
  RowDropout layer(share);
  PrepareDropout(-1, layer.get());
  return layer;
}

TEST_CASE("an item is dropped alike wherever it is among others") {
  const at::Tensor all = FactorsOf(5, {11, 12, 13}, {2, 4, 3});
  const at::Tensor other = FactorsOf(5, {13, 11}, {3, 2});
  REQUIRE(at::equal(all.narrow(0, 0, 2), other.narrow(0, 3, 2)));
  REQUIRE(at::equal(all.narrow(0, 6, 3), other.narrow(0, 0, 3)));
}

TEST_CASE("a longer item begins as a shorter one of its key, and more columns as fewer") {
  REQUIRE(at::equal(FactorsOf(5, {11}, {9}).narrow(0, 0, 4), FactorsOf(5, {11}, {4})));
  const DropoutScope scope(5, {11});
  const RowKeys rows = RowKeysOf({4});
  REQUIRE(at::equal(DropoutFactors(rows, 1, 64, kShare, at::kCPU).narrow(1, 0, kColumns),
                    DropoutFactors(rows, 1, kColumns, kShare, at::kCPU)));
}

TEST_CASE("attention drops alike whether it is padded or not, and by each head for itself") {
  const DropoutScope scope(5, {11, 12});
  const auto factors = [](int64_t items, int64_t queries) {
    return DropoutFactors(AttentionKeysOf(items, 2, queries), 1, kColumns, kShare, at::kCPU)
        .view({items, 2, queries, kColumns});
  };
  const at::Tensor padded = factors(2, 6), first = factors(2, 1);
  REQUIRE(at::equal(padded.narrow(2, 0, 1), first));
  REQUIRE(ShareOfEqual(padded.select(1, 0), padded.select(1, 1)) < 0.8);
}

TEST_CASE("some rows of items are dropped as they are among all") {
  const DropoutScope scope(5, {11, 12});
  const std::vector<std::vector<int64_t>> places = {{1, 4}, {0, 2, 3}};
  const auto factors = [](const RowKeys& keys) {
    return DropoutFactors(keys, 1, kColumns, kShare, at::kCPU);
  };
  const at::Tensor all = factors(RowKeysOf({5, 4}));
  REQUIRE(at::equal(factors(RowKeysAt(places)),
                    all.index_select(0, at::tensor({1, 4, 5, 7, 8}, at::kLong))));
  const at::Tensor paid = factors(AttentionKeysOf(2, 2, 5)).view({2, 2, 5, kColumns});
  const at::Tensor some = factors(AttentionKeysAt(places, 2)).view({2, 2, 3, kColumns});
  for (int64_t item = 0; item < 2; ++item) {
    const auto count = static_cast<int64_t>(places[item].size());
    REQUIRE(at::equal(some[item].narrow(1, 0, count),
                      paid[item].index_select(1, at::tensor(places[item], at::kLong))));
  }
}

TEST_CASE("seeds, keys, layers, rows and columns each draw for themselves") {
  // Of two independent draws 0.75^2 + 0.25^2 = 0.625 are equal.
  const std::vector<int64_t> lengths(200, 10);
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < lengths.size(); ++i) keys.push_back(i);
  const at::Tensor of = FactorsOf(5, keys, lengths);
  REQUIRE(ShareOfEqual(of, FactorsOf(6, keys, lengths)) == Approx(0.625).margin(0.01));
  REQUIRE(ShareOfEqual(of, FactorsOf(5, keys, lengths, 2)) == Approx(0.625).margin(0.01));
  const auto neighbours = [&](int64_t dim, int64_t by) {
    const int64_t count = of.size(dim) - by;
    return ShareOfEqual(of.narrow(dim, 0, count), of.narrow(dim, by, count));
  };
  for (const int64_t by : {1, 10}) REQUIRE(neighbours(0, by) == Approx(0.625).margin(0.01));
  for (const int64_t by : {1, 8, 16}) REQUIRE(neighbours(1, by) == Approx(0.625).margin(0.01));
  // So many are kept, in all columns, and they are scaled.
  const at::Tensor kept = (of != 0).to(at::kDouble);
  REQUIRE(kept.mean().item<double>() == Approx(1 - kShare).margin(0.005));
  REQUIRE((kept.mean(0) - (1 - kShare)).abs().max().item<double>() < 0.05);
  REQUIRE((of.masked_select(of != 0) - 1 / (1 - kShare)).abs().max().item<double>() < 1e-6);
  // As many in most rows as in rows of independent draws: their variance is a binomial's.
  const double expected = kColumns * kShare * (1 - kShare);
  REQUIRE(kept.sum(1).var().item<double>() == Approx(expected).epsilon(0.1));
}

TEST_CASE("other devices draw what CPUs do") {
  const DropoutScope scope(7, {1, 2, 3});
  const RowKeys rows = RowKeysOf({5, 1, 8});
  for (const double share : {0.1, 0.5, 0.9}) {
    REQUIRE(at::equal(DropoutFactors(rows, 3, kColumns, share, at::kCPU),
                      DropoutFactorsByTensors(rows, 3, kColumns, share, at::kCPU)));
  }
}

TEST_CASE("gradients come back through what is kept") {
  RowDropout layer = Prepared(kShare);
  const at::Tensor x = at::ones({1, 2, 3, kColumns}).set_requires_grad(true);
  const DropoutScope scope(7, {1, 2});
  const at::Tensor y = layer(x, RowKeysOf({3, 3}));
  y.sum().backward();
  REQUIRE((y == 0).any().item<bool>());
  REQUIRE(at::equal(x.grad(), y.detach()));
}

TEST_CASE("in bfloat16 numbers are scaled by what float32 says") {
  RowDropout layer = Prepared(0.1);
  const DropoutScope scope(7, {1});
  const at::Tensor x = at::full({4, kColumns}, 1.5, at::kBFloat16);
  const at::Tensor y = layer(x, RowKeysOf({4}));
  REQUIRE(y.scalar_type() == at::kBFloat16);
  REQUIRE(at::equal(y, layer(x.to(at::kFloat), RowKeysOf({4})).to(at::kBFloat16)));
  REQUIRE((y == 0).any().item<bool>());
}

TEST_CASE("a row an item is what an item of one row is") {
  RowDropout layer = Prepared(kShare);
  const DropoutScope scope(7, {1, 2, 3});
  const at::Tensor x = at::ones({3, kColumns});
  REQUIRE(at::equal(layer->OfItems(x), layer(x, RowKeysOf({1, 1, 1}))));
}

TEST_CASE("nothing is dropped in evaluation, nor of a share of 0") {
  RowDropout layer = Prepared(kShare);
  layer->eval();
  const at::Tensor x = at::ones({2, kColumns});
  REQUIRE(at::equal(layer(x, RowKeys()), x));
  REQUIRE(at::equal(layer->OfItems(x), x));
  REQUIRE(at::equal(Prepared(0)(x, RowKeys()), x));
}

TEST_CASE("what is to be dropped where nobody says how is an error") {
  const at::Tensor x = at::ones({2, kColumns});
  REQUIRE_THROWS_WITH(RowKeysOf({2}), Catch::Contains("outside of a DropoutScope"));
  const DropoutScope scope(7, {1});
  RowDropout unprepared(kShare);
  REQUIRE_THROWS_WITH(unprepared(x, RowKeysOf({2})), Catch::Contains("before PrepareDropout"));
  REQUIRE_THROWS_WITH(Prepared(kShare)(x, RowKeysOf({3})), Catch::Contains("keys of 3 rows"));
  REQUIRE_THROWS_WITH(RowKeysOf({1, 1}), Catch::Contains("2 items in a dropout scope of 1"));
}

TEST_CASE("without keys each call draws anew, and the same again with the same seed") {
  const auto two_calls = [](uint64_t seed) {
    const DropoutScope scope(seed);
    std::vector<at::Tensor> calls;
    for (int i = 0; i < 2; ++i) {
      calls.push_back(DropoutFactors(RowKeysOf({3}), 1, kColumns, kShare, at::kCPU));
    }
    return calls;
  };
  const auto once = two_calls(7), again = two_calls(7), other = two_calls(8);
  REQUIRE(at::equal(at::cat(once), at::cat(again)));
  REQUIRE_FALSE(at::equal(once[0], once[1]));
  REQUIRE_FALSE(at::equal(once[0], other[0]));
}

TEST_CASE("a scope within another stands for it, and ends with it") {
  const DropoutScope outer(7, {1});
  const std::vector<uint64_t> before = RowKeysOf({2}).keys();
  {
    const DropoutScope inner(8, {1});
    REQUIRE(RowKeysOf({2}).keys() != before);
  }
  REQUIRE(RowKeysOf({2}).keys() == before);
}

TEST_CASE("layers of a module are told apart by their names") {
  torch::nn::Sequential module(RowDropout(0.1), RowDropout(0.1));
  PrepareDropout(kShare, module.get());
  const DropoutScope scope(7, {1});
  const RowKeys rows = RowKeysOf({20});
  const at::Tensor x = at::ones({20, kColumns});
  const at::Tensor first = module->at<RowDropoutImpl>(0).forward(x, rows);
  REQUIRE_FALSE(at::equal(first, module->at<RowDropoutImpl>(1).forward(x, rows)));
  // The share is the one that was asked for.
  REQUIRE((first == 0).to(at::kDouble).mean().item<double>() == Approx(kShare).margin(0.05));
}

}  // namespace
}  // namespace sightline
