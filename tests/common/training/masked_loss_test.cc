#include "common/training/masked_loss.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/trainable.h"
#include "common/training/pretraining.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/oscar/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 6;
constexpr int64_t kClasses = 3;
constexpr int32_t kMask = 4;  // of the tiny vocabularies

// A tiny learner with heads, and a batch of which parts are hidden.
struct Fixture {
  Fixture(const TinyFamily& family, const std::string& objective_name, double dropout = 0) {
    const ModelBundle start = MakeTinyBundle(store.path(), family);
    TrainableOptions of_learner;
    of_learner.dropout = dropout;
    learner = *LoadTrainable(start, of_learner);
    network = MaskedNetworkOf(*learner->network);
    objective = *FindObjective(objective_name);
    options.objective = objective->defaults;
    Recipe recipe;
    recipe.tasks.resize(1);
    recipe.tasks[0].objective = objective_name;
    heads = *MakePretrainingHeads(recipe, start, kClasses, at::kCPU);
    at::manual_seed(3);
    for (at::Tensor& parameter : heads->parameters()) {
      parameter.set_data(parameter + 0.3 * at::randn_like(parameter));
    }
    for (int i = 0; i < kItems; ++i) batch.push_back(PairOf(family, i));
  }

  // Every other word is hidden, or every other region.
  MaskedPair PairOf(const TinyFamily& family, int i) {
    MaskedPair pair;
    pair.tokens = learner->text->Tokenize(TinyText(i))->ids;
    pair.image = *learner->network->ReadImage(TinyImage(family, i));
    const auto hide = [&](std::vector<int32_t>* ids, int64_t end) {
      for (int64_t place = 1; place < end; place += 2) {
        pair.places.push_back(place);
        pair.targets.push_back((*ids)[place]);
        (*ids)[place] = kMask;
      }
    };
    switch (objective->predicted) {
      case Predicted::kTokens: {
        hide(&pair.tokens, static_cast<int64_t>(pair.tokens.size()) - 1);
        const auto text = static_cast<int64_t>(pair.tokens.size());
        for (int64_t tag = 0; tag < network->TagsReadBeside(pair.image, text); tag += 2) {
          pair.tag_places.push_back(tag);
          pair.targets.push_back(pair.image.ids[tag]);
          pair.image.ids[tag] = kMask;
        }
        break;
      }
      case Predicted::kSceneTokens:
        hide(&pair.image.ids, static_cast<int64_t>(pair.image.ids.size()));
        break;
      default:
        for (int64_t r = 0; r < pair.image.regions.count; r += 2) pair.hidden.push_back(r);
        // No two regions have the same.
        for (int64_t r = 0; r < pair.image.regions.count; ++r) {
          const float first = 0.1f + 0.05f * static_cast<float>(r % 7);
          const float second = 0.02f * static_cast<float>(i);
          pair.soft_labels.insert(pair.soft_labels.end(), {first, second, 1 - first - second});
        }
    }
    return pair;
  }

  // The last layer's row of a tag.
  at::Tensor TagRowOf(const MaskedPair& pair, int64_t tag) const {
    const std::vector<TokenSpan> text = {pair.tokens};
    const LastRows all = network->PairRows(text, {{&pair.image, {}}}, {});
    return all.All()[static_cast<int64_t>(pair.tokens.size()) + tag];
  }

  // The last layer's row of a pair by itself, and what it is given of the other tower.
  at::Tensor RowOf(const MaskedPair& pair, int64_t place) const {
    const std::vector<TokenSpan> text = {pair.tokens};
    const std::vector<ShownImage> image = {{&pair.image, pair.hidden}};
    const at::Tensor hidden = heads->hidden_feature();
    if (!network->has_two_towers()) {
      const LastRows all = network->PairRows(text, image, hidden);
      return all.All()[objective->predicted == Predicted::kTokens ? place : all.regions[0] + place];
    }
    const LastRows texts = network->TextRows(text), images = network->ImageRows(image, hidden);
    const at::Tensor of_text = texts.All(), of_image = images.All();
    at::Tensor row = objective->predicted == Predicted::kTokens ? of_text[place]
                     : objective->predicted == Predicted::kSceneTokens
                         ? of_image[images.ids[0] + place]
                         : of_image[images.regions[0] + place];
    const at::Tensor other = objective->predicted == Predicted::kTokens ? of_image[0] : of_text[0];
    if (options.other_tower == GlobalVector::kAdd) row = row + other;
    if (options.other_tower == GlobalVector::kMultiply) row = row * other;
    return row;
  }

