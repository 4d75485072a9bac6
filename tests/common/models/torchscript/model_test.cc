#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/models/init_model.h"
#include "common/models/model.h"
#include "common/models/torchscript/script_bundle.h"
#include "common/models/torchscript/scripted_module.h"
#include "tests/common/models/ensemble/tiny.h"
#include "tests/common/models/tiny_model.h"
#include "tests/common/models/torchscript/tiny_scripts.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();
const char* const kTexts[] = {"red", "a red fish", "fish", "re", "a much longer text, cut off"};

ModelOptions Options(ComputePool* pool, bool deterministic) {
  ModelOptions options;
  options.pool = pool;
  options.deterministic = deterministic;
  return options;
}

std::vector<ImageInput> Images() {
  std::vector<ImageInput> images;
  for (int i = 0; i < 7; ++i) images.push_back(RandomImage(1 + i * 5 % 9, i));
  return images;
}

at::Tensor Rows(const std::vector<float>& values, int64_t columns) {
  return at::tensor(values).view({-1, columns});
}

std::vector<float> Numbers(const at::Tensor& tensor) {
  const at::Tensor stored = tensor.contiguous();
  return {stored.data_ptr<float>(), stored.data_ptr<float>() + stored.numel()};
}

// The referee: one item at a time, nothing padded, no script.
class Referee {
 public:
  explicit Referee(const TinyScripts& scripts) : scripts_(scripts) {}

  std::vector<float> Text(const std::vector<int32_t>& ids) const {
    at::Tensor sum = at::zeros({6});
    for (size_t i = 0; i < ids.size(); ++i) sum += Of("text.pt", "words")[ids[i]] * (1.0 + i);
    return Numbers(sum.tanh().matmul(Of("text.pt", "projection")));
  }

  std::vector<float> Image(const RegionSet& regions) const {
    return Numbers(Joined(regions).mean(0).matmul(Of("image.pt", "projection")));
  }

  float Score(const std::vector<int32_t>& ids, const RegionSet& regions) const {
    at::Tensor text = at::zeros({6});
    for (const int32_t id : ids) text += Of("cross.pt", "words")[id];
    const at::Tensor rows = Joined(regions).matmul(Of("cross.pt", "projection"));
    return (text * rows.tanh().sum(0)).matmul(Of("cross.pt", "head"))[1].item<float>();
  }

 private:
  at::Tensor Of(const std::string& file, const std::string& name) const {
    return scripts_.modules.at(file).tensors.at(name);
  }

  static at::Tensor Joined(const RegionSet& regions) {
    return at::cat({Rows(regions.features, 10), Rows(regions.boxes, 4)}, 1);
  }

  const TinyScripts& scripts_;
};

// All that the model computes of kTexts and Images(), and the same by the referee.
struct Computed {
  std::vector<float> model, referee;
};

void Append(absl::Span<const float> more, std::vector<float>* values) {
  values->insert(values->end(), more.begin(), more.end());
}

Computed Everything(const Model& model, const TinyScripts& scripts) {
  const Referee referee(scripts);
  const std::vector<ImageInput> images = Images();
  Computed computed;
  std::vector<Tokens> texts;
  for (const char* text : kTexts) {
    texts.push_back(*model.Tokenize(text));
    Append(referee.Text(texts.back().ids), &computed.referee);
  }
  for (const ImageInput& image : images) Append(referee.Image(image.regions), &computed.referee);
  const auto text_rows = model.text_encoder()->Encode(texts, kCall);
  const auto image_rows = model.image_encoder()->Encode(images, kCall);
  const auto features = model.cross_encoder()->PrepareImages(images, kCall);
  REQUIRE((text_rows.ok() && image_rows.ok() && features.ok()));
  Append(text_rows->values(), &computed.model);
  Append(image_rows->values(), &computed.model);
  std::vector<ItemFeatures> words;
  for (const char* text : kTexts) words.push_back(*TextFeatures(model, text));
  std::vector<ScoringPair> pairs;
  for (size_t t = 0; t < texts.size(); ++t) {
    for (size_t i = 0; i < images.size(); ++i) {
      pairs.push_back({&words[t], &(*features)[i]});
      computed.referee.push_back(referee.Score(texts[t].ids, images[i].regions));
    }
  }
  const auto scores = model.cross_encoder()->Score(pairs, kCall);
  REQUIRE(scores.ok());
  Append(*scores, &computed.model);
  return computed;
}

