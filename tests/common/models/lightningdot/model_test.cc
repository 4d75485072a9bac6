// LightningDOT: the text in pictures.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/model.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

TEST_CASE("the text in a picture is read up to its limit") {
  const TinyFamily family = TinySceneText();
  const TempDir store;
  const ModelBundle bundle = MakeTinyBundle(store.path(), family);
  const auto model = MustLoad(bundle);
  const auto embed = [&](const Model& encoder, const std::vector<std::string>& words) {
    ImageInput image = TinyImage(family, 4);
    image.ocr_tokens = words;
    const auto rows = *encoder.image_encoder()->Encode({image}, kCall);
    return std::vector<float>(rows.values().begin(), rows.values().end());
  };
  const std::vector<float> none = embed(*model, {});
  REQUIRE(Farthest(none, embed(*model, {"red"})) > 1e-6);
  REQUIRE(Farthest(embed(*model, {"red", "fish"}), embed(*model, {"fish", "red"})) > 1e-5);
  const std::vector<std::string> full(6, "red");
  std::vector<std::string> more = full;
  more.push_back("bird");
  REQUIRE(embed(*model, full) == embed(*model, more));

  // Without words it is a LightningDOT, unless a lone separator was trained.
  ModelBundle plain = bundle;
  plain.manifest.clear_scene_text();
  REQUIRE(embed(*MustLoad(plain), {"red"}) == none);
  ModelBundle separated = bundle;
  separated.manifest.mutable_scene_text()->set_separator_when_empty(true);
  REQUIRE(Farthest(embed(*MustLoad(separated), {}), none) > 1e-6);
  ModelBundle moved = bundle;
  moved.manifest.mutable_scene_text()->set_first_position(9);
  REQUIRE(Farthest(embed(*MustLoad(moved), {"red"}), embed(*model, {"red"})) > 1e-5);
  moved.manifest.mutable_scene_text()->set_first_position(26);
  REQUIRE(absl::StrContains(LoadModel(moved, {}).status().message(), "position 32"));
}

}  // namespace
}  // namespace sightline