  // KL(soft label || softmax(logits)) of a region.
  double SlowDivergence(const MaskedPair& pair, int64_t region) {
    const at::Tensor logits = heads->classes().forward(RowOf(pair, region).unsqueeze(0))[0];
    double all = 0, divergence = 0;
    for (int64_t k = 0; k < kClasses; ++k) all += std::exp(logits[k].item<double>());
    for (int64_t k = 0; k < kClasses; ++k) {
      const double wished = pair.soft_labels[region * kClasses + k];
      if (wished == 0) continue;
      divergence += wished * (std::log(wished) - logits[k].item<double>() + std::log(all));
    }
    return divergence;
  }

  // The loss in plain loops over what is hidden, each pair computed by itself.
  double SlowLoss() {
    double sum = 0;
    int64_t count = 0;
    for (const MaskedPair& pair : batch) {
      const size_t words = pair.places.size();
      for (size_t k = 0; k < words + pair.tag_places.size(); ++k) {
        const bool of_text =
            objective->predicted == Predicted::kTokens && options.word_table == WordTable::kText;
        const at::Tensor table = of_text ? network->text_words() : network->image_words();
        const at::Tensor row =
            k < words ? RowOf(pair, pair.places[k]) : TagRowOf(pair, pair.tag_places[k - words]);
        const at::Tensor logits = heads->tokens().forward(row.unsqueeze(0), table)[0];
        double all = 0;
        for (int64_t v = 0; v < logits.size(0); ++v) all += std::exp(logits[v].item<double>());
        sum += std::log(all) - logits[pair.targets[k]].item<double>();
        ++count;
      }
      for (const int64_t region : pair.hidden) {
        if (objective->predicted == Predicted::kRegionClasses) {
          sum += SlowDivergence(pair, region);
          ++count;
          continue;
        }
        const at::Tensor found = heads->features().forward(RowOf(pair, region).unsqueeze(0),
                                                           network->region_weight())[0];
        double off = 0;
        for (int64_t f = 0; f < 10; ++f) {
          const double truth = pair.image.regions.features[region * 10 + f];
          off += std::pow(found[f].item<double>() - truth, 2) / 10;
        }
        sum += off;
        ++count;
      }
    }
    return sum / static_cast<double>(count);
  }

  double AddGradients() {
    learner->module->zero_grad();
    heads->zero_grad();
    const auto loss = AddMaskedGradients(*objective, options, batch, *network, heads);
    INFO(loss.status().ToString());
    REQUIRE(loss.ok());
    REQUIRE_FALSE(loss->value.requires_grad());
    return loss->value.item<double>();
  }

  // Norms of the gradients of all parameters, by name.
  std::map<std::string, double> Norms() const {
    std::map<std::string, double> norms;
    const auto note = [&](const torch::nn::Module& module) {
      for (const auto& item : module.named_parameters()) {
        const at::Tensor gradient = item.value().grad();
        norms[item.key()] = gradient.defined() ? gradient.norm().item<double>() : 0;
      }
    };
    note(*learner->module);
    note(*heads);
    return norms;
  }
  bool Reaches(const std::string& prefix) const {
    bool reached = false;
    for (const auto& [name, norm] : Norms()) {
      reached = reached || (absl::StartsWith(name, prefix) && norm > 0);
    }
    return reached;
  }

  const TempDir store;
  std::unique_ptr<TrainableNetwork> learner;
  const MaskedNetwork* network = nullptr;
  const Objective* objective = nullptr;
  PretrainingHeads heads{nullptr};
  MaskedLossOptions options;
  std::vector<MaskedPair> batch;
};

struct Way {
  TinyFamily family;
  std::string objective;
  GlobalVector other_tower = GlobalVector::kNone;
  WordTable word_table = WordTable::kImage;
};

std::vector<Way> Ways() {
  return {
      {TinySceneText(), "mlm"},
      {TinySceneText(), "mlm", GlobalVector::kAdd},
      {TinySceneText(), "mlm", GlobalVector::kMultiply, WordTable::kText},
      {TinySceneText(), "msm", GlobalVector::kAdd},
      {TinyLightningDot(), "mrfr"},
      {TinyLightningDot(), "mrfr", GlobalVector::kAdd},
      {TinySceneText(), "mrfr", GlobalVector::kMultiply},
      {TinyUniter(), "mlm"},
      {TinyUniter(), "mrfr"},
      {TinyOscar(), "mlm"},
      {TinyLightningDot(), "mrc_kl"},
      {TinySceneText(), "mrc_kl", GlobalVector::kAdd},
      {TinyUniter(), "mrc_kl"},
  };
}

