#include "common/models/network/transformer.h"

#include <torch/types.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Vec = std::vector<double>;
using Rows = std::vector<Vec>;

BertConfig SmallConfig() {
  BertConfig config;
  config.layer_count = 2;
  config.hidden_size = 8;
  config.head_count = 2;
  config.intermediate_size = 12;
  config.vocabulary_size = 20;
  config.position_count = 10;
  return config;
}

template <typename Net>
Net Randomized(Net net, uint64_t seed) {
  torch::manual_seed(seed);
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : net->parameters()) parameter.normal_(0.1, 0.5);
  net->eval();
  return net;
}

// The referee: the formulas in plain loops and doubles, weights looked up by name.
class Referee {
 public:
  explicit Referee(const torch::nn::Module& module) {
    for (const auto& item : module.named_parameters()) parameters_[item.key()] = item.value();
  }

  Rows Encode(Rows x, const BertConfig& config) const {
    for (int64_t i = 0; i < config.layer_count; ++i) {
      const std::string layer = "layer." + std::to_string(i) + ".";
      const Rows attended =
          Linear(Attention(x, layer + "attention.self.", config), layer + "attention.output.dense");
      x = Norm(Sum(attended, x), layer + "attention.output.LayerNorm");
      Rows inner = Linear(x, layer + "intermediate.dense");
      for (Vec& row : inner) {
        for (double& v : row) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      }
      x = Norm(Sum(Linear(inner, layer + "output.dense"), x), layer + "output.LayerNorm");
    }
    return x;
  }

  Rows Linear(const Rows& x, const std::string& name) const {
    const torch::Tensor weight = parameters_.at(name + ".weight");
    const torch::Tensor bias = parameters_.at(name + ".bias");
    Rows y(x.size(), Vec(weight.size(0)));
    for (size_t r = 0; r < x.size(); ++r) {
      for (int64_t o = 0; o < weight.size(0); ++o) {
        y[r][o] = bias[o].item<float>();
        for (int64_t i = 0; i < weight.size(1); ++i) {
          y[r][o] += weight[o][i].item<float>() * x[r][i];
        }
      }
    }
    return y;
  }

  Rows Norm(Rows x, const std::string& name) const {
    for (Vec& row : x) {
      double mean = 0, variance = 0;
      for (double v : row) mean += v / row.size();
      for (double v : row) variance += (v - mean) * (v - mean) / row.size();
      for (size_t i = 0; i < row.size(); ++i) {
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-12) *
                     parameters_.at(name + ".weight")[i].item<float>() +
                 parameters_.at(name + ".bias")[i].item<float>();
      }
    }
    return x;
  }

 private:
  Rows Attention(const Rows& x, const std::string& name, const BertConfig& config) const {
    const Rows q = Linear(x, name + "query"), k = Linear(x, name + "key"),
               v = Linear(x, name + "value");
    const size_t size = config.hidden_size / config.head_count;
    Rows out(x.size(), Vec(config.hidden_size));
    for (size_t head = 0; head < static_cast<size_t>(config.head_count); ++head) {
      for (size_t r = 0; r < x.size(); ++r) {
        Vec weights(x.size());
        double total = 0;
        for (size_t s = 0; s < x.size(); ++s) {
          double score = 0;
          for (size_t i = head * size; i < (head + 1) * size; ++i) score += q[r][i] * k[s][i];
          weights[s] = std::exp(score / std::sqrt(static_cast<double>(size)));
          total += weights[s];
        }
        for (size_t s = 0; s < x.size(); ++s) {
          for (size_t i = head * size; i < (head + 1) * size; ++i) {
            out[r][i] += weights[s] / total * v[s][i];
          }
        }
      }
    }
    return out;
  }

  static Rows Sum(Rows a, const Rows& b) {
    for (size_t r = 0; r < a.size(); ++r) {
      for (size_t i = 0; i < a[r].size(); ++i) a[r][i] += b[r][i];
    }
    return a;
  }

  std::map<std::string, torch::Tensor> parameters_;
};

Rows ToRows(const torch::Tensor& matrix) {
  Rows rows(matrix.size(0), Vec(matrix.size(1)));
  for (int64_t r = 0; r < matrix.size(0); ++r) {
    for (int64_t i = 0; i < matrix.size(1); ++i) rows[r][i] = matrix[r][i].item<float>();
  }
  return rows;
}

void RequireClose(const torch::Tensor& actual, const Rows& expected, double tolerance = 2e-5) {
  REQUIRE(actual.size(0) == static_cast<int64_t>(expected.size()));
  for (size_t r = 0; r < expected.size(); ++r) {
    for (size_t i = 0; i < expected[r].size(); ++i) {
      REQUIRE(actual[r][i].item<float>() == Approx(expected[r][i]).margin(tolerance));
    }
  }
}

// Sequences of random rows.
PackedRows RandomSequences(const std::vector<int64_t>& lengths) {
  PackedRows packed;
  packed.lengths = lengths;
  packed.rows = torch::randn({std::accumulate(lengths.begin(), lengths.end(), int64_t{0}), 8});
  return packed;
}

