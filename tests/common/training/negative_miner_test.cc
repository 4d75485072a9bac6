#include "common/training/negative_miner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/training/corpus_outputs.h"
#include "common/training/learner_outputs.h"
#include "tests/common/training/corpus_learner.h"
#include "tests/common/training/in_worlds.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// From the 82nd picture on captions have the words of earlier ones.
constexpr int kPictures = 90;

// Captions by pictures, each embedded by itself.
std::vector<std::vector<double>> Products(const CorpusLearner& of) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(*of.learner);
  const Network& network = *of.learner->network;
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < of.corpus->picture_count(); ++i) {
    const ImageNumbers image = *of.pairs->ReadImage(i);
    pictures.push_back(ComparedRows(*of.learner, network.EncodeImages({&image}))[0]);
  }
  std::vector<std::vector<double>> products;
  for (int64_t i = 0; i < of.corpus->caption_count(); ++i) {
    const at::Tensor text = ComparedRows(*of.learner, network.EncodeTexts({of.pairs->text(i)}))[0];
    products.emplace_back();
    for (const at::Tensor& picture : pictures) {
      products.back().push_back((text * picture).sum().item<double>());
    }
  }
  return products;
}

// That `nearest` are of the items those that are wrong and whose score is largest, in order; what
// rounding cannot tell apart may change places.
template <typename ScoreOf, typename IsWrong>
void RequireNearest(absl::Span<const int64_t> nearest, int64_t items, const ScoreOf& score_of,
                    const IsWrong& is_wrong) {
  std::vector<double> expected;
  for (int64_t i = 0; i < items; ++i) {
    if (is_wrong(i)) expected.push_back(-score_of(i));
  }
  std::sort(expected.begin(), expected.end());
  REQUIRE(nearest.size() == std::min(expected.size(), nearest.size()));
  REQUIRE(std::set<int64_t>(nearest.begin(), nearest.end()).size() == nearest.size());
  for (size_t k = 0; k < nearest.size(); ++k) {
    REQUIRE(is_wrong(nearest[k]));
    REQUIRE(score_of(nearest[k]) == Approx(-expected[k]).margin(1e-4));
  }
}

// That `nearest` are what a plain search finds.
void RequireFound(const NearestWrong& nearest, const CorpusLearner& of) {
  const auto products = Products(of);
  for (int64_t caption = 0; caption < of.corpus->caption_count(); ++caption) {
    REQUIRE(nearest.PicturesOf(caption).size() == 6);
    RequireNearest(
        nearest.PicturesOf(caption), of.corpus->picture_count(),
        [&](int64_t picture) { return products[caption][picture]; },
        [&](int64_t picture) { return !of.corpus->MayBeRight(caption, picture); });
  }
  for (int64_t picture = 0; picture < of.corpus->picture_count(); ++picture) {
    RequireNearest(
        nearest.CaptionsOf(picture), of.corpus->caption_count(),
        [&](int64_t caption) { return products[caption][picture]; },
        [&](int64_t caption) { return !of.corpus->MayBeRight(caption, picture); });
  }
}

TEST_CASE("nearest wrong ones are those of a plain search, of captions and of pictures") {
  TrainingWorld alone;
  for (const std::string family : {"lightningdot", "oscar"}) {
    INFO(family);
    const CorpusLearner of(family, kPictures);
    const NearestWrong nearest = *MineNearest(*of.pairs, 6, &alone, CallContext::Unbounded());
    REQUIRE(of.learner->module->is_training());
    RequireFound(nearest, of);
  }
}

TEST_CASE("several processes find together what one finds, and stop together") {
  constexpr int kProcesses = 3;
  std::vector<std::unique_ptr<CorpusLearner>> learners;
  for (int i = 0; i < kProcesses; ++i) {
    learners.push_back(std::make_unique<CorpusLearner>("lightningdot", kPictures));
  }
  std::vector<NearestWrong> found(kProcesses);
  const auto mine = [&](const std::vector<CallContext>& calls) {
    return InWorlds(kProcesses, [&](TrainingWorld* world) {
      const int rank = world->rank();
      auto nearest = MineNearest(*learners[rank]->pairs, 6, world, calls[rank]);
      if (nearest.ok()) found[rank] = *std::move(nearest);
      return nearest.status();
    });
  };
  std::vector<CallContext> calls(kProcesses, CallContext::Unbounded());
  REQUIRE(Failures(mine(calls)) == "");
  RequireFound(found[0], *learners[0]);
  for (const NearestWrong& of_one : found) {
    REQUIRE(of_one.pictures == found[0].pictures);
    REQUIRE(of_one.captions == found[0].captions);
  }
  calls[1] = CallContext::Unbounded();
  calls[1].cancellation()->Cancel();
  for (const absl::Status& end : mine(calls)) {
    REQUIRE(end.code() == absl::StatusCode::kCancelled);
  }
}

