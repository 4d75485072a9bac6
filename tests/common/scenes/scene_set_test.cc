#include "common/scenes/scene_set.h"

#include <map>
#include <set>

#include "common/scenes/lexicon.h"
#include "tests/common/scenes/small_scenes.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr SceneSplit kPools[] = {SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k};

TEST_CASE("captions are true of their picture, five to each, each in another frame") {
  for (const SceneSplit split :
       {SceneSplit::kTrain, SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k}) {
    for (const ScenePicture& picture : SmallSplit(split)) {
      std::set<CaptionFrame> frames;
      REQUIRE(picture.captions.size() == 5);
      for (const SceneCaption& caption : picture.captions) {
        frames.insert(caption.frame);
        REQUIRE(Evaluate(caption.claim, picture.graph) == Truth::kTrue);
      }
      REQUIRE(frames.size() == 5);
    }
  }
  for (const ScenePicture& picture : SmallSplit(SceneSplit::kDistractors)) {
    REQUIRE(picture.captions.empty());
  }
}

TEST_CASE("captions of a pool are false of all its other pictures and of the distractors") {
  for (const SceneSplit split : kPools) {
    const std::vector<ScenePicture>& pool = SmallSplit(split);
    for (const ScenePicture& asked : pool) {
      for (const SceneCaption& caption : asked.captions) {
        for (const ScenePicture& other : pool) {
          if (&other == &asked) continue;
          REQUIRE(Evaluate(caption.claim, other.graph) == Truth::kFalse);
        }
        for (const ScenePicture& other : SmallSplit(SceneSplit::kDistractors)) {
          REQUIRE(Evaluate(caption.claim, other.graph) == Truth::kFalse);
        }
      }
    }
  }
}

TEST_CASE("captions of train are false of their family's others") {
  const std::vector<ScenePicture>& train = SmallSplit(SceneSplit::kTrain);
  for (const ScenePicture& asked : train) {
    for (const ScenePicture& other : train) {
      if (&other == &asked || asked.base < 0 || other.base != asked.base) continue;
      for (const SceneCaption& caption : asked.captions) {
        REQUIRE(Evaluate(caption.claim, other.graph) == Truth::kFalse);
      }
    }
  }
}

// Distractors that are like the pool, so that most first drafts are true of one.
TEST_CASE("where scenes are crowded captions say more, and scenes are drawn again") {
  SceneOptions crowded = SmallSceneOptions();
  crowded.sizes = {0, 0, 100, 0, 20000};
  const absl::StatusOr<SceneSet> set = MakeScenes(crowded, UnboundedCall());
  REQUIRE(set.ok());
  const auto said = [](const std::vector<ScenePicture>& pictures) {
    int details = 0;
    for (const ScenePicture& picture : pictures) {
      for (const SceneCaption& caption : picture.captions) {
        for (const ObjectClaim& object : caption.claim.objects) {
          details += object.tint.has_value() + object.size.has_value();
        }
      }
    }
    return details;
  };
  crowded.sizes[4] = 0;
  const absl::StatusOr<SceneSet> lonely = MakeScenes(crowded, UnboundedCall());
  REQUIRE(lonely.ok());
  REQUIRE(said((*set)[2]) > said((*lonely)[2]));
  for (const ScenePicture& asked : (*set)[2]) {
    for (const SceneCaption& caption : asked.captions) {
      for (const ScenePicture& other : (*set)[4]) {
        if (Evaluate(caption.claim, other.graph) != Truth::kFalse) FAIL(asked.id << other.id);
      }
    }
  }
}

TEST_CASE("six in ten pictures are in families of six") {
  for (const SceneSplit split : {SceneSplit::kTrain, SceneSplit::kTest5k}) {
    const std::vector<ScenePicture>& pictures = SmallSplit(split);
    for (size_t i = 0; i < pictures.size(); ++i) {
      REQUIRE(pictures[i].id == SceneId(Name(split), static_cast<int64_t>(i)));
      const bool in_family = i % 10 < 6;
      REQUIRE(pictures[i].base == (in_family ? static_cast<int64_t>(i / 10 * 10) : -1));
      REQUIRE(static_cast<size_t>(pictures[i].change) == (in_family ? i % 10 : 0));
    }
  }
}

TEST_CASE("train and validation show nothing that is held out") {
  for (const SceneSplit split : {SceneSplit::kTrain, SceneSplit::kValidation}) {
    for (const ScenePicture& picture : SmallSplit(split)) {
      REQUIRE(picture.kind == SceneKind::kPlain);
      for (const SceneObject& object : picture.graph.objects) {
        REQUIRE(object.drawing < Nouns()[object.noun].drawings - 1);
        REQUIRE(object.tint != HeldOutTint(object.noun));
      }
    }
  }
}

TEST_CASE("tests have every slice, and a picture is in those of its kind and change") {
  std::map<std::string, int> slices;
  for (const ScenePicture& picture : SmallSplit(SceneSplit::kTest5k)) {
    for (const absl::string_view slice : SlicesOf(picture)) ++slices[std::string(slice)];
  }
  REQUIRE(slices == std::map<std::string, int>{{"plain", 30},
                                               {"binding", 30},
                                               {"relation", 20},
                                               {"count", 20},
                                               {"new_drawing", 10},
                                               {"new_combination", 10}});
}

TEST_CASE("every caption of a new combination names one") {
  for (const ScenePicture& picture : SmallSplit(SceneSplit::kTest5k)) {
    if (picture.kind != SceneKind::kNewCombination) continue;
    for (const SceneCaption& caption : picture.captions) {
      bool names = false;
      for (const ObjectClaim& object : caption.claim.objects) {
        names |= object.tint == HeldOutTint(object.noun);
      }
      REQUIRE(names);
    }
  }
}

TEST_CASE("another seed gives other scenes, and one split's size leaves the others alone") {
  SceneOptions options = SmallSceneOptions();
  options.sizes = {20, 0, 0, 20, 0};
  const auto first_noun = [](const absl::StatusOr<SceneSet>& set, SceneSplit split, size_t i) {
    return (*set)[static_cast<int>(split)][i].graph.objects[0].noun;
  };
  const absl::StatusOr<SceneSet> set = MakeScenes(options, UnboundedCall());
  options.sizes[0] = 40;
  const absl::StatusOr<SceneSet> longer = MakeScenes(options, UnboundedCall());
  options.seed = 2;
  const absl::StatusOr<SceneSet> other = MakeScenes(options, UnboundedCall());
  REQUIRE((set.ok() && longer.ok() && other.ok()));
  int same = 0, equal = 0;
  for (size_t i = 0; i < 20; ++i) {
    for (const SceneSplit split : {SceneSplit::kTrain, SceneSplit::kTest5k}) {
      same += first_noun(set, split, i) == first_noun(longer, split, i);
      equal += first_noun(set, split, i) == first_noun(other, split, i);
    }
  }
  REQUIRE(same == 40);
  REQUIRE(equal < 20);
}

TEST_CASE("sizes that are no multiple of ten, or too large, are refused by their names") {
  SceneOptions options = SmallSceneOptions();
  options.sizes[1] = 55;
  REQUIRE_THAT(std::string(MakeScenes(options, UnboundedCall()).status().message()),
               Catch::Contains("validation is to have 55 pictures"));
  options.sizes[1] = 200'010;
  REQUIRE(absl::IsInvalidArgument(MakeScenes(options, UnboundedCall()).status()));
  options.sizes[1] = -10;
  REQUIRE(absl::IsInvalidArgument(MakeScenes(options, UnboundedCall()).status()));
}

}  // namespace
}  // namespace sightline