TEST_CASE("towers and cross-encoder give what their scripts say, however they are batched") {
  const TinyScripts scripts;
  ComputePool pool(3);
  for (const ModelOptions& options :
       {Options(nullptr, false), Options(&pool, false), Options(&pool, true)}) {
    const Computed computed = Everything(*scripts.Load(options), scripts);
    REQUIRE(computed.model.size() == computed.referee.size());
    for (size_t i = 0; i < computed.model.size(); ++i) {
      REQUIRE(computed.model[i] == Approx(computed.referee[i]).margin(1e-4).epsilon(1e-5));
    }
  }
}

TEST_CASE("the first call's bits are the twentieth's, on any thread") {
  const TinyScripts scripts;
  ComputePool pool(3);
  const auto model = scripts.Load(Options(&pool, true));
  const std::vector<float> first = Everything(*model, scripts).model;
  std::vector<std::vector<float>> others(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& other : others) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const Tokens text = *model->Tokenize(kTexts[1]);
        const auto rows = *model->text_encoder()->Encode({text}, kCall);
        const auto images = *model->image_encoder()->Encode(Images(), kCall);
        other.assign(rows.values().begin(), rows.values().end());
        Append(images.values(), &other);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> same(first.begin() + 5, first.begin() + 10);  // of kTexts[1]
  Append(absl::MakeConstSpan(first).subspan(5 * 5, 7 * 5), &same);
  for (const std::vector<float>& other : others) REQUIRE(other == same);
}

TEST_CASE("pixels become regions by the script, bit for bit the same alone and in a batch") {
  const TinyScripts scripts;
  ComputePool pool(3);
  const auto model = scripts.Load(Options(&pool, false));
  const std::vector<Pixels> pictures = {RandomPixels(16, 16, 1), RandomPixels(90, 33, 2),
                                        RandomPixels(7, 200, 3), RandomPixels(300, 300, 4)};
  const auto sets = model->region_extractor()->Extract(pictures, kCall);
  REQUIRE(sets.ok());
  for (size_t i = 0; i < pictures.size(); ++i) {
    const auto alone = *model->region_extractor()->Extract({pictures[i]}, kCall);
    REQUIRE(alone[0].features == (*sets)[i].features);
    REQUIRE(alone[0].boxes == (*sets)[i].boxes);
    const auto reduced = *model->region_extractor()->Extract(
        {model->region_extractor()->Reduce(pictures[i])}, kCall);
    REQUIRE(reduced[0].features == (*sets)[i].features);
  }
  // A picture of the right size is only cut into quarters.
  const at::Tensor bytes = at::tensor(pictures[0].rgb).to(at::kFloat).view({16, 16, 3});
  const at::Tensor quarter = bytes.narrow(0, 8, 8).narrow(1, 0, 8).mean(0).mean(0) / 255;
  const at::Tensor normal =
      (quarter - at::tensor({0.5f, 0.4f, 0.3f})) / at::tensor({0.2f, 0.3f, 0.25f});
  const std::vector<float> wanted =
      Numbers(normal.matmul(scripts.modules.at("regions.pt").tensors.at("kernel")));
  for (int i = 0; i < 10; ++i) {
    REQUIRE((*sets)[0].features[20 + i] == Approx(wanted[i]).margin(1e-4));
  }
  ImageInput image;
  image.regions = (*sets)[1];
  const auto embedding = *model->image_encoder()->Encode({image}, kCall);
  const std::vector<float> referee = Referee(scripts).Image(image.regions);
  for (int i = 0; i < 5; ++i) REQUIRE(embedding.row(0)[i] == Approx(referee[i]).margin(1e-4));
}

TEST_CASE("a score of one number is taken as it is") {
  TinyScripts scripts;
  scripts.manifest.mutable_cross_encoder()->set_score_kind("rank_raw");
  scripts.modules["cross.pt"].tensors["head"] = at::randn({6, 1});
  const auto model = scripts.Load();
  const auto words = *TextFeatures(*model, "red");
  const auto features = *model->cross_encoder()->PrepareImages({Images()[1]}, kCall);
  REQUIRE(model->cross_encoder()->Score({{&words, &features[0]}}, kCall).ok());
  REQUIRE(model->cross_encoder()->score_kind() == ScoreKind::kRankRaw);
}

