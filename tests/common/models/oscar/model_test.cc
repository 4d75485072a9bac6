#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/inference.h"
#include "common/models/init_model.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/network/network_model.h"
#include "common/models/network/weights.h"
#include "common/models/oscar/net.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

std::vector<Tokens> Texts() {
  std::vector<Tokens> texts;
  for (int i = 0; i < 23; ++i) texts.push_back(RandomText(1 + i * 7 % 10, i));
  return texts;
}

std::vector<ImageInput> Images() {
  std::vector<ImageInput> images;
  for (int i = 0; i < 23; ++i) images.push_back(RandomImage(1 + i * 5 % 9, i));
  return images;
}

float Farthest(absl::Span<const float> a, absl::Span<const float> b) {
  REQUIRE(a.size() == b.size());
  float farthest = 0;
  for (size_t i = 0; i < a.size(); ++i) farthest = std::max(farthest, std::abs(a[i] - b[i]));
  return farthest;
}

bool SameBits(absl::Span<const float> a, absl::Span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Everything that a model computes, one thing after another.
struct Results {
  EmbeddingMatrix texts, images;
  std::vector<ItemFeatures> text_features, image_features;
  std::vector<float> scores;
};

std::vector<ScoringPair> Pairs(const Results& results) {
  std::vector<ScoringPair> pairs;
  for (size_t i = 0; i < results.text_features.size(); ++i) {
    pairs.push_back({&results.text_features[i], &results.image_features[i * 7 % 23]});
  }
  return pairs;
}

ItemFeatures IdsOf(const Tokens& tokens) {
  ItemFeatures features;
  features.tensors.push_back(
      {"ids", Dtype::kInt32, static_cast<int64_t>(tokens.ids.size()), 1, ""});
  features.tensors[0].bytes.assign(reinterpret_cast<const char*>(tokens.ids.data()),
                                   4 * tokens.ids.size());
  return features;
}

Results Batched(const Model& model) {
  Results results;
  results.texts = *model.text_encoder()->Encode(Texts(), kCall);
  results.images = *model.image_encoder()->Encode(Images(), kCall);
  results.image_features = *model.cross_encoder()->PrepareImages(Images(), kCall);
  for (const Tokens& text : Texts()) results.text_features.push_back(IdsOf(text));
  results.scores = *model.cross_encoder()->Score(Pairs(results), kCall);
  return results;
}

Results OneByOne(const Model& model) {
  Results results;
  results.texts = EmbeddingMatrix(23, model.dimension());
  results.images = EmbeddingMatrix(23, model.dimension());
  const auto store = [](absl::StatusOr<EmbeddingMatrix> one, absl::Span<float> row) {
    REQUIRE(one.ok());
    std::copy(one->data(), one->data() + row.size(), row.begin());
  };
  for (int i = 0; i < 23; ++i) {
    store(model.text_encoder()->Encode({Texts()[i]}, kCall), results.texts.mutable_row(i));
    store(model.image_encoder()->Encode({Images()[i]}, kCall), results.images.mutable_row(i));
    results.text_features.push_back(IdsOf(Texts()[i]));
    results.image_features.push_back(
        (*model.cross_encoder()->PrepareImages({Images()[i]}, kCall))[0]);
  }
  for (const ScoringPair& pair : Pairs(results)) {
    results.scores.push_back((*model.cross_encoder()->Score({pair}, kCall))[0]);
  }
  return results;
}

TEST_CASE("a result is the same alone and in a batch, up to the last bits") {
  ComputePool pool(2);
  ModelOptions options;
  options.pool = &pool;
  const auto model = MakeModel(TinyManifest(), options);
  const Results batch = Batched(*model), single = OneByOne(*model);
  REQUIRE(Farthest(batch.texts.values(), single.texts.values()) < 1e-6);
  REQUIRE(Farthest(batch.images.values(), single.images.values()) < 1e-6);
  REQUIRE(Farthest(batch.scores, single.scores) < 1e-6);
  // Rounded to be stored, a last bit could become a large step: so they agree exactly.
  for (int i = 0; i < 23; ++i) {
    REQUIRE(batch.image_features[i].tensors[0].bytes == single.image_features[i].tensors[0].bytes);
  }
  // The inputs differ, so must the results.
  REQUIRE(Farthest(batch.texts.row(0), batch.texts.row(1)) > 1e-3);
  REQUIRE(Farthest(batch.images.row(0), batch.images.row(1)) > 1e-3);
  REQUIRE(batch.scores[0] != batch.scores[1]);
}

TEST_CASE("deterministic mode gives the same bits whatever the batch and the pool") {
  ComputePool pool(3);
  ModelOptions options;
  options.deterministic = true;
  const Results single = OneByOne(*MakeModel(TinyManifest(), options));
  options.pool = &pool;
  const Results batch = Batched(*MakeModel(TinyManifest(), options));
  REQUIRE(SameBits(batch.texts.values(), single.texts.values()));
  REQUIRE(SameBits(batch.images.values(), single.images.values()));
  REQUIRE(SameBits(batch.scores, single.scores));
}

TEST_CASE("many callers get what one gets") {
  ComputePool pool(2);
  ModelOptions options;
  options.pool = &pool;
  options.deterministic = true;
  const auto model = MakeModel(TinyManifest(), options);
  const Results expected = Batched(*model);
  std::vector<Results> results(4);
  std::vector<std::thread> callers;
  for (Results& result : results) {
    callers.emplace_back([&] { result = Batched(*model); });
  }
  for (std::thread& caller : callers) caller.join();
  for (const Results& result : results) {
    REQUIRE(SameBits(result.scores, expected.scores));
    REQUIRE(SameBits(result.images.values(), expected.images.values()));
  }
}

TEST_CASE("the order of regions does not matter, their content does") {
  const auto model = MakeModel(TinyManifest());
  const ImageInput image = RandomImage(5, 1);
  ImageInput turned = image;
  std::rotate(turned.regions.features.begin(), turned.regions.features.begin() + 20,
              turned.regions.features.end());
  ImageInput mixed = turned;
  std::rotate(turned.regions.boxes.begin(), turned.regions.boxes.begin() + 8,
              turned.regions.boxes.end());
  const auto embeddings = model->image_encoder()->Encode({image, turned, mixed}, kCall);
  REQUIRE(embeddings.ok());
  REQUIRE(Farthest(embeddings->row(0), embeddings->row(1)) < 1e-6);
  REQUIRE(Farthest(embeddings->row(0), embeddings->row(2)) > 1e-6);

  const auto features = model->cross_encoder()->PrepareImages({image, turned, mixed}, kCall);
  const auto text = TextFeatures(*model, "a red fish");
  REQUIRE(text.ok());
  const auto scores = model->cross_encoder()->Score(
      {{&*text, &(*features)[0]}, {&*text, &(*features)[1]}, {&*text, &(*features)[2]}}, kCall);
  REQUIRE(std::abs((*scores)[0] - (*scores)[1]) < 1e-6);
}

TEST_CASE("the order of words matters") {
  const auto model = MakeModel(TinyManifest());
  const auto embeddings = model->text_encoder()->Encode(
      {*model->Tokenize("a red fish"), *model->Tokenize("fish red a")}, kCall);
  REQUIRE(Farthest(embeddings->row(0), embeddings->row(1)) > 1e-5);
}

TEST_CASE("preparing and scoring equals the network applied directly") {
  const TempDir store;
  const ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
  const auto model = *LoadModel(bundle, {});
  OscarNet net(bundle.manifest);
  auto file = Safetensors::Open(bundle.FilePath(kWeightsFile));
  REQUIRE(LoadWeights(**file, {}, net.ptr().get()).ok());
  net->eval();
  torch::NoGradGuard no_grad;

  // [CLS] a red fish ##s [SEP]
  const torch::Tensor ids = torch::tensor({{2, 5, 6, 8, 10, 3}}, torch::kInt64);
  const ImageInput image = RandomImage(4, 3);
  torch::Tensor regions = torch::zeros({1, 4, 16});
  for (int64_t i = 0; i < 4; ++i) {
    const float* box = &image.regions.boxes[i * 4];
    for (int64_t k = 0; k < 10; ++k) regions[0][i][k] = image.regions.features[i * 10 + k];
    for (int64_t k = 0; k < 4; ++k) regions[0][i][10 + k] = box[k];
    regions[0][i][14] = box[2] - box[0];
    regions[0][i][15] = box[3] - box[1];
  }
  const torch::Tensor region_rows = net->RegionRows(regions);
  BertEncoder encoder = net->encoder();
  const auto check = [&](torch::Tensor mean, const absl::StatusOr<EmbeddingMatrix>& actual) {
    REQUIRE(actual.ok());
    mean = mean / mean.norm();
    for (int64_t i = 0; i < 16; ++i) {
      REQUIRE(actual->row(0)[i] == Approx(mean[i].item<float>()).margin(1e-6));
    }
  };
  check(encoder(net->TextRows(ids), torch::Tensor())[0].mean(0),
        model->text_encoder()->Encode({*model->Tokenize("A red FISHs")}, kCall));
  const torch::Tensor cls = net->TextRows(torch::full({1, 1}, 2, torch::kInt64));
  check(encoder(torch::cat({cls, region_rows}, 1), torch::Tensor())[0].mean(0),
        model->image_encoder()->Encode({image}, kCall));

  const torch::Tensor logits = net->MatchLogits(
      encoder(torch::cat({net->TextRows(ids), region_rows}, 1), torch::Tensor()).select(1, 0));
  const auto text = TextFeatures(*model, "a red fishs");
  const auto images = model->cross_encoder()->PrepareImages({image}, kCall);
  const auto score = model->cross_encoder()->Score({{&*text, &(*images)[0]}}, kCall);
  REQUIRE(score.ok());
  REQUIRE((*score)[0] == Approx(torch::softmax(logits, 1)[0][1].item<float>()).margin(1e-6));
  REQUIRE(model->cross_encoder()->Cost({&*text, &(*images)[0]}) == 6 + 4);
}

// The results of `model`, with images' features as they come back from a store.
Results WithStored(const Model& model, Dtype dtype) {
  Results results = Batched(model);
  for (ItemFeatures& image : results.image_features) {
    image = *StoredAs(dtype, std::move(image));
  }
  results.scores = *model.cross_encoder()->Score(Pairs(results), kCall);
  return results;
}

TEST_CASE("features that were rounded to be stored score nearly the same, and cost the same") {
  const auto model = MakeModel(TinyManifest());
  const Results exact = Batched(*model);
  REQUIRE(SameBits(WithStored(*model, Dtype::kFloat32).scores, exact.scores));
  for (const auto& [dtype, bound] :
       {std::pair{Dtype::kFloat16, 1e-3f}, std::pair{Dtype::kInt8, 1e-2f}}) {
    INFO(DtypeName(dtype));
    const Results stored = WithStored(*model, dtype);
    REQUIRE(stored.image_features[0].Find("regions")->dtype == dtype);
    REQUIRE(Farthest(stored.scores, exact.scores) < bound);
    const ScoringPair pair = Pairs(stored)[0];
    REQUIRE(model->cross_encoder()->Cost(pair) == model->cross_encoder()->Cost(Pairs(exact)[0]));
  }
}

// Of each pair, no match and match.
std::vector<std::pair<float, float>> LogitsOf(const Model& model, const Results& results) {
  std::vector<std::pair<float, float>> logits;
  for (size_t i = 0; i < results.text_features.size(); ++i) {
    const Tokens text = Texts()[i];
    const Network& network = *NetworkOf(model);
    const PreparedText prepared = network.PrepareText(text.ids);
    const FeatureTensor& rows = results.image_features[i * 7 % 23].tensors[0];
    const torch::Tensor regions = torch::from_blob(const_cast<char*>(rows.bytes.data()),
                                                   {rows.rows, rows.columns}, torch::kFloat32);
    const torch::Tensor both = network.ScorePairs({{text.ids, &prepared, {regions}}});
    logits.emplace_back(both[0][0].item<float>(), both[0][1].item<float>());
  }
  return logits;
}

TEST_CASE("score kinds are the softmax's second value, and the logit alone") {
  torch::NoGradGuard no_grad;
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  const TempDir store;
  ModelOptions options;
  options.deterministic = true;
  const auto softmax = *LoadModel(MakeBundle(store.path(), manifest), options);
  manifest.mutable_cross_encoder()->set_score_kind("logit_match");
  const auto logit = *LoadModel(MakeBundle(store.path(), manifest), options);
  const Results results = Batched(*softmax);
  const auto raw = *logit->cross_encoder()->Score(Pairs(results), kCall);
  const auto logits = LogitsOf(*softmax, results);
  REQUIRE(softmax->cross_encoder()->score_kind() == ScoreKind::kSoftmaxMatch);
  REQUIRE(logit->cross_encoder()->score_kind() == ScoreKind::kLogitMatch);
  for (size_t i = 0; i < raw.size(); ++i) {
    REQUIRE(raw[i] == Approx(logits[i].second).margin(1e-6));
    const double a = std::exp(logits[i].first), b = std::exp(logits[i].second);
    REQUIRE(results.scores[i] == Approx(b / (a + b)).margin(1e-6));
  }
}

// With tags of at most 16 tokens beside the text's, in segment 1.
bundle::v1::ModelBundleManifest TaggedManifest() {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_position_count(20);
  manifest.mutable_tags()->set_max_token_count(16);
  manifest.mutable_tags()->set_token_type(1);
  return manifest;
}

TEST_CASE("tags stand between text and regions, and take what the text leaves") {
  const TempDir store;
  const ModelBundle bundle = MakeBundle(store.path(), TaggedManifest());
  const auto model = *LoadModel(bundle, {});
  OscarNet net(bundle.manifest);
  auto file = Safetensors::Open(bundle.FilePath(kWeightsFile));
  REQUIRE(LoadWeights(**file, {}, net.ptr().get()).ok());
  net->eval();
  torch::NoGradGuard no_grad;
  const auto score = [&](const std::string& text, const std::vector<std::string>& tags) {
    ImageInput image = RandomImage(3, 1);
    image.tags = tags;
    const auto images = model->cross_encoder()->PrepareImages({image}, kCall);
    const auto words = TextFeatures(*model, text);
    return (*model->cross_encoder()->Score({{&*words, &(*images)[0]}}, kCall))[0];
  };
  // The same by hand: ids 5 is "a", 6 "red", 7 "blue", 8 "fish", 9 "bird", 11 "b".
  const auto expected = [&](std::vector<int64_t> text, std::vector<int64_t> tags) {
    std::vector<torch::Tensor> rows = {net->TextRows(torch::tensor(text).unsqueeze(0))};
    if (!tags.empty()) {
      rows.push_back(net->TextRows(torch::tensor(tags).unsqueeze(0), text.size(), 1));
    }
    const auto images = model->cross_encoder()->PrepareImages({RandomImage(3, 1)}, kCall);
    const FeatureTensor& regions = *(*images)[0].Find("regions");
    rows.push_back(
        torch::from_blob(const_cast<char*>(regions.bytes.data()), {1, 3, 16}, torch::kFloat32));
    BertEncoder encoder = net->encoder();
    const torch::Tensor logits =
        net->MatchLogits(encoder(torch::cat(rows, 1), torch::Tensor()).select(1, 0));
    return torch::softmax(logits, 1)[0][1].item<float>();
  };
  const std::vector<int64_t> text = {2, 5, 6, 8, 3};
  REQUIRE(score("a red fish", {}) == Approx(expected(text, {})).margin(1e-6));
  REQUIRE(score("a red fish", {"bird", "blue b"}) ==
          Approx(expected(text, {9, 7, 11, 3})).margin(1e-6));
  // Of 16 tokens the text has 5, so 10 tags and their [SEP] remain.
  REQUIRE(score("a red fish", std::vector<std::string>(30, "bird")) ==
          Approx(expected(text, {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 3})).margin(1e-6));
  REQUIRE(score("a red fish", {"bird"}) != score("a red fish", {"fish"}));
}

TEST_CASE("a head with a hidden layer is one of ReLUs") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_cross_encoder()->set_head_hidden_size(5);
  const TempDir store;
  const ModelBundle bundle = MakeBundle(store.path(), manifest);
  REQUIRE(LoadModel(bundle, {}).ok());
  OscarNet net(bundle.manifest);
  std::set<std::string> names;
  for (const auto& item : net->named_parameters()) names.insert(item.key());
  for (const char* name : {"classifier.0.weight", "classifier.0.bias", "classifier.2.weight"}) {
    REQUIRE(names.count(name) == 1);
  }
  net->eval();
  torch::NoGradGuard no_grad;
  for (auto& item : net->named_parameters()) {
    if (item.key() == "classifier.0.weight") item.value().zero_();
    if (item.key() == "classifier.0.bias") item.value().fill_(-1);
    if (item.key() == "classifier.2.bias") item.value().copy_(torch::tensor({3.f, 4.f}));
  }
  REQUIRE(torch::equal(net->MatchLogits(torch::randn({1, 16})), torch::tensor({{3.f, 4.f}})));
}

