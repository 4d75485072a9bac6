#include "common/models/network/masked_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/models/network/row_dropout.h"
#include "common/models/trainable.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/oscar/tiny.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 5;

// A tiny learner without dropout, and inputs as it reads them.
struct Fixture {
  explicit Fixture(const TinyFamily& family, double dropout = 0) {
    TrainableOptions options;
    options.dropout = dropout;
    learner = *LoadTrainable(MakeTinyBundle(store.path(), family), options);
    learner->module->train(dropout > 0);
    network = MaskedNetworkOf(*learner->network);
    for (int i = 0; i < kItems; ++i) {
      images.push_back(*learner->network->ReadImage(TinyImage(family, i + 1)));
      texts.push_back(learner->text->Tokenize(TinyText(i))->ids);
    }
    for (const std::vector<int32_t>& text : texts) spans.emplace_back(text);
    for (const ImageNumbers& image : images) {
      shown.push_back({&image, {}});
      pointers.push_back(&image);
    }
  }

  const TempDir store;
  std::unique_ptr<TrainableNetwork> learner;
  const MaskedNetwork* network = nullptr;
  std::vector<ImageNumbers> images;
  std::vector<std::vector<int32_t>> texts;
  std::vector<TokenSpan> spans;
  std::vector<ShownImage> shown;
  std::vector<const ImageNumbers*> pointers;
};

void RequireClose(const at::Tensor& actual, const at::Tensor& expected) {
  REQUIRE(actual.sizes() == expected.sizes());
  REQUIRE(at::allclose(actual, expected, 1e-4, 1e-5));
}

// The same image with its first and its last region exchanged.
ImageNumbers Exchanged(const ImageNumbers& image) {
  ImageNumbers other = image;
  RegionNumbers& regions = other.regions;
  const auto exchange = [&](std::vector<float>* numbers) {
    const auto width = static_cast<int64_t>(numbers->size()) / regions.count;
    for (int64_t k = 0; k < width; ++k) {
      std::swap((*numbers)[k], (*numbers)[(regions.count - 1) * width + k]);
    }
  };
  exchange(&regions.features);
  exchange(&regions.boxes);
  return other;
}

TEST_CASE("who is learnt with parts hidden: two towers, one stream, and nobody else") {
  const at::NoGradGuard no_grad;
  Fixture towers(TinySceneText()), stream(TinyUniter());
  REQUIRE(towers.network->has_two_towers());
  REQUIRE(towers.network->reads_scene_text());
  REQUIRE_FALSE(Fixture(TinyLightningDot()).network->reads_scene_text());
  REQUIRE_FALSE(stream.network->has_two_towers());
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.family() == "sgraf" || family.manifest.family() == "m3p") {
      REQUIRE(Fixture(family).network == nullptr);
    }
  }
}

TEST_CASE("towers' [CLS] rows are what their embeddings are made of") {
  const at::NoGradGuard no_grad;
  // Without a projection the row is the embedding.
  Fixture of(TinyLightningDot());
  const LastRows texts = of.network->TextRows(of.spans);
  const LastRows images = of.network->ImageRows(of.shown, {});
  const auto at_cls = [](const LastRows& last) { return last.At(last.text); };
  RequireClose(at_cls(texts), of.learner->network->EncodeTexts(of.spans));
  RequireClose(at_cls(images), of.learner->network->EncodeImages(of.pointers));
  int64_t rows = 0;
  for (const std::vector<int32_t>& text : of.texts) rows += static_cast<int64_t>(text.size());
  REQUIRE(texts.All().size(0) == rows);
}

TEST_CASE("rows of regions and of the words behind them lie where they are said to lie") {
  const at::NoGradGuard no_grad;
  Fixture towers(TinySceneText()), stream(TinyUniter()), oscar(TinyOscar());
  for (const Fixture* of : {&towers, &stream, &oscar}) {
    const auto last = [&](const std::vector<ShownImage>& shown) {
      return of->network->has_two_towers() ? of->network->ImageRows(shown, {})
                                           : of->network->PairRows(of->spans, shown, {});
    };
    const LastRows before = last(of->shown);
    const at::Tensor rows_before = before.All();
    for (int i = 0; i < kItems; ++i) {
      // Regions have no order: exchanged, they exchange their rows, and nothing else happens.
      const ImageNumbers other = Exchanged(of->images[i]);
      std::vector<ShownImage> shown = of->shown;
      shown[i].image = &other;
      std::vector<int64_t> order(rows_before.size(0));
      for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
      std::swap(order[before.regions[i]],
                order[before.regions[i] + of->images[i].regions.count - 1]);
      RequireClose(last(shown).All(), rows_before.index_select(0, at::tensor(order, at::kLong)));
    }
  }
  const LastRows images = towers.network->ImageRows(towers.shown, {});
  for (int i = 0; i < kItems; ++i) {
    const int64_t end = i + 1 < kItems ? images.text[i + 1] : images.All().size(0);
    REQUIRE(images.ids[i] + static_cast<int64_t>(towers.images[i].ids.size()) == end);
  }
}

