#include "common/training/batch_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/trainable.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 8;

TinyFamily FamilyNamed(const std::string& name) {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.family() == name) return family;
  }
  FAIL("no family " << name);
  return {};
}

// A tiny learner, texts and images with each right for the other of its number, and problems of
// three candidates.
struct Fixture {
  explicit Fixture(const std::string& name, double dropout = 0) {
    const TinyFamily family = FamilyNamed(name);
    TrainableOptions options;
    options.dropout = dropout;
    learner = *LoadTrainable(MakeTinyBundle(store.path(), family), options);
    learner->module->train();
    for (int i = 0; i < kItems; ++i) {
      images.push_back(*learner->network->ReadImage(TinyImage(family, i)));
      texts.push_back(learner->text->Tokenize(TinyText(i))->ids);
    }
    for (int i = 0; i < kItems; ++i) {
      batch.texts.emplace_back(texts[i]);
      batch.images.push_back(&images[i]);
      for (int j = 0; j < 3; ++j) batch.pairs.emplace_back(i, (i + j) % kItems);
    }
    batch.candidates = 3;
  }

  // Gradients of all parameters, one after another, of a step of its own.
  at::Tensor Gradients(const std::string& objective, BatchLossOptions options = {},
                       const at::Tensor& log_scale = {}) {
    learner->module->zero_grad();
    const Objective* const found = *FindObjective(objective);
    options.objective = found->defaults;
    const auto loss = AddGradients(*found, options, batch, *learner, log_scale);
    INFO(loss.status().ToString());
    REQUIRE(loss.ok());
    value = loss->value;
    first = loss->first;
    return Flat();
  }

  at::Tensor Flat() const {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : learner->module->parameters()) {
      gradients.push_back(
          (parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter)).flatten());
    }
    return at::cat(gradients).clone();
  }

  const TempDir store;
  std::unique_ptr<TrainableNetwork> learner;
  std::vector<ImageNumbers> images;
  std::vector<std::vector<int32_t>> texts;
  PairBatch batch;
  at::Tensor value, first;
};

void RequireClose(const at::Tensor& actual, const at::Tensor& expected) {
  REQUIRE(expected.norm().item<double>() > 0);
  REQUIRE((actual - expected).norm().item<double>() < 1e-4 * expected.norm().item<double>());
}

BatchLossOptions InPasses(int64_t rows) {
  BatchLossOptions options;
  options.pass_rows = rows;
  return options;
}

TEST_CASE("a loss over towers is that of all embeddings together") {
  Fixture of("lightningdot");
  const at::Tensor gradients = of.Gradients("cmr");
  of.learner->module->zero_grad();
  TowerRows rows;
  rows.texts = of.learner->network->EncodeTexts(of.batch.texts);
  rows.images = of.learner->network->EncodeImages(of.batch.images);
  const Loss loss = ContrastiveLoss(rows, {});
  loss.value.backward();
  REQUIRE(of.value.item<float>() == Approx(loss.value.item<float>()));
  REQUIRE(of.first.item<float>() == loss.first.item<float>());
  RequireClose(gradients, of.Flat());
}

TEST_CASE("embeddings that are compared by cosine are of length one") {
  Fixture of("oscar");
  of.Gradients("hinge");
  TowerRows rows;
  const auto unit = [](const at::Tensor& x) { return x / x.norm(2, {1}, true); };
  rows.texts = unit(of.learner->network->EncodeTexts(of.batch.texts));
  rows.images = unit(of.learner->network->EncodeImages(of.batch.images));
  REQUIRE(of.value.item<float>() ==
          Approx(HingeLoss(rows, 0.1, BatchReduction::kMean).value.item<float>()));
}