TEST_CASE("embeddings have length one under cosine, and their own otherwise") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  const auto norm = [](const Model& model) {
    const auto embedding = *model.text_encoder()->Encode({RandomText(4, 1)}, kCall);
    double squares = 0;
    for (float v : embedding.values()) squares += v * v;
    return std::sqrt(squares);
  };
  REQUIRE(norm(*MakeModel(manifest)) == Approx(1).margin(1e-6));
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::INNER_PRODUCT);
  REQUIRE(std::abs(norm(*MakeModel(manifest)) - 1) > 0.1);
}

TEST_CASE("a long text is cut to the limit, [SEP] kept") {
  const auto model = MakeModel(TinyManifest());
  const auto tokens = model->Tokenize("b c d e f g h i j k l m n o p q r s t");
  REQUIRE(tokens.ok());
  REQUIRE(tokens->ids.size() == 12);
  REQUIRE(tokens->ids.front() == 2);
  REQUIRE(tokens->ids.back() == 3);
  REQUIRE(model->text_encoder()->Encode({*tokens}, kCall).ok());
}

TEST_CASE("texts that are none are refused") {
  const auto model = MakeModel(TinyManifest());
  for (const std::string& text :
       {std::string(), std::string(" \n\t"), std::string("a\xff\xfe"), std::string(100'000, 'a')}) {
    REQUIRE(absl::IsInvalidArgument(model->Tokenize(text).status()));
    REQUIRE(absl::IsInvalidArgument(TextFeatures(*model, text).status()));
  }
}

TEST_CASE("tokens and images that the model cannot read are named by their place") {
  const auto model = MakeModel(TinyManifest());
  const auto is_second = [](const absl::Status& status, const char* kind) {
    INFO(status.ToString());
    return absl::IsInvalidArgument(status) &&
           absl::StrContains(status.message(), std::string(kind) + " 1 ");
  };
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{}, {-1}, {36}, {1 << 30}, std::vector<int32_t>(13, 5)}) {
    REQUIRE(is_second(model->text_encoder()->Encode({RandomText(1, 1), {ids}}, kCall).status(),
                      "text"));
  }
  ImageInput pixels_only;
  pixels_only.pixels = RandomPixels(4, 4, 1);
  ImageInput wide = RandomImage(2, 1);
  wide.regions.feature_size = 5;
  wide.regions.count = 4;
  for (const ImageInput& bad : {ImageInput(), pixels_only, wide}) {
    REQUIRE(is_second(model->image_encoder()->Encode({RandomImage(1, 1), bad}, kCall).status(),
                      "image"));
    REQUIRE(is_second(
        model->cross_encoder()->PrepareImages({RandomImage(1, 1), bad}, kCall).status(), "image"));
  }
}

