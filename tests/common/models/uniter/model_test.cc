// UNITER: what its heads give.
#include "common/models/model.h"

#include "absl/strings/match.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("UNITER's pre-trained head gives the match's probability or logit") {
  TinyFamily family = TinyUniter();
  family.manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const float probability = Seen(*MustLoad(bundle), "a fish", TinyImage(family, 3))[0];
  REQUIRE((probability > 0 && probability < 1));
  ModelBundle logits = bundle;
  logits.manifest.mutable_cross_encoder()->set_score_kind("logit_match");
  REQUIRE(Seen(*MustLoad(logits), "a fish", TinyImage(family, 3))[0] != probability);
  logits.manifest.mutable_cross_encoder()->set_score_kind("rank_raw");
  const absl::Status status = LoadModel(logits, {}).status();
  REQUIRE(absl::StrContains(status.message(), "rank_output.weight"));
  REQUIRE(absl::StrContains(status.message(), "itm_output.weight"));
}

}  // namespace
}  // namespace sightline
