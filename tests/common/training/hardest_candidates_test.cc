#include "common/training/hardest_candidates.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/training/corpus_outputs.h"
#include "common/training/learner_outputs.h"
#include "tests/common/training/corpus_learner.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Every score by itself.
double ScoreOf(const CorpusLearner& of, const CaptionedPicture& pair) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(*of.learner);
  const Network& network = *of.learner->network;
  const PreparedText text = network.PrepareText(of.pairs->text(pair.first));
  const FeatureRows image = network.PrepareImage(*of.pairs->ReadImage(pair.second));
  return RankingScores(network.ScorePairs(
                           {{of.pairs->text(pair.first), &text, {image.begin(), image.end()}}}))
      .item<double>();
}

TEST_CASE(
    "of many wrong ones those are kept that the network scores highest, the right one first") {
  for (const std::string family : {"uniter", "oscar"}) {
    INFO(family);
    const CorpusLearner of(family, 40);
    PairSampler sampler(of.corpus.get(), EpochUnit::kCaptions, 1);
    ProblemDraws draws;
    draws.candidates = 30;
    draws.sides = WrongSides::kByProblem;
    const DrawnProblems drawn = sampler.Problems(0, 4, draws);
    const std::vector<CaptionedPicture> all = drawn.Captioned();
    const DrawnProblems kept = *HardestOf(drawn, 30, 5, *of.pairs, CallContext::Unbounded());
    REQUIRE(of.learner->module->is_training());
    const std::vector<CaptionedPicture> hardest = kept.Captioned();
    REQUIRE(hardest.size() == 20);
    for (int64_t problem = 0; problem < 4; ++problem) {
      REQUIRE(hardest[problem * 5] == all[problem * 30]);
      // 29 draws from 39: some were drawn twice.
      const std::set<CaptionedPicture> wrong(all.begin() + problem * 30 + 1,
                                             all.begin() + (problem + 1) * 30);
      REQUIRE(wrong.size() < 29);
      std::vector<double> expected;
      for (const CaptionedPicture& pair : wrong) expected.push_back(-ScoreOf(of, pair));
      std::sort(expected.begin(), expected.end());
      for (int64_t i = 1; i < 5; ++i) {
        REQUIRE(ScoreOf(of, hardest[problem * 5 + i]) ==
                Approx(-expected[i - 1]).epsilon(1e-4).margin(1e-5));
      }
    }
  }
}

}  // namespace
}  // namespace sightline
