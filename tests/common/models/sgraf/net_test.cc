#include "common/models/sgraf/net.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/types.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/models/init_model.h"
#include "common/models/network/weights.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

void RequireClose(const torch::Tensor& a, const torch::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  REQUIRE((a - b).abs().max().item<float>() < 1e-5);
}

TEST_CASE("a channel norm learns and serves as LibTorch's batch norm does") {
  torch::manual_seed(1);
  constexpr int64_t kChannels = 5;
  ChannelNorm norm(kChannels);
  torch::nn::BatchNorm1d reference(kChannels);
  {
    torch::NoGradGuard no_grad;
    for (const char* name : {"weight", "bias"}) {
      const torch::Tensor value = torch::rand({kChannels}) + 0.5;
      norm->named_parameters()[name].copy_(value);
      reference->named_parameters()[name].copy_(value);
    }
  }
  const auto require_same = [&] {
    const torch::Tensor x = torch::randn({7, kChannels, 3}) * 2 + 1;
    torch::Tensor ours = x.clone().set_requires_grad(true);
    torch::Tensor theirs = x.clone().set_requires_grad(true);
    // Channels in the middle, as theirs must be, and at the end.
    RequireClose(norm->forward(ours.transpose(1, 2), 2).transpose(1, 2), reference(theirs));
    const torch::Tensor weights = torch::randn(x.sizes());
    (norm->forward(ours, 1) * weights).sum().backward();
    (reference(theirs) * weights).sum().backward();
    RequireClose(ours.grad(), theirs.grad());
    RequireClose(norm->named_buffers()["running_mean"], reference->running_mean);
    RequireClose(norm->named_buffers()["running_var"], reference->running_var);
  };
  for (int step = 0; step < 3; ++step) require_same();
  const torch::Tensor mean = norm->named_buffers()["running_mean"].clone();
  REQUIRE(mean.abs().max().item<float>() > 0.1);
  norm->eval();
  reference->eval();
  require_same();
  REQUIRE(torch::equal(norm->named_buffers()["running_mean"], mean));
}

TEST_CASE("a single number a channel moves no running statistics") {
  ChannelNorm norm(2);
  norm->forward(torch::tensor({{3.0F, 4.0F}}), 1);
  RequireClose(norm->named_buffers()["running_var"], torch::ones({2}));
  RequireClose(norm->named_buffers()["running_mean"], torch::zeros({2}));
}

// The largest number of a parameter, whatever its sign, is within this bound, and not far from it.
void RequireWithin(double bound, const std::string& name, const torch::Tensor& parameter) {
  INFO(name);
  const double largest = parameter.abs().max().item<double>();
  REQUIRE(largest <= bound);
  REQUIRE(largest > 0.5 * bound);
}

TEST_CASE("random weights are as wide as the papers' code begins with, and the seed's") {
  for (const TinyFamily& family : sgraf::TinyOnes()) {
    INFO(family.name);
    SgrafNetImpl net(family.manifest), same(family.manifest), other(family.manifest);
    REQUIRE(RandomizeSgraf(3, &net).ok());
    REQUIRE(RandomizeSgraf(3, &same).ok());
    REQUIRE(RandomizeSgraf(4, &other).ok());
    const double state = std::sqrt(static_cast<double>(family.manifest.sgraf().embedding_size()));
    for (const auto& item : net.named_parameters()) {
      const std::string& name = item.key();
      const torch::Tensor& parameter = item.value();
      INFO(name);
      REQUIRE(torch::equal(parameter, same.named_parameters()[name]));
      if (name == "txt_enc.embed.weight") {
        if (parameter.numel() > 0) RequireWithin(0.1, name, parameter);
      } else if (absl::StartsWith(name, "txt_enc.cap_rnn.")) {
        RequireWithin(1 / state, name, parameter);
      } else if (parameter.dim() == 2) {
        const auto widths = static_cast<double>(parameter.size(0) + parameter.size(1));
        RequireWithin(std::sqrt(6 / widths), name, parameter);
        REQUIRE_FALSE(torch::equal(parameter, other.named_parameters()[name]));
      } else if (absl::EndsWith(name, ".bias")) {
        REQUIRE(parameter.eq(0).all().item<bool>());
      } else if (!absl::EndsWith(name, "centroids")) {
        REQUIRE(parameter.eq(1).all().item<bool>());
      }
    }
  }
}

