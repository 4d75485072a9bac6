#include "common/models/sgraf/net.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/utils/rnn.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/network/batched_product.h"
#include "common/models/network/level.h"
#include "common/models/network/transformer.h"
#include "common/models/network/weights.h"

namespace sightline {
namespace {

// torch's own default, which the checkpoints were trained with.
constexpr double kNormEpsilon = 1e-5;
constexpr double kMomentum = 0.1;
constexpr double kDropout = 0.4;
constexpr double kLengthEpsilon = 1e-8;
// Sharpness of the attention over regions.
constexpr double kAttentionScale = 9;
constexpr double kLeak = 0.1;

torch::Tensor L2n(const torch::Tensor& x, int64_t dim) {
  return x / (x.norm(2, {dim}, /*keepdim=*/true) + kLengthEpsilon);
}

torch::Tensor L1n(const torch::Tensor& x, int64_t dim) {
  return x / (x.abs().sum({dim}, /*keepdim=*/true) + kLengthEpsilon);
}

// Rows of items of these lengths, all of the scope's, one after another.
torch::Tensor Dropped(const torch::Tensor& rows, const std::vector<int64_t>& lengths,
                      RowDropout* dropout) {
  return (*dropout)->drops() ? (*dropout)(rows, RowKeysOf(lengths)) : rows;
}

// How a recurrent layer reads sequences of unequal lengths in one go, without padding: the first
// row of each, then the second row of each that has one, and so on, the longest sequence first.
struct StepOrder {
  torch::Tensor rows;         // by step: which row of the sequences, one after another
  torch::Tensor places;       // by row: which step's
  torch::Tensor batch_sizes;  // how many sequences have a row at each step; on the CPU
};

StepOrder StepOrderOf(const std::vector<int64_t>& lengths, torch::Device device) {
  TORCH_CHECK(!lengths.empty(), "there are no sequences to read");
  std::vector<std::pair<int64_t, int64_t>> sequences;  // length, first row
  int64_t count = 0;
  for (const int64_t length : lengths) {
    sequences.emplace_back(length, count);
    count += length;
  }
  std::stable_sort(sequences.begin(), sequences.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<int64_t> rows, places(count), batch_sizes;
  for (int64_t step = 0; step < sequences[0].first; ++step) {
    const size_t before = rows.size();
    for (const auto& [length, first] : sequences) {
      if (length <= step) break;
      places[first + step] = static_cast<int64_t>(rows.size());
      rows.push_back(first + step);
    }
    batch_sizes.push_back(static_cast<int64_t>(rows.size() - before));
  }
  const auto tensor = [](const std::vector<int64_t>& numbers) {
    return torch::tensor(numbers, torch::kLong);
  };
  return {tensor(rows).to(device), tensor(places).to(device), tensor(batch_sizes)};
}

// Within which a parameter is drawn evenly at first; 0 for one that is not.
double InitialBound(const std::string& name, const torch::Tensor& parameter) {
  constexpr double kWordBound = 0.1;
  if (absl::StartsWith(name, "txt_enc.embed.")) return kWordBound;
  // Its weights and its biases have three rows for each number of its state.
  if (absl::StartsWith(name, "txt_enc.cap_rnn.")) {
    return 1 / std::sqrt(static_cast<double>(parameter.size(0)) / 3);
  }
  if (parameter.dim() != 2) return 0;
  return std::sqrt(6.0 / static_cast<double>(parameter.size(0) + parameter.size(1)));
}

// The weighted sum of a side's rows: l2n(sum a_k x_k), a = softmax(w (tanh(W x_k) * tanh(W' m)))
// with the mean row m.  Of images both inner rows pass a batch norm, the first with the
// region's place as its channel.
class AttentionGlobal : public SgrafGlobalImpl {
 public:
  // `rows`: regions of an image; 0 for texts.
  AttentionGlobal(int64_t width, int64_t rows) {
    auto local = register_module("embedding_local", std::make_shared<Level>());
    auto global = register_module("embedding_global", std::make_shared<Level>());
    auto common = register_module("embedding_common", std::make_shared<Level>());
    local_ = local->Add("0", torch::nn::Linear(width, width));
    global_ = global->Add("0", torch::nn::Linear(width, width));
    common_ = common->Add("0", torch::nn::Linear(width, 1));
    local_dropout_ = register_module("local_dropout", RowDropout(kDropout));
    global_dropout_ = register_module("global_dropout", RowDropout(kDropout));
    if (rows == 0) return;
    local_norm_ = local->Add("1", ChannelNorm(rows));
    global_norm_ = global->Add("1", ChannelNorm(width));
  }

  torch::Tensor forward(const torch::Tensor& rows, const std::vector<int64_t>& lengths) override {
    torch::Tensor local = local_(rows), global = global_(MeanOfEach(rows, lengths));
    if (local_norm_) {
      const auto images = static_cast<int64_t>(lengths.size());
      local = local_norm_->forward(local.view({images, -1, local.size(1)}), 1).flatten(0, 1);
      global = global_norm_->forward(global, 1);
    }
    local = Dropped(torch::tanh(local), lengths, &local_dropout_);
    global = global_dropout_->OfItems(torch::tanh(global));
    std::vector<torch::Tensor> wholes;
    for (const SequenceRun& run : RunsOf(lengths)) {
      const torch::Tensor seen =
          run.Of(local) * global.narrow(0, run.first, run.count).unsqueeze(1);
      wholes.push_back((torch::softmax(common_(seen), 1) * run.Of(rows)).sum(1));
    }
    return L2n(torch::cat(wholes), -1);
  }

 private:
  torch::nn::Linear local_{nullptr}, global_{nullptr}, common_{nullptr};
  ChannelNorm local_norm_{nullptr}, global_norm_{nullptr};
  RowDropout local_dropout_{nullptr}, global_dropout_{nullptr};
};

// T-EMDE's coder, at keys coder.{l1,bn1,centroids,temp}.  z = BN(W x) as N x K x D; each row
// votes softmax_k(-temp |z_nk - c_nk|^2) in each partition n; the votes of all rows are summed
// and each partition is scaled by l2n: N K numbers.
class EmdeGlobal : public SgrafGlobalImpl {
 public:
  EmdeGlobal(int64_t width, const bundle::v1::EmdeSpec& spec)
      : shape_{spec.partition_count(), spec.cell_count(), spec.cell_size()} {
    const int64_t size = int64_t{spec.partition_count()} * spec.cell_count() * spec.cell_size();
    coder_ = register_module("coder", std::make_shared<Coder>(width, size));
  }

  torch::Tensor forward(const torch::Tensor& rows, const std::vector<int64_t>& lengths) override {
    const torch::Tensor z = coder_->norm->forward(coder_->linear(rows), 1)
                                .view({rows.size(0), shape_[0], shape_[1], shape_[2]});
    const torch::Tensor distances = (z - coder_->centroids.view(shape_)).pow(2).sum(-1);
    const torch::Tensor votes = torch::softmax(-coder_->temperature * distances, -1);  // T x N x K
    std::vector<torch::Tensor> sketches;
    for (const SequenceRun& run : RunsOf(lengths)) sketches.push_back(run.Of(votes).sum(1));
    return L2n(torch::cat(sketches), -1).flatten(1);
  }

 private:
  struct Coder : public torch::nn::Module {
    Coder(int64_t width, int64_t size)
        : linear(register_module("l1", torch::nn::Linear(width, size))),
          norm(register_module("bn1", ChannelNorm(size))),
          centroids(register_parameter("centroids", torch::randn({size}))),
          temperature(register_parameter("temp", torch::ones({1}))) {}
    torch::nn::Linear linear;
    ChannelNorm norm;
    torch::Tensor centroids, temperature;
  };

  const std::vector<int64_t> shape_;
  std::shared_ptr<Coder> coder_;
};

}  // namespace

ChannelNormImpl::ChannelNormImpl(int64_t channels)
    : weight_(register_parameter("weight", torch::ones({channels}))),
      bias_(register_parameter("bias", torch::zeros({channels}))),
      mean_(register_buffer("running_mean", torch::zeros({channels}))),
      variance_(register_buffer("running_var", torch::ones({channels}))) {}

torch::Tensor ChannelNormImpl::forward(const torch::Tensor& x, int64_t dim) {
  torch::Tensor mean = mean_, variance = variance_;
  if (is_training()) {
    std::vector<int64_t> batch;
    for (int64_t i = 0; i < x.dim(); ++i) {
      if (i != dim) batch.push_back(i);
    }
    mean = x.mean(batch);
    variance = x.var(batch, /*unbiased=*/false);
    Follow(mean.detach(), variance.detach(), x.numel() / x.size(dim));
  }
  std::vector<int64_t> shape(x.dim(), 1);
  shape[dim] = -1;
  const torch::Tensor scale = weight_ / torch::sqrt(variance + kNormEpsilon);
  return x * scale.view(shape) + (bias_ - mean * scale).view(shape);
}

void ChannelNormImpl::Follow(const torch::Tensor& mean, const torch::Tensor& variance,
                             int64_t count) {
  if (count < 2) return;  // one number says nothing of a variance
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  mean_.mul_(1 - kMomentum).add_(mean, kMomentum);
  variance_.mul_(1 - kMomentum).add_(variance, kMomentum * unbiased);
}

SgrafSimilarityImpl::SgrafSimilarityImpl(const bundle::v1::SgrafSpec& spec)
    : is_emde_(spec.has_emde()) {
  const int64_t width = spec.embedding_size(), size = spec.similarity_size();
  if (is_emde_) {
    image_global_ = register_module("v_emde", std::make_shared<EmdeGlobal>(width, spec.emde()));
    text_global_ = register_module("t_emde", std::make_shared<EmdeGlobal>(width, spec.emde()));
    const int64_t sketch = int64_t{spec.emde().partition_count()} * spec.emde().cell_count();
    fuse_ = register_module("emde_fuse", torch::nn::Linear(2 * sketch, size));
  } else if (!spec.without_global_node()) {
    image_global_ = register_module("v_global_w",
                                    std::make_shared<AttentionGlobal>(width, spec.region_count()));
    text_global_ = register_module("t_global_w", std::make_shared<AttentionGlobal>(width, 0));
    global_ = register_module("sim_tranglo_w", torch::nn::Linear(width, size));
  }
  local_ = register_module("sim_tranloc_w", torch::nn::Linear(width, size));
  evaluate_ = register_module("sim_eval_w", torch::nn::Linear(size, 1));
  if (spec.module() == bundle::v1::SgrafSpec::SAF) {
    auto saf = register_module("SAF_module", std::make_shared<Level>());
    attention_ = saf->Add("attn_sim_w", torch::nn::Linear(size, 1));
    attention_norm_ = saf->Add("bn", ChannelNorm(1));
    return;
  }
  auto sgr = register_module("SGR_module", std::make_shared<Level>());
  for (int i = 0; i < spec.step_count(); ++i) {
    auto step = sgr->Add(std::to_string(i), std::make_shared<Level>());
    steps_.push_back({step->Add("graph_query_w", torch::nn::Linear(size, size)),
                      step->Add("graph_key_w", torch::nn::Linear(size, size)),
                      step->Add("sim_graph_w", torch::nn::Linear(size, size))});
  }
}

torch::Tensor SgrafSimilarityImpl::GlobalNode(const torch::Tensor& image_global,
                                              const torch::Tensor& text_global) {
  if (is_emde_) {
    // One text's sketch stands beside each image's.
    return torch::relu(fuse_(torch::cat({text_global.expand_as(image_global), image_global}, -1)));
  }
  return L2n(global_((image_global - text_global).pow(2)), -1);
}

torch::Tensor SgrafSimilarityImpl::Score(const torch::Tensor& regions,
                                         const torch::Tensor& image_global,
                                         const torch::Tensor& words,
                                         const torch::Tensor& text_global) {
  // With one text for all that is one product of matrices, not n small ones.
  torch::Tensor scores = words.size(0) == 1
                             ? torch::matmul(regions, words[0].t())
                             : BatchedProduct(regions, words.transpose(1, 2));  // n x R x L
  scores = L2n(torch::leaky_relu(scores, kLeak), 2);
  const torch::Tensor attention = torch::softmax(kAttentionScale * scores, 1).transpose(1, 2);
  const torch::Tensor context = L2n(BatchedProduct(attention, regions), -1);  // n x L x E
  torch::Tensor nodes = L2n(local_((context - words).pow(2)), -1);
  if (has_global_node()) {
    nodes = torch::cat({GlobalNode(image_global, text_global).unsqueeze(1), nodes}, 1);
  }
  return torch::sigmoid(evaluate_(steps_.empty() ? Filter(nodes) : Reason(nodes)));
}

torch::Tensor SgrafSimilarityImpl::Reason(torch::Tensor nodes) {
  for (Step& step : steps_) {
    const torch::Tensor edges =
        torch::softmax(BatchedProduct(step.query(nodes), step.key(nodes).transpose(1, 2)), -1);
    nodes = torch::relu(step.graph(BatchedProduct(edges, nodes)));
  }
  return nodes.select(1, 0);
}

torch::Tensor SgrafSimilarityImpl::Filter(const torch::Tensor& nodes) {
  const torch::Tensor raw = attention_norm_->forward(attention_(nodes), 2);
  const torch::Tensor weights = L1n(torch::sigmoid(raw), 1);
  return L2n((weights * nodes).sum(1), -1);
}

SgrafNetImpl::SgrafNetImpl(const bundle::v1::ModelBundleManifest& manifest) {
  const bundle::v1::SgrafSpec& spec = manifest.sgraf();
  auto image = register_module("img_enc", std::make_shared<Level>());
  regions_ = image->Add("fc", torch::nn::Linear(spec.region_feature_size(), spec.embedding_size()));
  auto text = register_module("txt_enc", std::make_shared<Level>());
  words_ = text->Add("embed", torch::nn::Embedding(spec.vocabulary_size(), spec.word_size()));
  word_dropout_ = text->Add("dropout", RowDropout(kDropout));
  gru_ = text->Add("cap_rnn",
                   torch::nn::GRU(torch::nn::GRUOptions(spec.word_size(), spec.embedding_size())
                                      .batch_first(true)
                                      .bidirectional(true)));
  similarity_ = register_module("sim_enc", std::make_shared<SgrafSimilarityImpl>(spec));
}

torch::Tensor SgrafNetImpl::Regions(const torch::Tensor& features) {
  return L2n(regions_(features), -1);
}

torch::Tensor SgrafNetImpl::Words(const torch::Tensor& ids, const std::vector<int64_t>& lengths) {
  const torch::Tensor seen = Dropped(words_(ids), lengths, &word_dropout_);
  const StepOrder order = StepOrderOf(lengths, ids.device());
  const torch::nn::utils::rnn::PackedSequence steps(seen.index_select(0, order.rows),
                                                    order.batch_sizes);
  const torch::Tensor read = std::get<0>(gru_->forward_with_packed_input(steps)).data();
  const torch::Tensor both = read.index_select(0, order.places);
  const int64_t width = both.size(1) / 2;
  return L2n((both.narrow(1, 0, width) + both.narrow(1, width, width)) / 2, -1);
}

absl::Status RandomizeSgraf(uint64_t seed, SgrafNetImpl* net) {
  RETURN_IF_ERROR(RandomizeWeights(seed, net));
  return RunGuarded("randomize weights", [&] {
    const torch::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(seed);
    // In the order of names, whatever that of registration.
    std::map<std::string, torch::Tensor> parameters;
    for (const auto& item : net->named_parameters()) parameters[item.key()] = item.value();
    for (auto& [name, parameter] : parameters) {
      const double bound = InitialBound(name, parameter);
      if (bound > 0) parameter.uniform_(-bound, bound, generator);
    }
    return absl::OkStatus();
  });
}

}  // namespace sightline
