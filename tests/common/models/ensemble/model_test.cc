// Ensembles: means of scores, and members that can be none.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/embedding/score.h"
#include "common/models/model.h"
#include "tests/common/models/ensemble/tiny.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

TEST_CASE("an ensemble's score is the mean of its members' probabilities") {
  const TempDir store;
  const std::vector<ModelBundle> bundles = {MakeTinyBundle(store.path(), TinySaf()),
                                            MakeTinyBundle(store.path(), TinySgr(), 2)};
  const ModelBundle ensemble = MakeEnsemble(store.path(), bundles);
  const auto model = MustLoad(ensemble);
  REQUIRE(model->text_encoder() == nullptr);
  REQUIRE(model->cross_encoder()->score_kind() == ScoreKind::kSigmoid);
  const std::vector<float> mean = Everything(*model, TinySaf(), true);
  const std::vector<float> saf = Everything(*MustLoad(bundles[0]), TinySaf(), true);
  const std::vector<float> sgr = Everything(*MustLoad(bundles[1]), TinySaf(), true);
  for (size_t i = 0; i < mean.size(); ++i) {
    REQUIRE(mean[i] == Approx((saf[i] + sgr[i]) / 2).margin(1e-6));
  }
  REQUIRE(Farthest(saf, sgr) > 1e-6);
}

TEST_CASE("an ensemble of different kinds maps each score to a probability first") {
  const TempDir store;
  const std::vector<ModelBundle> bundles = {MakeTinyBundle(store.path(), TinyUniter()),
                                            MakeTinyBundle(store.path(), TinySaf())};
  const ImageInput image = TinyImage(TinySaf(), 3);
  const float mean = Seen(*MustLoad(MakeEnsemble(store.path(), bundles)), "a fish", image)[0];
  const float raw = Seen(*MustLoad(bundles[0]), "a fish", image)[0];
  const float sigmoid = Seen(*MustLoad(bundles[1]), "a fish", image)[0];
  REQUIRE(mean == Approx((ToProbability(ScoreKind::kRankRaw, raw) + sigmoid) / 2).margin(1e-6));
}

TEST_CASE("what is wrong with an ensemble's member names the member") {
  const TempDir store;
  const ModelBundle saf = MakeTinyBundle(store.path(), TinySaf());
  const ModelBundle dual = MakeTinyBundle(store.path(), TinyLightningDot());
  const auto message = [&](const ModelBundle& bundle) {
    return std::string(LoadModel(bundle, {}).status().message());
  };
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {saf})), "members"));
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {saf, dual})),
                            "members[1] has no cross-encoder"));
  ModelBundle broken = MakeEnsemble(store.path(), {saf, saf});
  broken.manifest.mutable_members(1)->mutable_sgraf()->set_similarity_size(9);
  REQUIRE(absl::StrContains(message(broken), "member 1: "));
  const ModelBundle whole = MakeEnsemble(store.path(), {saf, saf});
  REQUIRE(absl::StrContains(message(MakeEnsemble(store.path(), {whole, saf})), "ensemble itself"));
  const auto model = MustLoad(whole);
  const auto images = *model->cross_encoder()->PrepareImages({TinyImage(TinySaf(), 1)}, kCall);
  ItemFeatures text = *TextFeatures(*model, "a fish");
  text.tensors.pop_back();
  const absl::Status status = model->cross_encoder()->Score({{&text, &images[0]}}, kCall).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "member 1"));
}

}  // namespace
}  // namespace sightline
