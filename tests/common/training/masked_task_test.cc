#include "common/training/recipe_task.h"

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "common/models/network/masked_network.h"
#include "common/models/trainable.h"
#include "common/training/pretraining.h"
#include "tests/common/models/oscar/tiny.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Fixture {
  Fixture() {
    REQUIRE(pairs.ReadCaptions().ok());
    REQUIRE(pairs.ReadPictures(CallContext::Unbounded()).ok());
    recipe.tasks.resize(1);
    recipe.tasks[0].objective = "mlm";
    recipe.tasks[0].batch = 12;
    recipe.tasks[0].masked_share = 0.4;
    recipe.tasks[0].masks_tags = true;
    heads = *MakePretrainingHeads(recipe, start, /*region_classes=*/0, at::kCPU);
  }

  TaskSetting Setting() const {
    TaskSetting setting;
    setting.recipe = &recipe;
    setting.pairs = &pairs;
    setting.heads = heads;
    setting.start = &start;
    return setting;
  }

  const TempDir store;
  const TinyFamily family = TinyOscar();
  const ModelBundle start = MakeTinyBundle(store.path(), family);
  const std::unique_ptr<TrainableNetwork> learner = *LoadTrainable(start, {});
  const std::unique_ptr<PairCorpus> corpus = MadeUpPairs(family, 20);
  LearntPairs pairs{corpus.get(), learner.get()};
  Recipe recipe;
  PretrainingHeads heads{nullptr};
};

TEST_CASE("words and tags are hidden as one text, and both are predicted where they stand") {
  Fixture of;
  const MaskedNetwork& network = *MaskedNetworkOf(*of.learner->network);
  TokenMasking masking = *MaskingOf(of.start, "");
  masking.share = 0.4;
  int64_t hidden_words = 0, hidden_tags = 0;
  for (const int64_t number : {0, 1, 2}) {
    const TaskSetting setting = of.Setting();
    PairSampler sampler = SamplerOf(setting, 0);
    const DrawnBatch drawn = DrawBatch(of.recipe.tasks[0], number, &sampler);
    double sum = 0;
    int64_t count = 0;
    for (size_t row = 0; row < drawn.captions.size(); ++row) {
      const TokenSpan text = of.pairs.text(drawn.captions[row]);
      ImageNumbers image = *of.pairs.ReadImage(drawn.pictures[row]);
      const auto words = static_cast<int64_t>(text.size()) - 2;
      // All of them fit beside these captions; [SEP] is no tag.
      const auto tags = static_cast<int64_t>(image.ids.size()) - 1;
      std::vector<int32_t> both(text.begin() + 1, text.end() - 1);
      both.insert(both.end(), image.ids.begin(), image.ids.end() - 1);
      Random random(RowSeed(SeedOfTask(setting, 0), RandomStream::kMaskedTokens, number, row));
      const MaskedTokens masked = MaskTokens(both, masking, &random);
      std::vector<int32_t> shown = {text.front()};
      shown.insert(shown.end(), masked.tokens.begin(), masked.tokens.begin() + words);
      shown.push_back(text.back());
      for (int64_t tag = 0; tag < tags; ++tag) image.ids[tag] = masked.tokens[words + tag];
      const at::Tensor rows = network.PairRows({TokenSpan(shown)}, {{&image, {}}}, {}).All();
      for (size_t k = 0; k < masked.places.size(); ++k) {
        const int64_t place = masked.places[k];
        // [CLS] words [SEP] tags [SEP] regions
        const int64_t at = place < words ? 1 + place : 2 + place;
        const at::Tensor logits =
            of.heads->tokens().forward(rows[at].unsqueeze(0), network.text_words());
        sum -= at::log_softmax(logits, 1)[0][masked.targets[k]].item<double>();
        ++count;
        ++(place < words ? hidden_words : hidden_tags);
      }
    }
    const auto step = (*NewRecipeTask(setting, 0))->AddGradients(number, CallContext::Unbounded());
    INFO(step.status().ToString());
    REQUIRE(step.ok());
    REQUIRE(step->loss.value.item<double>() == Approx(sum / count).epsilon(1e-4));
  }
  REQUIRE(hidden_words > 10);
  REQUIRE(hidden_tags > 10);
}

}  // namespace
}  // namespace sightline