TEST_CASE("a bundle that is made from nothing has them") {
  const TempDir store;
  const TinyFamily family = sgraf::TinyOnes()[0];
  InitOptions options;
  options.seed = 3;
  options.dtype = WeightDtype::kFloat32;
  const auto bundle = InitModel(store.path(), family.manifest, family.vocabulary, options);
  INFO(bundle.status().ToString());
  REQUIRE(bundle.ok());
  SgrafNetImpl net(bundle->manifest);
  REQUIRE(RandomizeSgraf(3, &net).ok());
  REQUIRE(*ReadFile(bundle->FilePath(kWeightsFile)) ==
          *SerializeWeights(net, WeightDtype::kFloat32));
}

TEST_CASE("what stands for items together is what stands for each alone, once learnt") {
  for (const TinyFamily& family : sgraf::TinyOnes()) {
    INFO(family.name);
    torch::manual_seed(2);
    const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
    REQUIRE(net->similarity().has_global_node() != family.manifest.sgraf().without_global_node());
    if (!net->similarity().has_global_node()) continue;
    net->eval();
    const torch::NoGradGuard no_grad;
    const int64_t width = family.manifest.sgraf().embedding_size();
    const std::vector<int64_t> lengths = {3, 3, 1, 4};
    const torch::Tensor words = torch::randn({11, width});
    const torch::Tensor together = net->similarity().TextGlobals(words, lengths);
    int64_t begin = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const torch::Tensor own = words.narrow(0, begin, lengths[i]);
      RequireClose(net->similarity().TextGlobals(own, {lengths[i]})[0], together[i]);
      begin += lengths[i];
    }
  }
}

TEST_CASE("an image's statistics are the batch's while they are learnt") {
  const TinyFamily family = sgraf::TinyOnes()[0];
  const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
  const bundle::v1::SgrafSpec& spec = family.manifest.sgraf();
  const auto globals = [&](const torch::Tensor& regions, int64_t count) {
    return net->similarity().ImageGlobals(regions,
                                          std::vector<int64_t>(count, spec.region_count()));
  };
  for (const auto& module : net->modules()) {
    if (auto* dropout = module->as<RowDropoutImpl>()) dropout->set_share(0);
  }
  const torch::Tensor regions = torch::randn({3 * spec.region_count(), spec.embedding_size()});
  const torch::Tensor all = globals(regions, 3);
  const torch::Tensor two = globals(regions.narrow(0, 0, 2 * spec.region_count()), 2);
  REQUIRE((all.narrow(0, 0, 2) - two).abs().max().item<float>() > 1e-4);
}

// What SgrafNetImpl::Words is to be: each text by itself through LibTorch's layers.
torch::Tensor WordsOneByOne(const SgrafNetImpl& net, const torch::Tensor& ids,
                            const std::vector<int64_t>& lengths) {
  const auto weights = net.named_parameters();
  const torch::Tensor table = weights["txt_enc.embed.weight"];
  std::vector<torch::Tensor> gru;
  for (const char* direction : {"", "_reverse"}) {
    for (const char* kind : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
      gru.push_back(weights[absl::StrCat("txt_enc.cap_rnn.", kind, direction)]);
    }
  }
  const int64_t width = gru[1].size(1);
  std::vector<torch::Tensor> texts;
  for (const torch::Tensor& own : ids.split_with_sizes(lengths)) {
    const torch::Tensor read = std::get<0>(
        torch::gru(table.index_select(0, own).unsqueeze(0), torch::zeros({2, 1, width}), gru,
                   /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0, /*train=*/false,
                   /*bidirectional=*/true, /*batch_first=*/true));
    const torch::Tensor mean = read[0].view({-1, 2, width}).mean(1);
    texts.push_back(mean / (mean.norm(2, {1}, /*keepdim=*/true) + 1e-8));
  }
  return torch::cat(texts);
}