TEST_CASE("tags lie behind the text, as many as it leaves room for, and then a separator") {
  const at::NoGradGuard no_grad;
  Fixture of(TinyOscar());
  REQUIRE(of.network->reads_tags());
  REQUIRE_FALSE(Fixture(TinyUniter()).network->reads_tags());
  constexpr int64_t kPositions = 16;  // of text and tags
  const int32_t word = of.texts[0][1], end = of.texts[0].back();
  ImageNumbers image = of.images[2];
  image.ids = {word, word, word, end};
  ImageNumbers bare = image;
  bare.ids = {end};
  for (int64_t length = 2; length <= kPositions + 1; ++length) {
    std::vector<int32_t> text(length, word);
    text.front() = of.texts[0].front();
    text.back() = end;
    const int64_t kept = std::clamp<int64_t>(kPositions - length - 1, 0, 3);
    INFO("a text of " << length);
    REQUIRE(of.network->TagsReadBeside(image, length) == kept);
    REQUIRE(of.network->TagsReadBeside(bare, length) == 0);
    const std::vector<TokenSpan> texts(2, TokenSpan(text));
    const LastRows last = of.network->PairRows(texts, {{&bare, {}}, {&image, {}}}, {});
    REQUIRE(last.text[1] == length + bare.regions.count);
    REQUIRE(last.ids[1] == last.text[1] + length);
    const int64_t separator = length < kPositions ? 1 : 0;
    REQUIRE(last.regions[1] == last.ids[1] + kept + separator);
    REQUIRE(last.All().size(0) == last.regions[1] + image.regions.count);
  }
}

TEST_CASE("rows that are asked for are those of all, dropped numbers and gradients too") {
  for (const double dropout : {0.0, 0.3}) {
    for (const TinyFamily& family : {TinySceneText(), TinyUniter(), TinyOscar()}) {
      INFO(family.name << ", dropout " << dropout);
      Fixture of(family, dropout);
      const auto last = [&] {
        return of.network->has_two_towers() ? of.network->ImageRows(of.shown, {})
                                            : of.network->PairRows(of.spans, of.shown, {});
      };
      // Of some items one row, of others more, of the last one all.
      const LastRows asked = last();
      std::vector<int64_t> rows;
      for (int i = 0; i < kItems; ++i) {
        const int64_t begin = asked.text[i], length = asked.packed.lengths[i];
        const bool is_last = i + 1 == kItems;
        for (int64_t row = is_last ? 0 : i % 2; row < length; row += is_last ? 1 : 1 + i) {
          rows.push_back(begin + row);
        }
      }
      const std::vector<uint64_t> keys = {11, 12, 13, 14, 15};
      const at::Tensor which = at::tensor(rows, at::kLong);
      const auto gradients = [&](const std::function<at::Tensor()>& compute, at::Tensor* found) {
        of.learner->module->zero_grad();
        const DropoutScope scope(/*seed=*/3, keys);
        *found = compute();
        found->square().sum().backward();
        std::vector<at::Tensor> all;
        for (const at::Tensor& parameter : of.learner->module->parameters()) {
          all.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::Tensor());
        }
        return all;
      };
      at::Tensor some, of_all;
      const auto by_some = gradients([&] { return last().At(rows); }, &some);
      const auto by_all = gradients([&] { return last().All().index_select(0, which); }, &of_all);
      RequireClose(some.detach(), of_all.detach());
      REQUIRE(by_some.size() == by_all.size());
      for (size_t k = 0; k < by_some.size(); ++k) {
        REQUIRE(by_some[k].defined() == by_all[k].defined());
        if (by_some[k].defined()) REQUIRE(at::allclose(by_some[k], by_all[k], 1e-3, 1e-4));
      }
    }
  }
}