TEST_CASE("parts that a manifest leaves out are not there") {
  TinyScripts towers;
  towers.manifest.clear_cross_encoder();
  towers.manifest.mutable_torch_script()->clear_cross_encoder();
  towers.manifest.mutable_torch_script()->clear_region_extractor();
  towers.manifest.mutable_torch_script()->clear_pixels();
  const auto model = towers.Load();
  REQUIRE(model->cross_encoder() == nullptr);
  REQUIRE(model->region_extractor() == nullptr);
  REQUIRE(model->dimension() == 5);
  TinyScripts pairs;
  pairs.manifest.clear_embedding();
  pairs.manifest.mutable_torch_script()->clear_text_encoder();
  pairs.manifest.mutable_torch_script()->clear_image_encoder();
  REQUIRE(pairs.Load()->text_encoder() == nullptr);
}

TEST_CASE("scripts may be members of an ensemble") {
  TinyScripts scripts;
  scripts.manifest.mutable_torch_script()->clear_region_extractor();
  scripts.manifest.mutable_torch_script()->clear_pixels();
  const TempDir store;
  const ModelBundle member = *scripts.Bundle(store.path());
  const auto ensemble = LoadModel(MakeEnsemble(store.path(), {member, member}), {});
  INFO(ensemble.status().ToString());
  REQUIRE(ensemble.ok());
  const auto score = [](const Model& model) {
    const auto words = *TextFeatures(model, "a red fish");
    const auto features = *model.cross_encoder()->PrepareImages({Images()[2]}, kCall);
    const float raw = (*model.cross_encoder()->Score({{&words, &features[0]}}, kCall))[0];
    return ToProbability(model.cross_encoder()->score_kind(), raw);
  };
  REQUIRE(score(**ensemble) == Approx(score(**LoadModel(member, {}))).margin(1e-6));
}

// What bundling `scripts` is refused with.
std::string Refusal(const TinyScripts& scripts) {
  const TempDir store;
  const absl::Status status = scripts.Bundle(store.path()).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_FALSE(FileExists(store.File("models")));
  return std::string(status.message());
}

struct Case {
  std::string file, source, refusal;
};

TEST_CASE("a module that does not fit the signature is named when it is loaded") {
  for (const Case& wrong : std::vector<Case>{
           {"text.pt", "def encode(self, ids, mask):\n    return ids\n", "no method 'forward'"},
           {"text.pt", "def forward(self, ids):\n    return ids\n",
            "'forward' takes 1 arguments; it is called with 2"},
           {"text.pt", "def forward(self, ids, mask):\n    return ids\n",
            "text.pt, forward gave long of 2 x 12, wanted float of 2 x 5"},
           {"text.pt", "def forward(self, ids, mask):\n    return mask\n",
            "text.pt, forward gave float of 2 x 12, wanted float of 2 x 5"},
           {"text.pt", "def forward(self, ids, mask):\n    return (mask[:, :5], mask[:, :5])\n",
            "float of 2 x 5 and float of 2 x 5, wanted float of 2 x 5"},
           {"text.pt", "def forward(self, ids, mask):\n    return ids.size(0)\n",
            "gave a value of type Int, wanted"},
           {"text.pt", "def forward(self, ids, mask):\n    return self.words[ids[:, 11]][:1, :5]\n",
            "float of 1 x 5"},
           {"text.pt",
            "def forward(self, ids, mask):\n    return self.words[ids + 512].sum(1)[:, :5]\n",
            "text.pt, forward: "},
           {"image.pt", "def forward(self, features, boxes, mask):\n    return features[0]\n",
            "image.pt, forward gave float of 9 x 10, wanted float of 2 x 5"},
           {"regions.pt", "def forward(self, pixels):\n    return pixels\n",
            "wanted a tuple of float of 1 x any x 10 and float of 1 x any x 4"},
           {"regions.pt",
            "def forward(self, pixels):\n"
            "    return torch.ones(1, 10, 10), torch.ones(1, 10, 4)\n",
            "regions.pt, forward gave 10 regions and 10 boxes, wanted as many, 1 to 9"},
           {"regions.pt",
            "def forward(self, pixels):\n    return torch.ones(1, 2, 10), torch.ones(1, 3, 4)\n",
            "gave 2 regions and 3 boxes"},
           {"regions.pt",
            "def forward(self, pixels):\n"
            "    return torch.ones(1, 2, 10), torch.ones(1, 2, 4) * 16\n",
            "which looks like pixels"},
           {"regions.pt",
            "def forward(self, pixels):\n"
            "    return torch.ones(1, 2, 10) / 0, torch.ones(1, 2, 4)\n",
            "a region feature that is not a finite number"},
           {"cross.pt", "def forward(self, a, b, c, d):\n    return a\n",
            "no method 'prepare'; mark it with @torch.jit.export"},
           {"cross.pt",
            "def prepare(self, features, boxes):\n    return features[:, :0]\n"
            "def forward(self, a, b, c, d):\n    return a\n",
            "prepare gave no rows"},
           {"cross.pt",
            "def prepare(self, features, boxes):\n    return features\n"
            "def forward(self, a, b, c, d):\n    return d[:, :1]\n",
            "cross.pt, forward gave float of 2 x 1, wanted float of 2 x 2"},
       }) {
    TinyScripts scripts;
    scripts.modules[wrong.file].source = wrong.source;
    const std::string refusal = Refusal(scripts);
    INFO(refusal);
    REQUIRE(absl::StrContains(refusal, wrong.refusal));
    REQUIRE(absl::StrContains(refusal, wrong.file));
    REQUIRE(refusal.size() < 500);
    REQUIRE_FALSE(absl::StrContains(refusal, '\n'));
  }
}