TEST_CASE("regions beyond the limit are cut") {
  const auto model = MakeModel(TinyManifest());
  const auto features = model->cross_encoder()->PrepareImages({RandomImage(30, 2)}, kCall);
  REQUIRE((*features)[0].tensors[0].rows == 9);
}

TEST_CASE("the norm of regions may have an epsilon of its own, and no other norm has it") {
  const auto model = [&](float epsilon) {
    bundle::v1::ModelBundleManifest manifest = TinyManifest();
    manifest.mutable_transformer()->set_region_layer_norm_epsilon(epsilon);
    return MakeModel(manifest);
  };
  // Of one region.  New norms scale by one and add zero.
  const auto squares = [&](float epsilon) {
    const auto features =
        model(epsilon)->cross_encoder()->PrepareImages({RandomImage(1, 1)}, kCall);
    const std::string& bytes = (*features)[0].tensors[0].bytes;
    double sum = 0;
    for (size_t i = 0; i < 16; ++i) {
      float x;
      std::memcpy(&x, bytes.data() + 4 * i, 4);
      sum += double{x} * x;
    }
    return sum / 16;
  };
  REQUIRE(squares(0) == Approx(1).epsilon(1e-5));
  // variance / (variance + epsilon), for one variance.
  const double smaller = squares(5e-4f);
  REQUIRE(smaller < 0.95);
  const double variance = 5e-4 * smaller / (1 - smaller);
  REQUIRE(squares(1e-3f) == Approx(variance / (variance + 1e-3)).epsilon(1e-3));
  const auto plain = model(0)->text_encoder()->Encode(Texts(), kCall);
  const auto other = model(1e-3f)->text_encoder()->Encode(Texts(), kCall);
  REQUIRE(std::memcmp(plain->data(), other->data(), 23 * 16 * sizeof(float)) == 0);
}