TEST_CASE("where there are fewer wrong ones than are kept there are only those") {
  TrainingWorld alone;
  const CorpusLearner of("lightningdot", kPictures);
  const NearestWrong nearest = *MineNearest(*of.pairs, 200, &alone, CallContext::Unbounded());
  REQUIRE(nearest.PicturesOf(10).size() == 89);
  // Picture 81 is its twin.
  REQUIRE(nearest.PicturesOf(0).size() == 88);
  REQUIRE(nearest.CaptionsOf(81).size() == 88);
}

TEST_CASE("it is mined before the first step and then every so many, by the weights of then") {
  TrainingWorld alone;
  const CorpusLearner of("lightningdot", kPictures);
  NegativeMiner miner(of.pairs.get(), {/*every=*/4, /*kept=*/3}, &alone);
  REQUIRE(miner.Check().ok());
  REQUIRE(miner.nearest().PicturesOf(0).empty());
  const auto mined_at = [&](int64_t step) {
    REQUIRE(miner.MineIfDue(step, CallContext::Unbounded()).ok());
    return miner.nearest().pictures;
  };
  const std::vector<int64_t> first = mined_at(0);
  REQUIRE(first == MineNearest(*of.pairs, 3, &alone, CallContext::Unbounded())->pictures);
  for (const at::Tensor& parameter : of.learner->module->parameters()) {
    const at::NoGradGuard no_grad;
    parameter.add_(at::randn_like(parameter), 0.3);
  }
  REQUIRE(mined_at(0) == first);
  REQUIRE(mined_at(3) == first);
  const std::vector<int64_t> second = mined_at(4);
  REQUIRE(second != first);
  REQUIRE(second == MineNearest(*of.pairs, 3, &alone, CallContext::Unbounded())->pictures);

  NegativeMiner once(of.pairs.get(), {/*every=*/0, /*kept=*/3}, &alone);
  REQUIRE(once.MineIfDue(7, CallContext::Unbounded()).ok());
  REQUIRE(once.nearest().pictures == second);
}

TEST_CASE("what was mined is taken up from a checkpoint, and one that cannot be is known") {
  TrainingWorld alone;
  const CorpusLearner of("lightningdot", kPictures);
  NegativeMiner miner(of.pairs.get(), {/*every=*/4, /*kept=*/3}, &alone),
      other(of.pairs.get(), {/*every=*/4, /*kept=*/3}, &alone);
  REQUIRE(miner.MineIfDue(4, CallContext::Unbounded()).ok());
  const auto take_up = [&](const std::map<std::string, at::Tensor>& state) {
    for (const auto& [name, target] : other.State()) target.copy_(state.at(name));
  };
  REQUIRE_FALSE(other.CanBe(5));
  take_up(miner.State());
  REQUIRE(other.CanBe(5));
  // Before the step that it was mined for.
  REQUIRE(other.CanBe(4));
  REQUIRE_FALSE(other.CanBe(3));
  REQUIRE(other.nearest().pictures == miner.nearest().pictures);
  REQUIRE(other.nearest().captions == miner.nearest().captions);
  // Not due: it was mined at 4.
  REQUIRE(other.MineIfDue(4, CallContext::Unbounded()).ok());
  for (const int64_t wrong : {-2, 90}) {
    auto state = miner.State();
    state["mined/captions"] = state["mined/captions"].clone();
    state["mined/captions"][5] = wrong;
    take_up(state);
    REQUIRE_FALSE(other.CanBe(5));
  }
}

TEST_CASE("a network that embeds nothing cannot mine, and is told who could") {
  TrainingWorld alone;
  const CorpusLearner of("uniter", kPictures);
  const NegativeMiner miner(of.pairs.get(), {}, &alone);
  REQUIRE_THAT(std::string(miner.Check().message()), Catch::Contains("name a retriever"));
}

}  // namespace
}  // namespace sightline
