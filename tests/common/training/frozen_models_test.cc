#include "common/training/frozen_models.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TinyFamily FamilyNamed(const std::string& name) {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.manifest.family() == name) return family;
  }
  FAIL("no family " << name);
  return {};
}

// The tiny families' words in the reverse order.
std::string OtherVocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  std::vector<std::string> words = TinyWords();
  std::reverse(words.begin(), words.end());
  for (const std::string& word : words) absl::StrAppend(&text, word, "\n");
  return text;
}

Recipe TaughtBy(const std::vector<std::string>& names) {
  Recipe recipe;
  for (const std::string& name : names) {
    recipe.tasks.emplace_back();
    recipe.tasks.back().teacher = name;
  }
  return recipe;
}

TEST_CASE("each model reads the corpus in its own way, and is loaded once") {
  const TempDir store;
  TinyFamily uniter = FamilyNamed("uniter");
  uniter.vocabulary = OtherVocabulary();
  const ModelBundle first = MakeTinyBundle(store.path(), uniter);
  const ModelBundle second = MakeTinyBundle(store.path(), FamilyNamed("oscar"));
  const auto corpus = MadeUpPairs(FamilyNamed("oscar"), 12);
  Recipe recipe = TaughtBy({"a", "", "b", "a"});
  recipe.retriever = "b";
  const NamedBundles bundles = {{"a", &first}, {"b", &second}};
  const auto models =
      FrozenModels::Load(recipe, bundles, *corpus, c10::kCPU, CallContext::Unbounded());
  INFO(models.status().ToString());
  REQUIRE(models.ok());
  const LearntPairs& a = *models->Find("a");
  const LearntPairs& b = *models->Find("b");
  REQUIRE(models->Find("") == nullptr);
  for (const LearntPairs* pairs : {&a, &b}) {
    REQUIRE_FALSE(pairs->learner().module->is_training());
    for (int64_t i = 0; i < corpus->caption_count(); ++i) {
      const auto own = pairs->learner().text->Tokenize(corpus->caption(i))->ids;
      REQUIRE(std::vector<int32_t>(pairs->text(i).begin(), pairs->text(i).end()) == own);
    }
  }
  const auto ids = [](TokenSpan text) { return std::vector<int32_t>(text.begin(), text.end()); };
  REQUIRE(ids(a.text(1)) != ids(b.text(1)));
  // Boxes of seven numbers and of six.
  REQUIRE(a.ReadImage(0)->regions.boxes.size() != b.ReadImage(0)->regions.boxes.size());

  REQUIRE(DescribeBundles(recipe, bundles) ==
          absl::StrCat("tasks.0.teacher=", first.id, "\ntasks.2.teacher=", second.id,
                       "\ntasks.3.teacher=", first.id, "\nretriever=", second.id, "\n"));
  REQUIRE(DescribeBundles(TaughtBy({""}), {}).empty());
}

TEST_CASE("a teacher's scores are raw numbers, whatever its head says") {
  const TempDir store;
  for (const std::string family : {"uniter", "oscar", "sgraf"}) {
    INFO(family);
    const ModelBundle bundle = MakeTinyBundle(store.path(), FamilyNamed(family));
    const auto corpus = MadeUpPairs(FamilyNamed(family), 12);
    const auto models = *FrozenModels::Load(TaughtBy({"x"}), {{"x", &bundle}}, *corpus, c10::kCPU,
                                            CallContext::Unbounded());
    const LearntPairs& teacher = *models.Find("x");
    const Network& network = *teacher.learner().network;
    std::vector<std::pair<int64_t, int64_t>> captioned;
    for (int64_t i = 0; i < 12; ++i) captioned.emplace_back(i, i * 5 % 12);
    const at::Tensor scores = *ScoresOfTeacher(teacher, captioned, CallContext::Unbounded());
    REQUIRE_FALSE(scores.requires_grad());
    for (size_t i = 0; i < captioned.size(); ++i) {
      const auto [caption, picture] = captioned[i];
      const PreparedText text = network.PrepareText(teacher.text(caption));
      const FeatureRows image = network.PrepareImage(*teacher.ReadImage(picture));
      const at::Tensor head =
          network.ScorePairs({{teacher.text(caption), &text, {image.begin(), image.end()}}})[0];
      // The probability of a match that each stands for.
      const double p = head.numel() == 2             ? at::softmax(head, 0)[1].item<double>()
                       : bundle.manifest.has_sgraf() ? head[0].item<double>()
                                                     : at::sigmoid(head[0]).item<double>();
      REQUIRE(at::sigmoid(scores[i]).item<double>() == Approx(p).epsilon(1e-3).margin(1e-5));
    }
  }
}

TEST_CASE("a bundle that is not there, or cannot do what it is for, is named") {
  const TempDir store;
  const ModelBundle uniter = MakeTinyBundle(store.path(), FamilyNamed("uniter"));
  const ModelBundle towers = MakeTinyBundle(store.path(), FamilyNamed("lightningdot"));
  const ModelBundle ensemble = MakeTinyBundle(store.path(), FamilyNamed("ensemble"));
  const ModelBundle of_five = MakeTinyBundle(store.path(), FamilyNamed("sgraf"));
  const auto corpus = MadeUpPairs(FamilyNamed("uniter"), 12);
  const auto message = [&](const Recipe& recipe, const ModelBundle& bundle) {
    const absl::Status status =
        FrozenModels::Load(recipe, {{"x", &bundle}}, *corpus, c10::kCPU, CallContext::Unbounded())
            .status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  using Catch::Contains;
  REQUIRE_THAT(message(TaughtBy({"y"}), uniter), Contains("the teacher y: the recipe names it"));
  REQUIRE_THAT(message(TaughtBy({"x"}), towers), Contains("the teacher x: it scores no pairs"));
  REQUIRE_THAT(message(TaughtBy({"x"}), ensemble), Contains("the teacher x: "));
  REQUIRE_THAT(message(TaughtBy({"x"}), of_five),
               Contains("the teacher x: the network cannot read") && Contains("made/1000"));
  Recipe retrieved;
  retrieved.retriever = "x";
  REQUIRE_THAT(message(retrieved, uniter), Contains("the retriever x: it embeds nothing"));
}

}  // namespace
}  // namespace sightline