TEST_CASE("captions and pictures that are made wrong count, in passes too") {
  Fixture of("vldeformer");
  const auto unit = [](const at::Tensor& x) { return x / x.norm(2, {1}, true); };
  TowerRows rows;
  PairBatch& batch = of.batch;
  const std::vector<TokenSpan> texts = batch.texts;
  const std::vector<const ImageNumbers*> images = batch.images;
  batch.texts.assign(texts.begin(), texts.begin() + 4);
  batch.images.assign(images.begin(), images.begin() + 4);
  const double without = of.Gradients("decomposed").norm().item<double>();
  batch.hard_texts.assign(texts.begin() + 4, texts.begin() + 7);
  batch.hard_images.assign(images.begin() + 6, images.end());
  batch.has_hard_texts = batch.has_hard_images = true;
  const at::Tensor gradients = of.Gradients("decomposed");
  REQUIRE(gradients.norm().item<double>() != Approx(without));
  for (const int64_t pass_rows : {1, 40}) {
    RequireClose(of.Gradients("decomposed", InPasses(pass_rows)), gradients);
  }
  of.learner->module->zero_grad();
  const Network& network = *of.learner->network;
  rows.texts = unit(network.EncodeTexts(batch.texts));
  rows.images = unit(network.EncodeImages(batch.images));
  rows.hard_texts = unit(network.EncodeTexts(batch.hard_texts));
  rows.hard_images = unit(network.EncodeImages(batch.hard_images));
  const Loss loss = DecomposedLoss(rows, 0.005);
  loss.value.backward();
  REQUIRE(of.value.item<float>() == Approx(loss.value.item<float>()).epsilon(1e-3));
  RequireClose(gradients, of.Flat());
}

TEST_CASE("passes change neither a loss nor its gradients") {
  for (const std::string family : {"lightningdot", "vldeformer", "oscar", "m3p"}) {
    INFO(family);
    Fixture of(family);
    const at::Tensor whole = of.Gradients("cmr");
    const double value = of.value.item<double>();
    for (const int64_t rows : {1, 40, 100}) {
      INFO(rows);
      RequireClose(of.Gradients("cmr", InPasses(rows)), whole);
      REQUIRE(of.value.item<double>() == Approx(value).epsilon(1e-5));
    }
  }
  for (const std::string family : {"uniter", "oscar", "m3p"}) {
    INFO(family);
    Fixture of(family);
    const std::string objective = family == "uniter" ? "sigmoid_hinge" : "pairwise";
    const at::Tensor whole = of.Gradients(objective);
    const double value = of.value.item<double>(), first = of.first.item<double>();
    for (const int64_t rows : {1, 100, 300}) {
      INFO(rows);
      RequireClose(of.Gradients(objective, InPasses(rows)), whole);
      REQUIRE(of.value.item<double>() == Approx(value).epsilon(1e-5));
      REQUIRE(of.first.item<double>() == Approx(first));
    }
  }
}

// What a teacher may have said of eight problems of three.
at::Tensor SomeScores() {
  at::manual_seed(3);
  return at::randn({kItems, 3}) * 2;
}

TEST_CASE("a cross-encoder is distilled by what it makes of the candidates, in passes too") {
  for (const std::string family : {"uniter", "oscar"}) {
    INFO(family);
    Fixture of(family);
    of.batch.taught = SomeScores().set_requires_grad(true);
    const at::Tensor gradients = of.Gradients("distillation");
    REQUIRE_FALSE(of.batch.taught.grad().defined());
    const double value = of.value.item<double>();
    for (const int64_t rows : {1, 100, 300}) {
      INFO(rows);
      RequireClose(of.Gradients("distillation", InPasses(rows)), gradients);
      REQUIRE(of.value.item<double>() == Approx(value).epsilon(1e-5));
    }
    of.learner->module->zero_grad();
    const Network& network = *of.learner->network;
    std::vector<at::Tensor> scores;
    for (const auto& [text, image] : of.batch.pairs) {
      const PreparedText prepared = network.PrepareText(of.batch.texts[text]);
      const FeatureRows rows = network.PrepareImage(*of.batch.images[image]);
      const at::Tensor heads =
          network.ScorePairs({{of.batch.texts[text], &prepared, {rows.begin(), rows.end()}}})[0];
      scores.push_back(heads.numel() == 2 ? heads[1] - heads[0] : heads[0]);
    }
    const at::Tensor wished = at::softmax(of.batch.taught.detach(), 1);
    const at::Tensor student = at::log_softmax(at::stack(scores).view({kItems, 3}), 1);
    const at::Tensor loss = (wished * (wished.log() - student)).sum() / kItems;
    loss.backward();
    REQUIRE(value == Approx(loss.item<double>()).epsilon(1e-5));
    RequireClose(gradients, of.Flat());
  }
}