TEST_CASE("region features too large for float16 are refused, not stored as infinity") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_region_layer_norm(false);
  ImageInput image = RandomImage(2, 1);
  for (float& value : image.regions.features) value *= 1e30f;
  const auto exact = MakeModel(manifest)->cross_encoder()->PrepareImages({image}, kCall);
  REQUIRE(exact.ok());
  REQUIRE(absl::IsInvalidArgument(StoredAs(Dtype::kFloat16, (*exact)[0]).status()));
  REQUIRE(StoredAs(Dtype::kInt8, (*exact)[0]).ok());
}

TEST_CASE("item features that lie are refused, and the first such pair is named") {
  const auto model = MakeModel(TinyManifest());
  const CrossEncoder& encoder = *model->cross_encoder();
  const ItemFeatures text = *TextFeatures(*model, "a red fish");
  const ItemFeatures image = (*encoder.PrepareImages({RandomImage(3, 1)}, kCall))[0];
  REQUIRE(encoder.Score({{&text, &image}}, kCall).ok());

  std::vector<std::pair<ItemFeatures, ItemFeatures>> lies(10, {text, image});
  lies[0].first.tensors.clear();
  lies[1].first.tensors[0].bytes.pop_back();
  lies[2].first.tensors[0].rows = 13;
  lies[2].first.tensors[0].bytes.resize(52);
  lies[3].first.tensors[0].bytes[3] = '\x7f';  // an id of two thousand million
  lies[4].first = IdsOf({{2, -1, 3}});
  lies[5].second.tensors[0].name = "other";
  lies[6].second.tensors[0].columns = 8;
  lies[7].second.tensors[0].rows = std::numeric_limits<int64_t>::max() / 8;
  lies[8].second.tensors[0].rows = 10;
  lies[8].second.tensors[0].bytes.resize(10 * 16 * 4);
  lies[9].second.tensors[0].bytes.replace(2, 2, "\xff\x7f");  // NaN
  for (size_t i = 0; i < lies.size(); ++i) {
    INFO(i);
    const auto result = encoder.Score(
        {{&text, &image}, {&lies[i].first, &lies[i].second}, {nullptr, nullptr}}, kCall);
    REQUIRE(absl::IsInvalidArgument(result.status()));
    REQUIRE(absl::StrContains(result.status().message(), "pair 1 "));
    REQUIRE(encoder.Cost({&lies[i].first, &lies[i].second}) >= 0);
  }
  REQUIRE(absl::IsInvalidArgument(encoder.Score({{&text, nullptr}}, kCall).status()));
  REQUIRE(encoder.Cost({nullptr, nullptr}) == 0);
}

