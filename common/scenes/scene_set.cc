#include "common/scenes/scene_set.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/scenes/scene_index.h"

namespace sightline {
namespace {

constexpr absl::string_view kSplitNames[] = {"train", "validation", "test_1k", "test_5k",
                                             "distractors"};
constexpr int kUnit = 10;
constexpr int kMostAttempts = 1000;
constexpr int64_t kMostPictures = 200'000;

enum class Draw : uint64_t { kScenes = 1, kCaptions };

uint64_t SeedOf(uint64_t seed, SceneSplit split, Draw draw, int64_t index, int attempt) {
  uint64_t hash = SplitMix64(seed);
  for (const uint64_t part : {static_cast<uint64_t>(split), static_cast<uint64_t>(draw),
                              static_cast<uint64_t>(index), static_cast<uint64_t>(attempt)}) {
    hash = SplitMix64(hash ^ part);
  }
  return hash;
}

bool HasNewScenes(SceneSplit split) {
  return split != SceneSplit::kTrain && split != SceneSplit::kValidation;
}

SceneKind KindOf(SceneSplit split, int place) {
  if (!HasNewScenes(split) || place < kUnit - 2) return SceneKind::kPlain;
  return place == kUnit - 1 ? SceneKind::kNewCombination : SceneKind::kNewDrawing;
}

ScenePicture Picture(SceneSplit split, int64_t place, const ScenePlan& plan) {
  ScenePicture picture;
  picture.id = SceneId(Name(split), place);
  picture.graph = LayOut(plan);
  return picture;
}

std::vector<ScenePicture> DrawUnit(uint64_t seed, SceneSplit split, int64_t unit, int attempt) {
  Random random(SeedOf(seed, split, Draw::kScenes, unit, attempt));
  const int64_t first = unit * kUnit;
  std::vector<ScenePicture> pictures;
  if (split != SceneSplit::kDistractors) {
    const SceneFamily family = DrawFamily(&random);
    for (int i = 0; i < kFamilySize; ++i) {
      pictures.push_back(Picture(split, first + i, family[i]));
      pictures.back().base = first;
      pictures.back().change = static_cast<SceneChange>(i);
    }
  }
  for (int i = static_cast<int>(pictures.size()); i < kUnit; ++i) {
    const SceneKind kind = KindOf(split, i);
    pictures.push_back(Picture(split, first + i, DrawScene(kind, &random)));
    pictures.back().kind = kind;
  }
  return pictures;
}

// Whether the claim is about what the picture is there for: a new combination has to be named.
bool IsToThePoint(const SceneClaim& claim, SceneKind kind) {
  return kind != SceneKind::kNewCombination ||
         std::any_of(claim.objects.begin(), claim.objects.end(),
                     [](const ObjectClaim& object) { return object.tint.has_value(); });
}

// Five captions, each true of the picture and `good`; nothing that can be said is if the richest
// claim is not.
template <typename IsGood>
std::vector<SceneCaption> DrawCaptions(const ScenePicture& picture, Random* random,
                                       const IsGood& good) {
  std::vector<int> frames(kFrameCount);
  std::iota(frames.begin(), frames.end(), 0);
  random->ShuffleFirst(kCaptionsOfScene, &frames);
  std::vector<SceneCaption> captions;
  for (int i = 0; i < kCaptionsOfScene; ++i) {
    ClaimDraft draft(picture.graph, /*about_pair=*/picture.base >= 0, random);
    SceneClaim claim = draft.Claim();
    while (!good(claim) || !IsToThePoint(claim, picture.kind)) {
      const bool more = draft.SayMore();
      claim = more ? draft.Claim() : RichestClaim(picture.graph);
      if (!more) break;
    }
    captions.push_back({std::move(claim), static_cast<CaptionFrame>(frames[i])});
  }
  return captions;
}

// A split whose captions have to be false of all its other pictures, and of the distractors.
class Pool {
 public:
  Pool(const SceneOptions& options, SceneSplit split, const SceneIndex& distractors)
      : seed_(options.seed),
        split_(split),
        size_(options.sizes[static_cast<int>(split)]),
        distractors_(distractors) {
    pictures_.reserve(size_);  // the index points into it
  }

  absl::StatusOr<std::vector<ScenePicture>> Make(const CallContext& call) {
    for (int64_t unit = 0; unit * kUnit < size_; ++unit) {
      RETURN_IF_ERROR(call.Check("make scenes"));
      RETURN_IF_ERROR(AddUnit(unit));
    }
    for (int64_t i = 0; i < size_; ++i) {
      RETURN_IF_ERROR(call.Check("make scenes"));
      Random random(SeedOf(seed_, split_, Draw::kCaptions, i, 0));
      pictures_[i].captions = DrawCaptions(
          pictures_[i], &random, [&](const SceneClaim& claim) { return IsGood(claim, i); });
    }
    return std::move(pictures_);
  }

 private:
  bool IsGood(const SceneClaim& claim, int64_t picture) const {
    return index_.IsFalseOfAll(claim, picture) && distractors_.IsFalseOfAll(claim);
  }

  absl::Status AddUnit(int64_t unit) {
    const size_t before = pictures_.size();
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      bool good = true;
      for (ScenePicture& picture : DrawUnit(seed_, split_, unit, attempt)) {
        pictures_.push_back(std::move(picture));
        good = good && IsToldApart(before);
      }
      if (good) {
        for (size_t i = before; i < pictures_.size(); ++i) Index(i);
        return absl::OkStatus();
      }
      pictures_.resize(before);
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        "no ten scenes for ", pictures_.size(), " and following of ", Name(split_),
        " can be told from the others in ", kMostAttempts, " draws; ask for fewer pictures"));
  }