TEST_CASE("towers are distilled by their inner products, in passes too") {
  for (const std::string family : {"lightningdot", "oscar"}) {
    INFO(family);
    Fixture of(family);
    of.batch.taught = SomeScores();
    const auto options = [](int64_t rows) {
      BatchLossOptions towers = InPasses(rows);
      towers.distils_towers = true;
      return towers;
    };
    const at::Tensor gradients = of.Gradients("distillation", options(0));
    const double value = of.value.item<double>();
    RequireClose(of.Gradients("distillation", options(40)), gradients);
    of.learner->module->zero_grad();
    const auto row = [&](const at::Tensor& rows) {
      return of.learner->cosine ? rows[0] / rows[0].norm() : rows[0];
    };
    std::vector<at::Tensor> scores;
    for (const auto& [text, image] : of.batch.pairs) {
      scores.push_back((row(of.learner->network->EncodeTexts({of.batch.texts[text]})) *
                        row(of.learner->network->EncodeImages({of.batch.images[image]})))
                           .sum());
    }
    const at::Tensor wished = at::softmax(of.batch.taught, 1);
    const at::Tensor student = at::log_softmax(at::stack(scores).view({kItems, 3}), 1);
    const at::Tensor loss = (wished * (wished.log() - student)).sum() / kItems;
    loss.backward();
    REQUIRE(value == Approx(loss.item<double>()).epsilon(1e-5));
    RequireClose(gradients, of.Flat());
  }
}