TEST_CASE("an empty batch gives an empty result") {
  const auto model = MakeModel(TinyManifest());
  REQUIRE(model->text_encoder()->Encode({}, kCall)->rows() == 0);
  REQUIRE(model->image_encoder()->Encode({}, kCall)->rows() == 0);
  REQUIRE(model->cross_encoder()->PrepareImages({}, kCall)->empty());
  REQUIRE(model->cross_encoder()->Score({}, kCall)->empty());
}

TEST_CASE("a cancelled call is not computed") {
  const auto model = MakeModel(TinyManifest());
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(model->text_encoder()->Encode(Texts(), call).status()));
  REQUIRE(absl::IsCancelled(model->image_encoder()->Encode(Images(), call).status()));
  REQUIRE(absl::IsCancelled(
      model->region_extractor()->Extract({RandomPixels(9, 9, 1)}, call).status()));
}

TEST_CASE("a picture goes from pixels to a score") {
  const auto model = MakeModel(TinyManifest());
  auto regions = model->region_extractor()->Extract({RandomPixels(50, 30, 1)}, kCall);
  REQUIRE(regions.ok());
  ImageInput image;
  image.regions = std::move((*regions)[0]);
  REQUIRE(model->image_encoder()->Encode({image}, kCall).ok());
  const auto features = model->cross_encoder()->PrepareImages({image}, kCall);
  const auto text = TextFeatures(*model, "blue bird");
  const auto score = model->cross_encoder()->Score({{&*text, &(*features)[0]}}, kCall);
  REQUIRE(score.ok());
  REQUIRE(((*score)[0] > 0 && (*score)[0] < 1));
}