// B x `width`, 1 for the first lengths[i] rows.
torch::Tensor MaskOf(const std::vector<int64_t>& lengths, int64_t width) {
  torch::Tensor mask = torch::zeros({static_cast<int64_t>(lengths.size()), width});
  for (size_t i = 0; i < lengths.size(); ++i) mask[i].narrow(0, 0, lengths[i]).fill_(1);
  return mask;
}

TEST_CASE("the encoder computes the formulas of the paper, packed and padded") {
  const BertConfig config = SmallConfig();
  BertEncoder encoder = Randomized(BertEncoder(config), 1);
  const PackedRows packed = RandomSequences({5});
  const Rows expected = Referee(*encoder).Encode(ToRows(packed.rows), config);
  RequireClose(encoder->ForwardPacked(packed, Readout::kAllRows), expected);
  RequireClose(encoder(packed.rows.unsqueeze(0), torch::Tensor())[0], expected);
}

TEST_CASE("sequences of a pass do not see one another") {
  const BertConfig config = SmallConfig();
  BertEncoder encoder = Randomized(BertEncoder(config), 2);
  const PackedRows packed = RandomSequences({4, 1, 7, 7, 2, 4});
  const torch::Tensor rows = encoder->ForwardPacked(packed, Readout::kAllRows);
  const torch::Tensor first = encoder->ForwardPacked(packed, Readout::kFirstRows);
  const torch::Tensor mean = MeanOfEach(rows, packed.lengths);
  int64_t begin = 0;
  for (size_t i = 0; i < packed.lengths.size(); ++i) {
    const torch::Tensor own = packed.rows.narrow(0, begin, packed.lengths[i]);
    const Rows expected = Referee(*encoder).Encode(ToRows(own), config);
    RequireClose(rows.narrow(0, begin, packed.lengths[i]), expected);
    RequireClose(first.narrow(0, i, 1), {expected[0]});
    REQUIRE((mean[i] - rows.narrow(0, begin, packed.lengths[i]).mean(0)).abs().max().item<float>() <
            1e-6);
    begin += packed.lengths[i];
  }
}

TEST_CASE("gradients of the sequences of a pass are those of each alone") {
  BertEncoder encoder = Randomized(BertEncoder(SmallConfig()), 4);
  const auto gradients_of = [&](const torch::Tensor& loss) {
    encoder->zero_grad();
    loss.backward();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : encoder->parameters()) {
      gradients.push_back(parameter.grad().clone());
    }
    return gradients;
  };
  const PackedRows packed = RandomSequences({4, 1, 7, 7, 2});
  for (const Readout readout : {Readout::kAllRows, Readout::kFirstRows}) {
    const torch::Tensor together = encoder->ForwardPacked(packed, readout).square().sum();
    torch::Tensor apart = torch::zeros({});
    int64_t begin = 0;
    for (const int64_t length : packed.lengths) {
      const torch::Tensor rows =
          encoder(packed.rows.narrow(0, begin, length).unsqueeze(0), torch::Tensor())[0];
      apart = apart + (readout == Readout::kAllRows ? rows : rows[0]).square().sum();
      begin += length;
    }
    const auto expected = gradients_of(apart), actual = gradients_of(together);
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      const float largest = expected[i].abs().max().item<float>();
      REQUIRE((actual[i] - expected[i]).abs().max().item<float>() <= 1e-4 * (1 + largest));
    }
  }
}

TEST_CASE("a row that is masked as a key is seen by nobody, but sees") {
  BertEncoder encoder = Randomized(BertEncoder(SmallConfig()), 3);
  PackedRows packed = RandomSequences({5, 3});
  packed.key_bias = torch::tensor({0.f, 0.f, 0.f, -1e4f, -1e4f, 0.f, 0.f, -1e4f});
  PackedRows other = packed;
  other.rows = packed.rows.clone();
  for (const int64_t masked : {3, 4, 7}) other.rows[masked].fill_(50);
  const torch::Tensor a = encoder->ForwardPacked(packed, Readout::kAllRows);
  const torch::Tensor b = encoder->ForwardPacked(other, Readout::kAllRows);
  for (const int64_t real : {0, 1, 2, 5, 6}) REQUIRE(torch::equal(a[real], b[real]));
  REQUIRE(!torch::equal(a[3], b[3]));
  PackedRows alone;
  alone.lengths = {3};
  alone.rows = packed.rows.narrow(0, 0, 3);
  const torch::Tensor seen = encoder->ForwardPacked(alone, Readout::kAllRows);
  REQUIRE((a.narrow(0, 0, 3) - seen).abs().max().item<float>() < 2e-6);
}