TEST_CASE("nothing is distilled without a teacher's score of each candidate") {
  Fixture of("uniter");
  const Objective& objective = **FindObjective("distillation");
  BatchLossOptions options;
  options.objective = objective.defaults;
  const auto message = [&] {
    const absl::Status status = AddGradients(objective, options, of.batch, *of.learner).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  REQUIRE(absl::StrContains(message(), "a teacher's score of each candidate"));
  of.batch.taught = at::zeros({kItems, 2});
  REQUIRE(absl::StrContains(message(), "a teacher's score of each candidate"));
  of.batch.taught = SomeScores();
  options.distils_towers = true;
  REQUIRE(absl::StrContains(message(), "a network that embeds"));
}

TEST_CASE("further images are wrong for every text that they are not related to") {
  Fixture of("lightningdot");
  of.batch.images.push_back(of.batch.images[3]);
  of.batch.related = at::zeros({kItems, kItems + 1}, at::kBool);
  of.batch.related[3][kItems] = true;
  const at::Tensor gradients = of.Gradients("cmr");
  of.learner->module->zero_grad();
  const at::Tensor texts = of.learner->network->EncodeTexts(of.batch.texts);
  const at::Tensor images = of.learner->network->EncodeImages(of.batch.images);
  at::Tensor loss = at::zeros({});
  for (int i = 0; i < kItems; ++i) {
    at::Tensor of_text = at::zeros({}), of_image = at::zeros({});
    for (int j = 0; j <= kItems; ++j) {
      if (i == 3 && j == kItems) continue;
      of_text = of_text + at::dot(texts[i], images[j]).exp();
      if (j < kItems) of_image = of_image + at::dot(texts[j], images[i]).exp();
    }
    loss = loss + of_text.log() + of_image.log() - 2 * at::dot(texts[i], images[i]);
  }
  loss = loss / (2 * kItems);
  loss.backward();
  REQUIRE(of.value.item<double>() == Approx(loss.item<double>()).epsilon(1e-4));
  RequireClose(gradients, of.Flat());
}

TEST_CASE("a learned scale gets its gradient, in passes too") {
  Fixture of("oscar");
  const auto gradient = [&](int64_t rows) {
    const at::Tensor log_scale = at::full({}, 0.5).set_requires_grad(true);
    of.Gradients("contrastive", InPasses(rows), log_scale);
    return log_scale.grad().item<double>();
  };
  REQUIRE(gradient(0) != 0);
  REQUIRE(gradient(40) == Approx(gradient(0)).epsilon(1e-4));
}

TEST_CASE("a matrix is of every text with every image") {
  Fixture of("sgraf", /*dropout=*/0);
  of.learner->module->eval();
  of.Gradients("matrix_hinge");
  const auto images = of.learner->network->PrepareImages(of.batch.images);
  const auto texts = of.learner->network->PrepareTexts(of.batch.texts);
  at::Tensor scores = at::zeros({kItems, kItems});
  for (int t = 0; t < kItems; ++t) {
    for (int i = 0; i < kItems; ++i) {
      scores[t][i] = of.learner->network->ScorePairs(
          {{of.batch.texts[t], &texts[t], {images[i].begin(), images[i].end()}}})[0][0];
    }
  }
  const Loss loss = MatrixHingeLoss({scores, {}}, 0.2, WrongPairs::kHardest);
  REQUIRE(of.value.item<float>() == Approx(loss.value.item<float>()));
}

TEST_CASE("dropout is drawn from the step's seed, and the same in both computations of a pass") {
  Fixture of("lightningdot", /*dropout=*/0.3);
  BatchLossOptions options = InPasses(40);
  options.seed = 7;
  const at::Tensor once = of.Gradients("cmr", options);
  REQUIRE(at::equal(of.Gradients("cmr", options), once));
  options.seed = 8;
  REQUIRE_FALSE(at::equal(of.Gradients("cmr", options), once));
}

TEST_CASE("what is dropped is the same in however many passes") {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"lightningdot", "cmr"}, {"oscar", "hinge"},  {"vldeformer", "decomposed"},
      {"oscar", "pairwise"},   {"m3p", "listwise"}, {"uniter", "sigmoid_hinge"}};
  for (const auto& [family, objective] : ways) {
    INFO(family << " by " << objective);
    Fixture of(family, /*dropout=*/0.3);
    const auto gradients = [&](int64_t rows, uint64_t seed) {
      BatchLossOptions options = InPasses(rows);
      options.seed = seed;
      return of.Gradients(objective, options);
    };
    const at::Tensor whole = gradients(0, 7);
    RequireClose(gradients(40, 7), whole);
    REQUIRE((gradients(0, 8) - whole).norm().item<double>() > 0.05 * whole.norm().item<double>());
  }
}

TEST_CASE("what is dropped of a text does not depend on where it stands in a matrix") {
  Fixture of("sgraf", /*dropout=*/0.3);
  BatchLossOptions options;
  options.seed = 7;
  const at::Tensor gradients = of.Gradients("matrix_hinge", options);
  std::reverse(of.batch.texts.begin(), of.batch.texts.end());
  std::reverse(of.batch.images.begin(), of.batch.images.end());
  RequireClose(of.Gradients("matrix_hinge", options), gradients);
}

TEST_CASE("with dropout, in passes, gradients are what the loss changes by") {
  Fixture of("lightningdot", /*dropout=*/0.3);
  BatchLossOptions options = InPasses(40);
  options.seed = 7;
  const at::Tensor gradients = of.Gradients("cmr", options);
  const double square = gradients.pow(2).sum().item<double>();
  const double step = 1e-3 / std::sqrt(square);
  const auto move = [&](double by) {
    int64_t begin = 0;
    for (const at::Tensor& parameter : of.learner->module->parameters()) {
      const at::NoGradGuard no_grad;
      parameter.add_(gradients.narrow(0, begin, parameter.numel()).view(parameter.sizes()), by);
      begin += parameter.numel();
    }
    // The same draws, other weights.
    of.Gradients("cmr", options);
    return of.value.item<double>();
  };
  const double above = move(step), below = move(-2 * step);
  REQUIRE((above - below) / (2 * step) == Approx(square).epsilon(0.03));
}