TEST_CASE("texts of any lengths are read together as each by itself, and teach as each") {
  TinyFamily family = sgraf::TinyOnes()[0];
  family.manifest.mutable_sgraf()->set_vocabulary_size(6);
  torch::manual_seed(3);
  const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
  net->eval();
  const torch::Tensor ids = torch::tensor({3, 4, 5, 4, 3, 2, 1, 5, 5, 2}, torch::kLong);
  const std::vector<int64_t> lengths = {2, 4, 1, 3};
  const torch::Tensor weights = torch::randn({10, family.manifest.sgraf().embedding_size()});
  const auto gradients = [&](const torch::Tensor& words) {
    net->zero_grad();
    (words * weights).sum().backward();
    std::vector<torch::Tensor> found;
    for (const auto& item : net->named_parameters()) {
      if (absl::StartsWith(item.key(), "txt_enc.")) found.push_back(item->grad().clone());
    }
    return found;
  };
  RequireClose(net->Words(ids, lengths), WordsOneByOne(*net, ids, lengths));
  const auto ours = gradients(net->Words(ids, lengths));
  const auto theirs = gradients(WordsOneByOne(*net, ids, lengths));
  REQUIRE(ours.size() == 9);
  for (size_t i = 0; i < ours.size(); ++i) RequireClose(ours[i], theirs[i]);
}

TEST_CASE("what is dropped of an item is the same beside others") {
  for (TinyFamily family : sgraf::TinyOnes()) {
    INFO(family.name);
    bundle::v1::SgrafSpec& spec = *family.manifest.mutable_sgraf();
    spec.set_vocabulary_size(6);
    const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
    PrepareDropout(-1, net.get());
    const torch::Tensor ids = torch::tensor({3, 4, 5, 4, 3, 2}, torch::kLong);
    const auto words = [&](uint64_t seed) {
      const DropoutScope scope(seed, {1, 2, 3});
      return net->Words(ids, {1, 3, 2});
    };
    REQUIRE((words(5) - words(6)).abs().max().item<float>() > 1e-4);
    {
      const DropoutScope scope(5, {3, 1});
      RequireClose(net->Words(torch::tensor({3, 2, 3}, torch::kLong), {2, 1}),
                   torch::cat({words(5).narrow(0, 4, 2), words(5).narrow(0, 0, 1)}));
    }
    if (!net->similarity().has_global_node() || spec.has_emde()) continue;
    const torch::Tensor rows = torch::randn({11, spec.embedding_size()});
    const auto globals = [&](uint64_t seed) {
      const DropoutScope scope(seed, {1, 2, 3, 4});
      return net->similarity().TextGlobals(rows, {3, 2, 2, 4});
    };
    REQUIRE((globals(5) - globals(6)).abs().max().item<float>() > 1e-4);
    const DropoutScope last(5, {3, 4});
    RequireClose(net->similarity().TextGlobals(rows.narrow(0, 5, 6), {2, 4}),
                 globals(5).narrow(0, 2, 2));
  }
}

TEST_CASE("pairs of one text are scored, and teach, as pairs of equal texts do") {
  for (const TinyFamily& family : sgraf::TinyOnes()) {
    INFO(family.name);
    torch::manual_seed(4);
    const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
    const bundle::v1::SgrafSpec& spec = family.manifest.sgraf();
    constexpr int64_t kImages = 3, kWords = 4;
    const int64_t whole = spec.has_emde() ? spec.emde().partition_count() * spec.emde().cell_count()
                                          : spec.embedding_size();
    const auto leaf = [](at::IntArrayRef shape) { return torch::randn(shape).requires_grad_(); };
    const torch::Tensor regions = leaf({kImages, spec.region_count(), spec.embedding_size()});
    const torch::Tensor images = leaf({kImages, whole}), text = leaf({1, whole});
    const torch::Tensor words = leaf({1, kWords, spec.embedding_size()});
    std::vector<torch::Tensor> learnt = {regions, words};
    if (net->similarity().has_global_node()) {
      learnt.insert(learnt.end(), {images, text});
    }
    const auto score = [&](int64_t copies) {
      return net->similarity().Score(regions, images, words.repeat({copies, 1, 1}),
                                     text.repeat({copies, 1}));
    };
    const auto gradients = [&](const torch::Tensor& scores) {
      return torch::autograd::grad({(scores * torch::tensor({{1.0}, {-2.0}, {3.0}})).sum()},
                                   learnt);
    };
    const torch::Tensor once = score(1), copied = score(kImages);
    RequireClose(once, copied);
    const std::vector<torch::Tensor> of_once = gradients(once), of_copied = gradients(copied);
    for (size_t i = 0; i < learnt.size(); ++i) {
      REQUIRE(of_copied[i].abs().max().item<float>() > 0);
      RequireClose(of_once[i], of_copied[i]);
    }
  }
}