TEST_CASE("a model has the parts that its manifest names") {
  bundle::v1::ModelBundleManifest encoders = TinyManifest();
  encoders.clear_cross_encoder();
  encoders.clear_grid_extractor();
  const auto bi = MakeModel(encoders);
  REQUIRE(bi->cross_encoder() == nullptr);
  REQUIRE(bi->region_extractor() == nullptr);
  REQUIRE(bi->text_encoder() != nullptr);
  REQUIRE(bi->dimension() == 16);
  REQUIRE(bi->space().size() == 64);

  bundle::v1::ModelBundleManifest judge = TinyManifest();
  judge.clear_embedding();
  const auto cross = MakeModel(judge);
  REQUIRE(cross->text_encoder() == nullptr);
  REQUIRE(cross->image_encoder() == nullptr);
  REQUIRE(cross->cross_encoder() != nullptr);
}

TEST_CASE("a vocabulary of another length is refused, with both lengths") {
  const TempDir store;
  const ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
  ModelBundle lying = bundle;
  lying.manifest.mutable_transformer()->set_vocabulary_size(37);
  const absl::Status status = LoadModel(lying, {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "36"));
  REQUIRE(absl::StrContains(status.message(), "37"));
}

TEST_CASE("weights that do not fit the manifest are named, all of them") {
  const TempDir store;
  ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
  bundle.manifest.mutable_transformer()->set_layer_count(3);
  bundle.manifest.mutable_transformer()->set_intermediate_size(20);
  bundle.manifest.mutable_transformer()->set_region_layer_norm(false);
  const absl::Status status = LoadModel(bundle, {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  INFO(status.message());
  REQUIRE(absl::StrContains(status.message(), "bert.encoder.layer.2.output.dense.weight"));
  REQUIRE(absl::StrContains(status.message(), "bert.LayerNorm.weight"));
  REQUIRE(absl::StrContains(
      status.message(),
      "bert.encoder.layer.0.intermediate.dense.weight has shape [24, 16] instead of [20, 16]"));
}

TEST_CASE("a manifest that describes more weights than the file holds sizes nothing") {
  const TempDir store;
  ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
  bundle.manifest.mutable_transformer()->set_layer_count(48);
  bundle.manifest.mutable_transformer()->set_hidden_size(4096);
  bundle.manifest.mutable_transformer()->set_intermediate_size(32768);
  bundle.manifest.mutable_embedding()->set_dimension(4096);
  const absl::Status status = LoadModel(bundle, {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "describes at least"));
}

TEST_CASE("an unknown family is named, with those there are") {
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.set_family("delphi");
  const TempDir store;
  ModelBundle bundle = MakeBundle(store.path(), TinyManifest());
  bundle.manifest.set_family("delphi");
  for (const absl::Status& status :
       {LoadModel(bundle, {}).status(),
        InitModel(store.path(), manifest, TinyVocabulary(), {}).status()}) {
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), "delphi"));
    REQUIRE(absl::StrContains(status.message(), "oscar"));
  }
}

}  // namespace
}  // namespace sightline