TEST_CASE("what is no scripted module is refused") {
  const TinyScripts scripts;
  const TempDir folder;
  const std::string path = folder.File("text.pt");
  scripts.Write(folder.path());
  const std::string whole = *ReadFile(path);
  const auto refusal = [&](const std::string& bytes) {
    REQUIRE(WriteFileAtomically(path, bytes).ok());
    const TempDir store;
    const absl::Status status = BundleScripts(folder.path(), store.path()).status();
    INFO(status.ToString());
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), path));
    REQUIRE(status.message().size() < 600);
    return std::string(status.message());
  };
  REQUIRE(absl::StrContains(refusal(""), "torch.jit.save"));
  REQUIRE(absl::StrContains(refusal("weights"), "torch.jit.save"));
  for (size_t length = 4; length < whole.size(); length += whole.size() / 37) {
    REQUIRE(absl::StrContains(refusal(whole.substr(0, length)), "no scripted module"));
  }
  REQUIRE(std::remove(path.c_str()) == 0);
  const absl::Status missing = BundleScripts(folder.path(), folder.File("store")).status();
  REQUIRE(absl::IsNotFound(missing));
  REQUIRE(absl::StrContains(missing.message(), path));
}

TEST_CASE("a flipped bit is refused or read, and nothing worse") {
  const TinyScripts scripts;
  const TempDir folder;
  const std::string path = folder.File("regions.pt");
  scripts.Write(folder.path());
  const std::string whole = *ReadFile(path);
  for (size_t at = 0; at < whole.size(); at += whole.size() / 50) {
    std::string flipped = whole;
    flipped[at] ^= 1 << at % 8;
    REQUIRE(WriteFileAtomically(path, flipped).ok());
    const TempDir store;
    const absl::Status status = BundleScripts(folder.path(), store.path()).status();
    INFO(status.ToString());
    REQUIRE((status.ok() || absl::IsInvalidArgument(status)));
  }
}

TEST_CASE("what a script throws names its file and says what happened, in one line") {
  TinyScripts scripts;
  const std::string source = scripts.modules["text.pt"].source;
  const size_t body = source.find("    places");
  const auto with = [&](const std::string& line) {
    std::string changed = source;
    // Not of the probe's texts.
    changed.insert(body, "    if ids.size(1) == 3:\n        " + line + "\n");
    scripts.modules["text.pt"].source = changed;
    const auto model = scripts.Load();
    const absl::Status status =
        model->text_encoder()->Encode({*model->Tokenize("red")}, kCall).status();
    INFO(status.ToString());
    REQUIRE_FALSE(absl::StrContains(status.message(), '\n'));
    return status;
  };
  const absl::Status raised = with("assert False, 'no such fish'");
  REQUIRE(absl::IsInternal(raised));
  REQUIRE(absl::StrContains(raised.message(), "encode texts: text.pt, forward: "));
  REQUIRE(absl::StrContains(raised.message(), "no such fish"));
  REQUIRE(absl::StrContains(with("mask = mask @ mask").message(), "shapes cannot be multiplied"));
  REQUIRE(absl::IsResourceExhausted(with("assert False, \"can't allocate memory\"")));
  REQUIRE(absl::StrContains(with("mask = mask / 0").message(), "not finite"));
}