TEST_CASE("padding changes no real row by more than rounding") {
  BertEncoder encoder = Randomized(BertEncoder(SmallConfig()), 2);
  const torch::Tensor rows = torch::randn({3, 7, 8});
  const std::vector<int64_t> lengths = {7, 1, 4};
  const torch::Tensor padded = encoder(rows, KeyBiasOf(MaskOf(lengths, 7)));
  const torch::Tensor mean = MaskedMean(padded, MaskOf(lengths, 7));
  for (int64_t i = 0; i < 3; ++i) {
    const torch::Tensor alone =
        encoder(rows.narrow(0, i, 1).narrow(1, 0, lengths[i]), torch::Tensor());
    REQUIRE((padded[i].narrow(0, 0, lengths[i]) - alone[0]).abs().max().item<float>() < 2e-6);
    REQUIRE((mean[i] - MaskedMean(alone, {})[0]).abs().max().item<float>() < 2e-6);
  }
}

TEST_CASE("embeddings are the normalised sum of word, position and type") {
  const BertConfig config = SmallConfig();
  BertEmbeddings embeddings = Randomized(BertEmbeddings(config), 4);
  const auto tables = embeddings->named_parameters();
  const torch::Tensor ids = torch::tensor({4, 19, 0}, torch::kInt64);
  for (const auto& [first_position, type] : {std::pair<int64_t, int64_t>{0, 0}, {2, 1}}) {
    Rows sums;
    for (int64_t i = 0; i < 3; ++i) {
      sums.push_back(ToRows((tables["word_embeddings.weight"][ids[i].item<int64_t>()] +
                             tables["position_embeddings.weight"][first_position + i] +
                             tables["token_type_embeddings.weight"][type])
                                .unsqueeze(0))[0]);
    }
    RequireClose(embeddings(ids, first_position, type),
                 Referee(*embeddings).Norm(sums, "LayerNorm"));
  }
  REQUIRE(torch::equal(embeddings(ids.unsqueeze(0), 0, 0)[0], embeddings(ids, 0, 0)));
}

TEST_CASE("the pooler is tanh of a dense layer") {
  BertPooler pooler = Randomized(BertPooler(SmallConfig()), 5);
  const torch::Tensor rows = torch::randn({2, 8});
  Rows expected = Referee(*pooler).Linear(ToRows(rows), "dense");
  for (Vec& row : expected) {
    for (double& v : row) v = std::tanh(v);
  }
  RequireClose(pooler(rows), expected);
}

TEST_CASE("every parameter of the encoder receives a gradient") {
  BertEncoder encoder = Randomized(BertEncoder(SmallConfig()), 6);
  encoder(torch::randn({2, 4, 8}), KeyBiasOf(MaskOf({4, 2}, 4))).pow(2).sum().backward();
  for (const auto& item : encoder->named_parameters()) {
    INFO(item.key());
    REQUIRE(item.value().grad().defined());
    REQUIRE(item.value().grad().isfinite().all().item<bool>());
  }
}

TEST_CASE("dropout acts in training only") {
  BertConfig config = SmallConfig();
  config.dropout = 0.5;
  BertEncoder encoder = Randomized(BertEncoder(config), 7);
  const torch::Tensor rows = torch::randn({1, 4, 8});
  REQUIRE(torch::equal(encoder(rows, torch::Tensor()), encoder(rows, torch::Tensor())));
  encoder->train();
  PrepareDropout(-1, encoder.get());
  const auto learnt = [&](uint64_t seed) {
    const DropoutScope scope(seed, {1});
    return encoder(rows, torch::Tensor());
  };
  REQUIRE(torch::equal(learnt(1), learnt(1)));
  REQUIRE(!torch::equal(learnt(1), learnt(2)));
}

TEST_CASE("a sequence is dropped alike alone, padded, and packed behind others") {
  BertConfig config = SmallConfig();
  config.dropout = 0.4;
  BertEncoder encoder = Randomized(BertEncoder(config), 7);
  encoder->train();
  PrepareDropout(-1, encoder.get());
  const torch::Tensor rows = torch::randn({9, 8});
  const auto packed = [&](const std::vector<int64_t>& lengths, std::vector<uint64_t> keys,
                          int64_t begin, Readout readout) {
    int64_t count = 0;
    for (const int64_t length : lengths) count += length;
    const DropoutScope scope(3, std::move(keys));
    return encoder->ForwardPacked({rows.narrow(0, begin, count), lengths, {}}, readout);
  };
  const torch::Tensor all = packed({4, 2, 3}, {21, 22, 23}, 0, Readout::kAllRows);
  const torch::Tensor alone = packed({3}, {23}, 6, Readout::kAllRows);
  REQUIRE((all.narrow(0, 6, 3) - alone).abs().max().item<float>() < 1e-5);
  const torch::Tensor first = packed({4, 2, 3}, {21, 22, 23}, 0, Readout::kFirstRows);
  REQUIRE((first[2] - alone[0]).abs().max().item<float>() < 1e-5);
  torch::Tensor padded = torch::zeros({2, 4, 8});
  padded[0] = rows.narrow(0, 0, 4);
  padded[1].narrow(0, 0, 3).copy_(rows.narrow(0, 6, 3));
  const DropoutScope scope(3, {21, 23});
  const torch::Tensor encoded = encoder(padded, KeyBiasOf(MaskOf({4, 3}, 4)));
  REQUIRE((encoded[1].narrow(0, 0, 3) - alone).abs().max().item<float>() < 1e-5);
}

}  // namespace
}  // namespace sightline