  // Whether all that can be said of the last picture is false of the others, and the other way
  // round.  Those from `unindexed` on are not in the index yet.
  bool IsToldApart(size_t unindexed) const {
    const SceneGraph& scene = pictures_.back().graph;
    const SceneClaim claim = RichestClaim(scene);
    if (!IsGood(claim, -1)) return false;
    for (size_t i = unindexed; i + 1 < pictures_.size(); ++i) {
      const SceneGraph& other = pictures_[i].graph;
      if (Evaluate(claim, other) != Truth::kFalse ||
          Evaluate(RichestClaim(other), scene) != Truth::kFalse) {
        return false;
      }
    }
    const std::vector<int64_t> near = index_.SharingPair(scene);
    return std::all_of(near.begin(), near.end(),
                       [&](int64_t i) { return Evaluate(richest_[i], scene) == Truth::kFalse; });
  }

  void Index(size_t i) {
    index_.Add(&pictures_[i].graph);
    richest_.push_back(RichestClaim(pictures_[i].graph));
  }

  const uint64_t seed_;
  const SceneSplit split_;
  const int64_t size_;
  const SceneIndex& distractors_;
  std::vector<ScenePicture> pictures_;
  SceneIndex index_;
  std::vector<SceneClaim> richest_;  // by picture
};

absl::StatusOr<std::vector<ScenePicture>> MakeDistractors(const SceneOptions& options,
                                                          const CallContext& call) {
  const int64_t size = options.sizes[static_cast<int>(SceneSplit::kDistractors)];
  std::vector<ScenePicture> pictures;
  for (int64_t unit = 0; unit * kUnit < size; ++unit) {
    RETURN_IF_ERROR(call.Check("make scenes"));
    for (ScenePicture& picture : DrawUnit(options.seed, SceneSplit::kDistractors, unit, 0)) {
      pictures.push_back(std::move(picture));
    }
  }
  return pictures;
}

// Draws families again until all that can be said of one picture is false of the others.
absl::StatusOr<std::vector<ScenePicture>> DrawTrainingUnit(uint64_t seed, int64_t unit) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::vector<ScenePicture> pictures = DrawUnit(seed, SceneSplit::kTrain, unit, attempt);
    bool good = true;
    for (int i = 0; i < kFamilySize; ++i) {
      const SceneClaim claim = RichestClaim(pictures[i].graph);
      for (int j = 0; j < kFamilySize; ++j) {
        good = good && (i == j || Evaluate(claim, pictures[j].graph) == Truth::kFalse);
      }
    }
    if (good) return pictures;
  }
  return absl::InternalError("no family's pictures can be told apart");
}

absl::StatusOr<std::vector<ScenePicture>> MakeTrain(const SceneOptions& options,
                                                    const CallContext& call) {
  const int64_t size = options.sizes[static_cast<int>(SceneSplit::kTrain)];
  std::vector<ScenePicture> pictures;
  for (int64_t unit = 0; unit * kUnit < size; ++unit) {
    RETURN_IF_ERROR(call.Check("make scenes"));
    ASSIGN_OR_RETURN(std::vector<ScenePicture> drawn, DrawTrainingUnit(options.seed, unit));
    for (int i = 0; i < kUnit; ++i) {
      Random random(SeedOf(options.seed, SceneSplit::kTrain, Draw::kCaptions, unit * kUnit + i, 0));
      drawn[i].captions = DrawCaptions(drawn[i], &random, [&](const SceneClaim& claim) {
        for (int other = 0; i < kFamilySize && other < kFamilySize; ++other) {
          if (other != i && Evaluate(claim, drawn[other].graph) != Truth::kFalse) return false;
        }
        return true;
      });
    }
    for (ScenePicture& picture : drawn) pictures.push_back(std::move(picture));
  }
  return pictures;
}

absl::Status CheckSizes(const SceneOptions& options) {
  for (int split = 0; split < kSceneSplits; ++split) {
    const int64_t size = options.sizes[split];
    if (size >= 0 && size <= kMostPictures && size % kUnit == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(kSplitNames[split], " is to have ", size,
                                                   " pictures; give a multiple of ", kUnit,
                                                   " up to ", kMostPictures));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(SceneSplit split) {
  return kSplitNames[static_cast<int>(split)];
}

std::string SceneId(absl::string_view split, int64_t place) {
  return absl::StrFormat("%s/%06d", split, place);
}

std::vector<absl::string_view> SlicesOf(const ScenePicture& picture) {
  if (picture.base < 0) return {Name(picture.kind)};
  switch (picture.change) {
    case SceneChange::kNone:
      return {"binding", "relation", "count"};
    case SceneChange::kColoursSwapped:
    case SceneChange::kRolesSwapped:
      return {"binding"};
    case SceneChange::kRelationMirrored:
      return {"relation"};
    case SceneChange::kCount:
      return {"count"};
    case SceneChange::kObjectReplaced:
      break;
  }
  return {"plain"};
}

absl::StatusOr<SceneSet> MakeScenes(const SceneOptions& options, const CallContext& call) {
  RETURN_IF_ERROR(CheckSizes(options));
  SceneSet set;
  const auto of = [&set](SceneSplit split) { return &set[static_cast<int>(split)]; };
  ASSIGN_OR_RETURN(*of(SceneSplit::kDistractors), MakeDistractors(options, call));
  SceneIndex distractors;
  for (const ScenePicture& picture : *of(SceneSplit::kDistractors)) {
    distractors.Add(&picture.graph);
  }
  for (const SceneSplit split :
       {SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k}) {
    ASSIGN_OR_RETURN(*of(split), Pool(options, split, distractors).Make(call));
  }
  ASSIGN_OR_RETURN(*of(SceneSplit::kTrain), MakeTrain(options, call));
  return set;
}

}  // namespace sightline