using Vec = torch::Tensor;

// The formulas of net.h in plain loops, a node at a time.
class Referee {
 public:
  Referee(const SgrafNetImpl& net, const bundle::v1::SgrafSpec& spec)
      : weights_(net.named_parameters()), spec_(spec) {}

  // Of regions v and words t.
  Vec Score(const Vec& v, const Vec& t) const {
    std::vector<Vec> nodes = Nodes(v, t);
    const bool saf = spec_.module() == bundle::v1::SgrafSpec::SAF;
    return torch::sigmoid(Linear("sim_eval_w", saf ? Filtered(nodes) : Reasoned(nodes)));
  }

 private:
  Vec Linear(const std::string& name, const Vec& x) const {
    return torch::matmul(weights_["sim_enc." + name + ".weight"], x) +
           weights_["sim_enc." + name + ".bias"];
  }

  static Vec L2n(const Vec& x) { return x / (x.norm() + 1e-8); }

  // Mean by weights exp(logits).
  static Vec Mean(const std::vector<Vec>& rows, const std::vector<Vec>& logits) {
    Vec sum = torch::zeros_like(rows[0]), total = torch::zeros({1});
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += logits[i].exp() * rows[i];
      total += logits[i].exp();
    }
    return sum / total;
  }

  std::vector<Vec> Nodes(const Vec& v, const Vec& t) const {
    std::vector<Vec> regions, scores, nodes;
    for (int64_t k = 0; k < v.size(0); ++k) {
      regions.push_back(v[k]);
      scores.push_back(9 * L2n(torch::leaky_relu(torch::matmul(t, v[k]), 0.1)));
    }
    for (int64_t j = 0; j < t.size(0); ++j) {
      std::vector<Vec> of_word;
      for (const Vec& score : scores) of_word.push_back(score[j]);
      nodes.push_back(L2n(Linear("sim_tranloc_w", (L2n(Mean(regions, of_word)) - t[j]).pow(2))));
    }
    return nodes;
  }

  Vec Filtered(const std::vector<Vec>& nodes) const {
    Vec sum = torch::zeros_like(nodes[0]), total = torch::zeros({1});
    for (const Vec& node : nodes) {
      // A fresh batch norm scales by its epsilon alone.
      const Vec raw = Linear("SAF_module.attn_sim_w", node)[0] / std::sqrt(1 + 1e-5);
      sum += torch::sigmoid(raw) * node;
      total += torch::sigmoid(raw);
    }
    return L2n(sum / total);
  }

  Vec Reasoned(std::vector<Vec> nodes) const {
    for (int i = 0; i < spec_.step_count(); ++i) {
      const std::string step = "SGR_module." + std::to_string(i);
      std::vector<Vec> next;
      for (const Vec& node : nodes) {
        std::vector<Vec> edges;
        for (const Vec& other : nodes) {
          edges.push_back(torch::dot(Linear(step + ".graph_query_w", node),
                                     Linear(step + ".graph_key_w", other)));
        }
        next.push_back(torch::relu(Linear(step + ".sim_graph_w", Mean(nodes, edges))));
      }
      nodes = std::move(next);
    }
    return nodes[0];
  }

  const torch::OrderedDict<std::string, Vec> weights_;
  const bundle::v1::SgrafSpec spec_;
};

TEST_CASE("without a global node the nodes are those of the words") {
  for (const auto module : {bundle::v1::SgrafSpec::SAF, bundle::v1::SgrafSpec::SGR}) {
    torch::manual_seed(3);
    const TinyFamily family = TinyWithoutGlobalNode(module);
    INFO(family.name);
    const bundle::v1::SgrafSpec& spec = family.manifest.sgraf();
    const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
    net->eval();
    const torch::NoGradGuard no_grad;
    const Vec v = torch::rand({spec.region_count(), spec.embedding_size()}) - 0.3;
    const Vec t = torch::rand({4, spec.embedding_size()}) - 0.3;
    const Vec score = net->similarity().Score(v.unsqueeze(0), {}, t.unsqueeze(0), {})[0];
    RequireClose(score, Referee(*net, spec).Score(v, t));
    // It is no constant.
    REQUIRE((score - net->similarity().Score(v.unsqueeze(0), {}, -t.unsqueeze(0), {})[0])
                .abs()
                .item<float>() > 1e-5);
  }
}

}  // namespace
}  // namespace sightline
