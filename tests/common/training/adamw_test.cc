#include "common/training/adamw.h"

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Parameters {
  at::Tensor weight, bias, table;

  explicit Parameters(uint64_t seed) {
    at::manual_seed(seed);
    weight = at::randn({3, 5}).set_requires_grad(true);
    bias = at::randn({7}).set_requires_grad(true);
    table = at::randn({4, 2}).set_requires_grad(true);
  }
  std::vector<NamedParameter> named() const {
    return {{"dense.weight", weight}, {"dense.bias", bias}, {"embeddings.words", table}};
  }
  // A loss whose gradient depends on step and values, long enough to be clipped.
  at::Tensor Loss(int step) const {
    return ((weight * step).sin().sum() + bias.pow(2).sum() + (table * weight[0][0]).sum()) * 3;
  }
};

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST_CASE("steps are those of torch::optim::AdamW, with clipping before and decay by kind") {
  AdamWOptions options;
  options.weight_decay = 0.3;
  options.clip_norm = 2;
  const Parameters ours(1), theirs(1);
  AdamW adamw({ours.named()}, options, /*average=*/false);
  const auto their_options = [&](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(0.1)
                                                            .betas({options.beta1, options.beta2})
                                                            .eps(options.epsilon)
                                                            .weight_decay(decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{theirs.weight}, their_options(0.3));
  groups.emplace_back(std::vector<at::Tensor>{theirs.bias, theirs.table}, their_options(0));
  torch::optim::AdamW reference(groups, torch::optim::AdamWOptions(0.1));
  for (int step = 1; step <= 8; ++step) {
    const double rate = 0.1 / step;
    adamw.ZeroGradients();
    ours.Loss(step).backward();
    const double norm = adamw.Step({0}, rate).item<double>();

    reference.zero_grad();
    theirs.Loss(step).backward();
    double squares = 0;
    for (const at::Tensor& x : {theirs.weight, theirs.bias, theirs.table}) {
      squares += x.grad().pow(2).sum().item<double>();
    }
    REQUIRE(norm == Approx(std::sqrt(squares)));
    for (const at::Tensor& x : {theirs.weight, theirs.bias, theirs.table}) {
      at::Tensor gradient = x.grad();
      gradient.mul_(std::min(1.0, 2 / std::sqrt(squares)));
    }
    for (auto& group : reference.param_groups()) {
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
    }
    reference.step();
    REQUIRE(Distance(ours.weight, theirs.weight) < 1e-5);
    REQUIRE(Distance(ours.bias, theirs.bias) < 1e-5);
    REQUIRE(Distance(ours.table, theirs.table) < 1e-5);
  }
}

TEST_CASE("more numbers than a core takes at a time are stepped alike, by any number of threads") {
  constexpr int64_t kLength = 50003, kFew = 1000;
  at::manual_seed(7);
  const at::Tensor start = at::randn({kLength}), slope = at::randn({kLength});
  AdamWOptions options;
  options.decays = DecayRule::kAll;
  options.clip_norm = 0;
  const auto stepped = [&](int64_t begin, int64_t count, int threads) {
    const at::Tensor weight = start.narrow(0, begin, count).clone().set_requires_grad(true);
    AdamW adamw({{{"weight", weight}}}, options, /*average=*/false);
    at::set_num_threads(threads);
    for (int step = 0; step < 3; ++step) {
      adamw.ZeroGradients();
      (weight.pow(2) * slope.narrow(0, begin, count)).sum().backward();
      adamw.Step({0}, 0.1);
    }
    return weight.detach();
  };
  const int threads = at::get_num_threads();
  const at::Tensor alone = stepped(0, kLength, 1), together = stepped(0, kLength, 3);
  std::vector<at::Tensor> parts;  // of so few numbers that each is stepped as a whole
  for (int64_t begin = 0; begin < kLength; begin += kFew) {
    parts.push_back(stepped(begin, std::min(kFew, kLength - begin), 1));
  }
  at::set_num_threads(threads);
  REQUIRE(at::equal(alone, together));
  REQUIRE(Distance(alone, at::cat(parts)) < 1e-6);
  REQUIRE(((start - alone).abs() > 0.01).to(at::kDouble).mean().item<double>() > 0.99);
}

TEST_CASE("weight decay is for matrices and kernels only, unless another rule is chosen") {
  const at::Tensor matrix = at::zeros({2, 2}), vector = at::zeros({2}), scalar = at::zeros({});
  // By matrices, by name, all.
  const auto decays = [](absl::string_view name, const at::Tensor& value) {
    std::vector<bool> answers;
    for (const DecayRule rule : {DecayRule::kMatrices, DecayRule::kByName, DecayRule::kAll}) {
      answers.push_back(Decays(rule, name, value));
    }
    return answers;
  };
  using Answers = std::vector<bool>;
  REQUIRE(decays("encoder.dense.weight", matrix) == Answers{true, true, true});
  REQUIRE(decays("grid.stage.0.conv.weight", at::zeros({2, 2, 3, 3})) == Answers{true, true, true});
  REQUIRE(decays("bert.img_embedding.weight", matrix) == Answers{true, true, true});
  REQUIRE(decays("encoder.dense.bias", vector) == Answers{false, false, true});
  REQUIRE(decays("txt_enc.cap_rnn.bias_ih_l0", vector) == Answers{false, false, true});
  REQUIRE(decays("output.LayerNorm.weight", vector) == Answers{false, false, true});
  REQUIRE(decays("output.LayerNorm.bias", vector) == Answers{false, false, true});
  REQUIRE(decays("img_embeddings.img_layer_norm.weight", vector) == Answers{false, true, true});
  REQUIRE(decays("bert.embeddings.word_embeddings.weight", matrix) == Answers{false, true, true});
  REQUIRE(decays("log_scale", scalar) == Answers{false, false, false});
}

TEST_CASE("the rule that is chosen decides which weights shrink") {
  for (const DecayRule rule : {DecayRule::kMatrices, DecayRule::kByName, DecayRule::kAll}) {
    AdamWOptions options;
    options.weight_decay = 0.5;
    options.decays = rule;
    const Parameters ours(1), before(1);
    AdamW adamw({ours.named()}, options, /*average=*/false);
    adamw.ZeroGradients();
    adamw.Step({0}, 0.1);
    const auto left = [](bool decays) { return decays ? 0.95 : 1.0; };
    REQUIRE(Distance(ours.weight, before.weight * left(true)) < 1e-6);
    REQUIRE(Distance(ours.table, before.table * left(rule != DecayRule::kMatrices)) < 1e-6);
    REQUIRE(Distance(ours.bias, before.bias * left(rule == DecayRule::kAll)) < 1e-6);
  }
}

TEST_CASE("a group that does not take part stays as it is, momentum and all") {
  const Parameters a(1), b(2);
  AdamW adamw({a.named(), b.named()}, AdamWOptions(), false);
  adamw.ZeroGradients();
  (a.Loss(1) + b.Loss(1)).backward();
  adamw.Step({0, 1}, 0.1);
  const at::Tensor before = b.weight.detach().clone();
  for (int step = 2; step < 5; ++step) {
    adamw.ZeroGradients();
    a.Loss(step).backward();
    adamw.Step({0}, 0.1);
  }
  REQUIRE(at::equal(b.weight, before));
  REQUIRE(adamw.step_counts() == std::vector<int64_t>{4, 1});
}

TEST_CASE("the average follows, takes the weights' place and gives it back") {
  const Parameters a(1);
  AdamW adamw({a.named()}, AdamWOptions(), true);
  at::Tensor expected = a.weight.detach().clone();
  for (int step = 1; step < 4; ++step) {
    adamw.ZeroGradients();
    a.Loss(step).backward();
    adamw.Step({0}, 0.1);
    adamw.UpdateAverage(0.75);
    expected = 0.75 * expected + 0.25 * a.weight.detach();
  }
  const at::Tensor weights = a.weight.detach().clone();
  adamw.SwapAverage();
  REQUIRE(Distance(a.weight, expected) < 1e-6);
  adamw.SwapAverage();
  REQUIRE(at::equal(a.weight, weights));
  adamw.AdoptAverage();
  REQUIRE(Distance(a.weight, expected) < 1e-6);
}

TEST_CASE("state that is written into another optimiser continues there") {
  const Parameters a(1), b(9);
  AdamW first({a.named()}, AdamWOptions(), true), second({b.named()}, AdamWOptions(), true);
  const auto step = [](const Parameters& parameters, AdamW* adamw, int number) {
    adamw->ZeroGradients();
    parameters.Loss(number).backward();
    adamw->Step({0}, 0.1);
    adamw->UpdateAverage(0.5);
  };
  step(a, &first, 1);
  step(a, &first, 2);
  const auto state = first.State();
  REQUIRE(state.size() == 12);
  for (const auto& [name, tensor] : second.State()) at::Tensor(tensor).copy_(state.at(name));
  second.set_step_counts(first.step_counts());
  step(a, &first, 3);
  step(b, &second, 3);
  REQUIRE(at::equal(a.weight, b.weight));
  REQUIRE(at::equal(a.table, b.table));
  REQUIRE(
      at::equal(first.State().at("average/dense.bias"), second.State().at("average/dense.bias")));
}

}  // namespace
}  // namespace sightline
