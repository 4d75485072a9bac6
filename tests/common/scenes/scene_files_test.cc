#include "common/scenes/scene_files.h"

#include <nlohmann/json.hpp>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/scenes/lexicon.h"
#include "tests/common/scenes/small_scenes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// If this differs the benchmark has become another one, and common/scenes/SHA256SUMS is wrong too.
TEST_CASE("a small set is byte for byte what it has always been") {
  TempDir dir;
  const absl::StatusOr<std::string> sums = WriteScenes(SmallScenes(), dir.File("scenes"));
  REQUIRE(sums.ok());
  const absl::StatusOr<std::string> locked = ReadFile("tests/common/scenes/small_scenes.sha256");
  REQUIRE(locked.ok());
  REQUIRE(*sums == *locked);
}

TEST_CASE("files have a line a picture, and their sums beside them") {
  TempDir dir;
  const absl::StatusOr<std::string> sums = WriteScenes(SmallScenes(), dir.File("scenes"));
  REQUIRE(sums.ok());
  REQUIRE(*ReadFile(dir.File("scenes/SHA256SUMS")) == *sums);
  for (int split = 0; split < kSceneSplits; ++split) {
    const std::string name = std::string(Name(static_cast<SceneSplit>(split))) + ".jsonl";
    const absl::StatusOr<std::string> lines = ReadFile(dir.File("scenes/" + name));
    REQUIRE(lines.ok());
    const auto count = std::count(lines->begin(), lines->end(), '\n');
    REQUIRE(count == static_cast<int64_t>(SmallScenes()[split].size()));
    REQUIRE_THAT(*sums, Catch::Contains(Sha256Hex(*lines) + "  " + name + "\n"));
  }
}

TEST_CASE("what was made of other scenes goes, and what was made of the same ones stays") {
  TempDir dir;
  const std::string folder = dir.File("scenes");
  SceneSet scenes = SmallScenes();
  REQUIRE(WriteScenes(scenes, folder).ok());
  const std::vector<std::string> made = {"validation.regions",       "validation.boxed.regions",
                                         "validation/000000.png",    "validation/captions.jsonl",
                                         "test_1k.regions",          "test_1k/000000.png",
                                         "validation/somebodys.txt", "other.regions"};
  for (const char* split : {"validation", "test_1k"}) {
    REQUIRE(MakeDirectories(JoinPath(folder, split)).ok());
  }
  for (const std::string& name : made) {
    REQUIRE(WriteFileAtomically(JoinPath(folder, name), "x").ok());
  }
  REQUIRE(WriteScenes(scenes, folder).ok());
  for (const std::string& name : made) REQUIRE(FileExists(JoinPath(folder, name)));
  scenes[static_cast<int>(SceneSplit::kValidation)].pop_back();
  REQUIRE(WriteScenes(scenes, folder).ok());
  for (size_t i = 0; i < made.size(); ++i) {
    INFO(made[i]);
    REQUIRE(FileExists(JoinPath(folder, made[i])) == (i >= 4));
  }
}

TEST_CASE("a line tells the whole graph and all captions") {
  for (const ScenePicture& picture : SmallSplit(SceneSplit::kTest1k)) {
    const nlohmann::json line = nlohmann::json::parse(SceneLine(picture));
    REQUIRE(line["id"] == picture.id);
    REQUIRE(line["base"].is_null() == (picture.base < 0));
    if (picture.base >= 0) REQUIRE(line["base"] == SceneId("test_1k", picture.base));
    REQUIRE(line["objects"].size() == picture.graph.objects.size());
    for (size_t i = 0; i < picture.graph.objects.size(); ++i) {
      const SceneObject& object = picture.graph.objects[i];
      const nlohmann::json& told = line["objects"][i];
      REQUIRE(told["noun"] == std::string(Nouns()[object.noun].id));
      REQUIRE(told["drawing"] == object.drawing);
      REQUIRE(told["tint"] == std::string(Name(object.tint)));
      REQUIRE(told["size"] == std::string(Name(object.size)));
      REQUIRE(told["count"] == object.count);
      REQUIRE(told["copies"].size() == object.copies.size());
      REQUIRE(told["copies"][0] == std::vector<int>{object.copies[0].x, object.copies[0].y,
                                                    object.copies[0].width,
                                                    object.copies[0].height});
      REQUIRE(told["layer"] == object.layer);
    }
    REQUIRE(line["facts"].size() == FactsOf(picture.graph).size());
    REQUIRE(line["word"].is_null() == picture.graph.word.text.empty());
    REQUIRE(line["captions"].size() == 5);
    for (size_t i = 0; i < 5; ++i) {
      const SceneCaption& caption = picture.captions[i];
      const nlohmann::json& told = line["captions"][i];
      for (const absl::string_view language : CaptionLanguages()) {
        REQUIRE(told[std::string(language)] == Say(language, caption.claim, caption.frame));
      }
      REQUIRE(told["claim"]["objects"].size() == caption.claim.objects.size());
      REQUIRE(told["claim"]["relations"].size() == caption.claim.relations.size());
    }
  }
}

}  // namespace
}  // namespace sightline
