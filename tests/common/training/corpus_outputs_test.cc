#include "common/training/corpus_outputs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>
#include <vector>

#include "common/training/learner_outputs.h"
#include "tests/common/training/corpus_learner.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Of one to five words, so that others are padded; their tokens are `tokens`.
std::vector<TokenSpan> Texts(const CorpusLearner& of, std::vector<std::vector<int32_t>>* tokens) {
  for (int i = 0; i < 40; ++i) {
    std::string text = TinyText(i);
    for (int more = 0; more < i % 4; ++more) text += " fish";
    tokens->push_back(of.learner->text->Tokenize(text)->ids);
  }
  return {tokens->begin(), tokens->end()};
}

void RequireRows(const at::Tensor& actual, const std::vector<at::Tensor>& expected) {
  REQUIRE(actual.size(0) == static_cast<int64_t>(expected.size()));
  REQUIRE_FALSE(actual.requires_grad());
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO(i);
    REQUIRE((actual[i] - expected[i]).abs().max().item<float>() < 1e-5F);
  }
}

TEST_CASE("texts and pictures are embedded together as one at a time, in their order") {
  for (const std::string family : {"lightningdot", "oscar", "vldeformer", "m3p"}) {
    INFO(family);
    const CorpusLearner of(family, 20);
    std::vector<std::vector<int32_t>> tokens;
    const std::vector<TokenSpan> texts = Texts(of, &tokens);
    const at::Tensor rows = *EmbedTexts(*of.learner, texts, CallContext::Unbounded());
    const at::Tensor pictures = *EmbedPictures(*of.pairs, 0, 17, CallContext::Unbounded());
    REQUIRE(of.learner->module->is_training());

    const at::NoGradGuard no_grad;
    of.learner->module->eval();
    std::vector<at::Tensor> lone_texts, lone_pictures;
    for (const TokenSpan text : texts) {
      lone_texts.push_back(ComparedRows(*of.learner, of.learner->network->EncodeTexts({text}))[0]);
    }
    for (int64_t i = 0; i < 17; ++i) {
      const ImageNumbers image = *of.pairs->ReadImage(i);
      lone_pictures.push_back(
          ComparedRows(*of.learner, of.learner->network->EncodeImages({&image}))[0]);
    }
    RequireRows(rows, lone_texts);
    RequireRows(pictures, lone_pictures);
  }
}

TEST_CASE("more pictures than are held at once are in their order") {
  const CorpusLearner of("lightningdot", 300);
  const at::Tensor pictures = *EmbedPictures(*of.pairs, 0, 300, CallContext::Unbounded());
  REQUIRE(pictures.size(0) == 300);
  const at::NoGradGuard no_grad;
  of.learner->module->eval();
  for (const int64_t i : {0, 255, 256, 299}) {
    const ImageNumbers image = *of.pairs->ReadImage(i);
    const at::Tensor lone = of.learner->network->EncodeImages({&image})[0];
    REQUIRE(
        (pictures[i] - ComparedRows(*of.learner, lone.unsqueeze(0))[0]).abs().max().item<float>() <
        1e-5F);
  }
}

TEST_CASE("pairs are scored together as one at a time, in their order") {
  for (const std::string family : {"uniter", "oscar", "m3p", "sgraf"}) {
    INFO(family);
    const CorpusLearner of(family, 20);
    std::vector<std::pair<int64_t, int64_t>> captioned;
    for (int64_t i = 0; i < 300; ++i) captioned.emplace_back(i * 7 % 20, i * 3 % 20);
    const at::Tensor scores = *ScoreCaptioned(*of.pairs, captioned, CallContext::Unbounded());
    REQUIRE(of.learner->module->is_training());

    const at::NoGradGuard no_grad;
    of.learner->module->eval();
    const Network& network = *of.learner->network;
    std::vector<at::Tensor> lone;
    for (const auto& [caption, picture] : captioned) {
      const PreparedText text = network.PrepareText(of.pairs->text(caption));
      const FeatureRows image = network.PrepareImage(*of.pairs->ReadImage(picture));
      lone.push_back(RankingScores(
          network.ScorePairs({{of.pairs->text(caption), &text, {image.begin(), image.end()}}}))[0]);
    }
    RequireRows(scores, lone);
  }
}

TEST_CASE("a call that has ended ends an embedding") {
  const CorpusLearner of("lightningdot", 4);
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  std::vector<std::vector<int32_t>> tokens;
  REQUIRE(EmbedTexts(*of.learner, Texts(of, &tokens), call).status().code() ==
          absl::StatusCode::kCancelled);
  REQUIRE(EmbedPictures(*of.pairs, 0, 4, call).status().code() == absl::StatusCode::kCancelled);
  REQUIRE(of.learner->module->is_training());
}

}  // namespace
}  // namespace sightline