TEST_CASE("losses are what plain loops make of the network's rows, in one pass or in several") {
  for (const Way& way : Ways()) {
    INFO(way.family.name << " by " << way.objective);
    Fixture of(way.family, way.objective);
    of.options.other_tower = way.other_tower;
    of.options.word_table = way.word_table;
    const double expected = of.SlowLoss();
    const double whole = of.AddGradients();
    REQUIRE(whole == Approx(expected).epsilon(1e-4));
    const std::map<std::string, double> gradients = of.Norms();
    of.options.pass_rows = 24;
    REQUIRE(of.AddGradients() == Approx(expected).epsilon(1e-4));
    for (const auto& [name, norm] : of.Norms()) {
      INFO(name);
      REQUIRE(norm == Approx(gradients.at(name)).epsilon(1e-3).margin(1e-5));
    }
  }
}

TEST_CASE("what is dropped is the same in however many passes") {
  for (const Way& way : Ways()) {
    INFO(way.family.name << " by " << way.objective);
    Fixture of(way.family, way.objective, /*dropout=*/0.3);
    of.learner->module->train();
    of.options.other_tower = way.other_tower;
    of.options.word_table = way.word_table;
    of.options.seed = 7;
    const double whole = of.AddGradients();
    const std::map<std::string, double> gradients = of.Norms();
    of.options.pass_rows = 24;
    REQUIRE(of.AddGradients() == Approx(whole).epsilon(1e-4));
    for (const auto& [name, norm] : of.Norms()) {
      INFO(name);
      REQUIRE(norm == Approx(gradients.at(name)).epsilon(1e-3).margin(1e-5));
    }
    of.options.seed = 8;
    REQUIRE(of.AddGradients() != Approx(whole).epsilon(1e-4));
  }
}

TEST_CASE("gradients reach the tower that predicts, and the other one if it gives something") {
  Fixture alone(TinyLightningDot(), "mlm");
  alone.AddGradients();
  REQUIRE(alone.Reaches("cls."));
  REQUIRE(alone.Reaches("txt_model.bert.encoder."));
  // Of the image tower only the table that words are predicted by.
  REQUIRE(alone.Reaches("img_model.bert.embeddings.word_embeddings."));
  REQUIRE_FALSE(alone.Reaches("img_model.bert.encoder."));
  REQUIRE_FALSE(alone.Reaches("img_model.bert.img_embeddings."));
  alone.options.word_table = WordTable::kText;
  alone.AddGradients();
  REQUIRE_FALSE(alone.Reaches("img_model."));

  Fixture words(TinyLightningDot(), "mlm");
  words.options.other_tower = GlobalVector::kAdd;
  words.AddGradients();
  REQUIRE(words.Reaches("txt_model.bert.encoder."));
  REQUIRE(words.Reaches("img_model.bert.encoder."));
  REQUIRE(words.Reaches("img_model.bert.img_embeddings."));

  Fixture regions(TinyLightningDot(), "mrfr");
  regions.AddGradients();
  REQUIRE(regions.Reaches("feat_regress."));
  REQUIRE(regions.Reaches("mask_embedding."));
  REQUIRE(regions.Reaches("img_model.bert.img_embeddings.img_linear.weight"));
  REQUIRE_FALSE(regions.Reaches("txt_model."));
  regions.options.other_tower = GlobalVector::kAdd;
  regions.AddGradients();
  REQUIRE(regions.Reaches("txt_model.bert.encoder."));

  Fixture scene(TinySceneText(), "msm");
  scene.options.other_tower = GlobalVector::kAdd;
  scene.AddGradients();
  REQUIRE(scene.Reaches("cls."));
  REQUIRE(scene.Reaches("img_model.bert.encoder."));
  REQUIRE(scene.Reaches("txt_model.bert.encoder."));
  // The embedding of a tower is made behind what the other one is given.
  REQUIRE_FALSE(scene.Reaches("img_model.encode_proj."));
  REQUIRE_FALSE(scene.Reaches("txt_model.encode_proj."));

  Fixture stream(TinyUniter(), "mrfr");
  stream.AddGradients();
  REQUIRE(stream.Reaches("uniter.encoder."));
  REQUIRE(stream.Reaches("uniter.embeddings.word_embeddings."));
  REQUIRE_FALSE(stream.Reaches("uniter.pooler."));
  REQUIRE_FALSE(stream.Reaches("rank_output."));
}

TEST_CASE("a pair of which nothing is hidden counts for nothing, and a batch of such is 0") {
  Fixture of(TinyUniter(), "mlm");
  const double before = of.AddGradients();
  MaskedPair whole = of.batch[0];
  whole.places.clear();
  whole.targets.clear();
  of.batch.push_back(whole);
  REQUIRE(of.AddGradients() == Approx(before).epsilon(1e-5));
  of.batch = {whole};
  REQUIRE(of.AddGradients() == 0);
  REQUIRE_FALSE(of.Reaches(""));
}

}  // namespace
}  // namespace sightline