TEST_CASE("more rows than an image with the most regions has are refused") {
  TinyScripts scripts;
  scripts.modules["cross.pt"].source =
      "def prepare(self, features, boxes):\n"
      "    rows = torch.ones(1, 3, 6)\n"
      "    if features.size(1) == 4:\n"
      "        rows = torch.ones(1, 4, 6)\n"
      "    return rows\n"
      "def forward(self, a, b, c, d):\n    return d[:, :1].expand(-1, 2)\n";
  const auto model = scripts.Load();
  REQUIRE(model->cross_encoder()->PrepareImages({RandomImage(5, 1)}, kCall).ok());
  const absl::Status status =
      model->cross_encoder()->PrepareImages({RandomImage(4, 1)}, kCall).status();
  REQUIRE(absl::StrContains(status.message(), "cross.pt, prepare gave 4 rows"));
}

TEST_CASE("a manifest's problems are told together") {
  TinyScripts scripts;
  bundle::v1::TorchScriptSpec* spec = scripts.manifest.mutable_torch_script();
  spec->clear_text_encoder();
  spec->clear_cross_encoder();
  spec->set_region_feature_size(0);
  spec->set_max_region_count(5000);
  spec->mutable_pixels()->set_image_size(8);
  spec->mutable_pixels()->clear_fit();
  spec->mutable_pixels()->clear_filter();
  spec->mutable_pixels()->add_mean(1);
  spec->mutable_pixels()->set_standard_deviation(0, 0);
  spec->set_region_class_count(-1);
  scripts.manifest.mutable_region_rule()->set_confidence_floor(2);
  const std::string refusal = Refusal(scripts);
  for (const char* part : {"text_encoder", "torch_script.cross_encoder", "region_feature_size",
                           "max_region_count", "image_size", "fit", "filter", "pixels.mean",
                           "standard_deviation", "confidence_floor", "region_class_count"}) {
    INFO(part);
    REQUIRE(absl::StrContains(refusal, part));
  }
  TinyScripts nothing;
  nothing.manifest.clear_embedding();
  nothing.manifest.clear_cross_encoder();
  nothing.manifest.clear_torch_script();
  nothing.manifest.clear_tokenizer();
  REQUIRE(absl::StrContains(Refusal(nothing), "neither an embedding nor a cross_encoder"));
}

TEST_CASE("the vocabulary must be as large as the manifest says, which may leave it out") {
  TinyScripts scripts;
  const TempDir store;
  REQUIRE(scripts.Bundle(store.path())->manifest.torch_script().vocabulary_size() == 516);
  scripts.manifest.mutable_torch_script()->set_vocabulary_size(515);
  REQUIRE(absl::StrContains(Refusal(scripts), "has 516 tokens, but the word table has 515 rows"));
  scripts.manifest.mutable_torch_script()->clear_vocabulary_size();
  scripts.vocabulary = "no merges";
  REQUIRE(absl::StrContains(Refusal(scripts), "merges.txt: "));
}

TEST_CASE("scripts are not made of random weights, nor other families of scripts") {
  TinyScripts scripts;
  const TempDir store;
  const absl::Status status =
      InitModel(store.path(), scripts.manifest, scripts.vocabulary, {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "convert --scripts"));
  scripts.manifest.set_family("oscar");
  REQUIRE(absl::StrContains(Refusal(scripts), "of family 'oscar'"));
}

TEST_CASE("of an exception's text the line that says what happened is told") {
  REQUIRE(ScriptErrorLine("The following operation failed in the TorchScript interpreter.\n"
                          "Traceback of TorchScript (most recent call last):\n"
                          "  File \"model.py\", line 3, in forward\n"
                          "    return a @ b\n           ~~~~~ <--- HERE\n"
                          "RuntimeError: mat1 and mat2 cannot be multiplied\nmore of it\n") ==
          "RuntimeError: mat1 and mat2 cannot be multiplied");
  REQUIRE(ScriptErrorLine("\nUnknown builtin op: a::b.\nHere are some suggestions:") ==
          "Unknown builtin op: a::b.");
  REQUIRE(ScriptErrorLine("").empty());
  REQUIRE(ScriptErrorLine(std::string(5000, 'x')).size() == 300);
}

}  // namespace
}  // namespace sightline