TEST_CASE("one stream's first rows are what pairs are scored by") {
  const at::NoGradGuard no_grad;
  Fixture of(TinyOscar());
  const LastRows last = of.network->PairRows(of.spans, of.shown, {});
  const Network& network = *of.learner->network;
  std::vector<FeatureRows> prepared;
  std::vector<PreparedText> texts;
  for (int i = 0; i < kItems; ++i) {
    prepared.push_back(network.PrepareImage(of.images[i]));
    texts.push_back(network.PrepareText(of.spans[i]));
  }
  std::vector<NetworkPair> pairs;
  for (int i = 0; i < kItems; ++i) {
    pairs.push_back({of.spans[i], &texts[i], {prepared[i].begin(), prepared[i].end()}});
  }
  const auto parameters = of.learner->module->named_parameters();
  const at::Tensor first = last.At(last.text);
  const at::Tensor pooled = at::tanh(at::linear(first, parameters["bert.pooler.dense.weight"],
                                                parameters["bert.pooler.dense.bias"]));
  RequireClose(at::linear(pooled, parameters["classifier.weight"], parameters["classifier.bias"]),
               network.ScorePairs(pairs));
}

TEST_CASE("a hidden region shows the feature that is given, and nothing of its own") {
  const at::NoGradGuard no_grad;
  Fixture towers(TinyLightningDot()), stream(TinyUniter()), oscar(TinyOscar());
  for (const Fixture* of : {&towers, &stream, &oscar}) {
    const std::vector<int64_t> hidden = {0};
    const auto rows = [&](const std::vector<ImageNumbers>& images, const at::Tensor& feature) {
      std::vector<ShownImage> shown;
      for (const ImageNumbers& image : images) {
        shown.push_back({&image, feature.defined() ? absl::MakeConstSpan(hidden)
                                                   : absl::Span<const int64_t>()});
      }
      return of->network->has_two_towers() ? of->network->ImageRows(shown, feature).All()
                                           : of->network->PairRows(of->spans, shown, feature).All();
    };
    const int64_t width = of->network->region_weight().size(1);
    // An OSCAR's features have the box behind them, which is seen.
    const int64_t own = of == &oscar ? width - 6 : width;
    const at::Tensor feature = at::randn({width});
    std::vector<ImageNumbers> replaced = of->images, changed = of->images;
    for (int i = 0; i < kItems; ++i) {
      for (int k = 0; k < own; ++k) {
        replaced[i].regions.features[k] = feature[k].item<float>();
        changed[i].regions.features[k] += 1;
      }
    }
    RequireClose(rows(of->images, feature), rows(replaced, {}));
    RequireClose(rows(changed, feature), rows(of->images, feature));
    REQUIRE_FALSE(at::allclose(rows(of->images, feature), rows(of->images, {})));
    const std::vector<int64_t> two = {0, 1};
    REQUIRE(of->images[0].regions.count > 1);
    std::vector<ShownImage> shown = of->shown;
    shown[0].hidden = two;
    const LastRows last = of->network->has_two_towers()
                              ? of->network->ImageRows(shown, feature)
                              : of->network->PairRows(of->spans, shown, feature);
    const at::Tensor all = last.All();
    const int64_t first = last.regions[0];
    REQUIRE_FALSE(at::allclose(all[first], all[first + 1]));
  }
}

TEST_CASE("tables are those that the towers read with") {
  Fixture towers(TinyLightningDot()), stream(TinyUniter());
  const auto parameter = [](const Fixture& of, const std::string& name) {
    return of.learner->module->named_parameters()[name];
  };
  REQUIRE(towers.network->text_words().is_same(
      parameter(towers, "txt_model.bert.embeddings.word_embeddings.weight")));
  REQUIRE(towers.network->image_words().is_same(
      parameter(towers, "img_model.bert.embeddings.word_embeddings.weight")));
  REQUIRE(towers.network->region_weight().is_same(
      parameter(towers, "img_model.bert.img_embeddings.img_linear.weight")));
  REQUIRE(stream.network->text_words().is_same(
      parameter(stream, "uniter.embeddings.word_embeddings.weight")));
  REQUIRE(stream.network->image_words().is_same(stream.network->text_words()));
  Fixture oscar(TinyOscar());
  REQUIRE(oscar.network->text_words().is_same(
      parameter(oscar, "bert.embeddings.word_embeddings.weight")));
  REQUIRE(oscar.network->region_weight().is_same(parameter(oscar, "bert.img_embedding.weight")));
}

}  // namespace
}  // namespace sightline