TEST_CASE("a matrix of a head with two logits is of probabilities of a match") {
  Fixture of("oscar");
  of.Gradients("matrix_hinge");
  const auto images = of.learner->network->PrepareImages(of.batch.images);
  const auto texts = of.learner->network->PrepareTexts(of.batch.texts);
  at::Tensor scores = at::zeros({kItems, kItems});
  for (int t = 0; t < kItems; ++t) {
    for (int i = 0; i < kItems; ++i) {
      scores[t][i] =
          at::softmax(of.learner->network->ScorePairs(
                          {{of.batch.texts[t], &texts[t], {images[i].begin(), images[i].end()}}}),
                      1)[0][1];
    }
  }
  REQUIRE(of.value.item<float>() ==
          Approx(MatrixHingeLoss({scores, {}}, 0.2, WrongPairs::kHardest).value.item<float>()));
}

TEST_CASE("a score that is a probability is taken for what it is") {
  Fixture of("sgraf");
  of.learner->module->eval();
  of.Gradients("pairwise");
  const auto images = of.learner->network->PrepareImages(of.batch.images);
  const auto texts = of.learner->network->PrepareTexts(of.batch.texts);
  double loss = 0;
  for (size_t i = 0; i < of.batch.pairs.size(); ++i) {
    const auto [t, image] = of.batch.pairs[i];
    const double probability =
        of.learner->network
            ->ScorePairs({{of.batch.texts[t],
                           &texts[t],
                           {images[image].begin(), images[image].end()}}})[0][0]
            .item<double>();
    loss -= std::log(i % 3 == 0 ? probability : 1 - probability);
  }
  REQUIRE(of.value.item<double>() ==
          Approx(loss / static_cast<double>(of.batch.pairs.size())).epsilon(1e-4));
}

TEST_CASE("images beyond the texts' own are wrong for all of them") {
  Fixture of("lightningdot");
  of.Gradients("cmr");
  const double all = of.value.item<double>();
  of.batch.texts.resize(kItems - 2);
  of.Gradients("cmr");
  REQUIRE(of.value.item<double>() != all);
  TowerRows rows;
  rows.texts = of.learner->network->EncodeTexts(of.batch.texts);
  rows.images = of.learner->network->EncodeImages(of.batch.images);
  REQUIRE(of.value.item<double>() ==
          Approx(ContrastiveLoss(rows, {}).value.item<double>()).epsilon(1e-5));
}

TEST_CASE("a batch that lacks what an objective reads is refused, and says what it lacks") {
  Fixture of("oscar");
  const auto message = [&](const std::string& objective) {
    const absl::Status status =
        AddGradients(**FindObjective(objective), {}, of.batch, *of.learner).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  REQUIRE(absl::StrContains(message("mlm"), "predictions"));
  Fixture raw("lightningdot");
  REQUIRE(absl::StrContains(
      AddGradients(**FindObjective("decomposed"), {}, raw.batch, *raw.learner).status().message(),
      "cosine"));
  REQUIRE(absl::StrContains(message("contrastive"), "scale"));
  of.batch.candidates = 1;
  REQUIRE(absl::StrContains(message("pairwise"), "at least two candidates"));
  of.batch.candidates = 7;
  REQUIRE(absl::StrContains(message("pairwise"), "24 pairs in problems of 7"));
  of.batch.images.pop_back();
  REQUIRE(absl::StrContains(message("cmr"), "an image for each text"));
  of.batch.texts.clear();
  REQUIRE(absl::StrContains(message("cmr"), "texts and images"));
}

}  // namespace
}  // namespace sightline
