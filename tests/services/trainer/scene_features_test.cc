#include "services/trainer/scene_features.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/files.h"
#include "common/dataset/region_file_reader.h"
#include "common/scenes/lexicon.h"
#include "common/training/scenes/region_classes.h"
#include "tests/common/scenes/small_scenes.h"
#include "tests/common/training/scenes/scene_drawings.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Sees noun 5 in the first half of a picture's boxes and nothing in the others.
class HalfBlindDetector : public SceneDetector {
 public:
  absl::StatusOr<std::vector<SceneRegions>> Detect(
      absl::Span<const SceneView> views) const override {
    std::vector<SceneRegions> found;
    for (const SceneView& view : views) found.push_back(RegionsOf(view));
    return found;
  }

 private:
  static SceneRegions RegionsOf(const SceneView& view) {
    SceneRegions seen;
    seen.proposals = view.proposals;
    seen.regions.count = kProposals;
    seen.regions.feature_size = 2;
    for (int i = 0; i < kProposals; ++i) {
      const PixelBox& box = view.proposals[i].box;
      // The first number says which picture it is: eight bits of what is in the box.
      const uint8_t* const pixel = &view.canvas.rgb[(box.y * kCanvasSide + box.x) * 3];
      seen.regions.features.push_back(pixel[0] / 256.0f);
      seen.regions.features.push_back(static_cast<float>(i) / 16);
      for (const int edge : {box.x, box.y, box.x + box.width, box.y + box.height}) {
        seen.regions.boxes.push_back(static_cast<float>(edge) / kCanvasSide);
      }
      const bool sees = i < kProposals / 2;
      seen.classes.push_back(sees ? ClassOfNoun(5) : kNothing);
      seen.regions.confidences.push_back(sees ? 0.75f : 0.25f);
      std::vector<float> labels(kRegionClasses, 0);
      labels[kNothing] = sees ? 0.25f : 0.75f;
      labels[ClassOfNoun(5)] = sees ? 0.75f : 0.25f;
      seen.soft_labels.insert(seen.soft_labels.end(), labels.begin(), labels.end());
    }
    return seen;
  }
};

struct Fixture {
  Fixture() : drawings(MadeUpSceneDrawings()), progress(Quiet(), Clock::Real()) {
    job.drawings = &drawings;
    job.detector = &detector;
    job.directory = dir.path();
    job.threads = 2;
  }
  static Progress::Options Quiet() {
    Progress::Options options;
    options.terminal = true;
    options.write = [](absl::string_view) {};
    return options;
  }
  absl::Status Write(const CallContext& call = CallContext::Unbounded()) {
    return WriteSceneFeatures(pictures(), SceneSplit::kValidation, job, &progress, call);
  }
  static const std::vector<ScenePicture>& pictures() {
    return SmallScenes()[static_cast<int>(SceneSplit::kValidation)];
  }
  std::unique_ptr<CorpusReader> Corpus(const std::string& name) const {
    RegionFileOptions options;
    options.root = dir.File(name);
    options.languages = {};
    return *NewRegionFileReader(options);
  }

  const TempDir dir;
  const DrawingSet drawings;
  const HalfBlindDetector detector;
  Progress progress;
  SceneFeaturesJob job;
};

TEST_CASE_METHOD(Fixture, "a split's pictures become a corpus of regions") {
  const absl::Status written = Write();
  INFO(written.ToString());
  REQUIRE(written.ok());
  REQUIRE_FALSE(FileExists(dir.File("validation.regions.parts")));
  const auto corpus = Corpus("validation.regions");
  REQUIRE(corpus->region_feature_size() == 2);
  REQUIRE(corpus->soft_label_count() == kRegionClasses);
  const auto listing = *corpus->List();
  REQUIRE(listing.items.size() == pictures().size());
  REQUIRE(listing.rejected.empty());
  for (size_t i = 0; i < listing.items.size(); ++i) {
    const CorpusItem& item = listing.items[i];
    REQUIRE(item.item_id == pictures()[i].id);
    REQUIRE(item.split == Split::kValidation);
    REQUIRE(item.captions.size() == 20);
    std::set<std::string> languages;
    for (const CorpusCaption& caption : item.captions) languages.insert(caption.language);
    REQUIRE(languages == std::set<std::string>{"de", "en", "es", "fr"});
    REQUIRE(item.tags.size() == kProposals);
    REQUIRE(item.tags.front() == Nouns()[5].singular);
    REQUIRE(item.tags.back() == "background");
    const std::string& word = pictures()[i].graph.word.text;
    REQUIRE(item.ocr_tokens ==
            (word.empty() ? std::vector<std::string>() : std::vector<std::string>{word}));
    const auto regions = *corpus->ReadRegions(item, 1 << 20);
    REQUIRE(regions.count == kProposals);
    REQUIRE(regions.boxes.size() == size_t{4} * kProposals);
    REQUIRE(regions.confidences[0] == 0.75f);
    REQUIRE(regions.features[3] == 1.0f / 16);
    const auto labels = *corpus->ReadSoftLabels(item, 1 << 20);
    REQUIRE(labels[ClassOfNoun(5)] == 0.75f);
    REQUIRE(labels.back() == 0);
  }
}

TEST_CASE_METHOD(Fixture, "boxes are drawn for each picture by seed, whatever the threads") {
  REQUIRE(Write().ok());
  const std::string first = *ReadFile(dir.File("validation.regions"));
  job.threads = 1;
  REQUIRE(Write().ok());
  REQUIRE(*ReadFile(dir.File("validation.regions")) == first);
  job.seed = 2;
  REQUIRE(Write().ok());
  REQUIRE(*ReadFile(dir.File("validation.regions")) != first);
  const auto corpus = Corpus("validation.regions");
  const auto listing = *corpus->List();
  std::set<std::vector<float>> boxes;
  for (const CorpusItem& item : listing.items) {
    boxes.insert(corpus->ReadRegions(item, 1 << 20)->boxes);
  }
  REQUIRE(boxes.size() == listing.items.size());
}

TEST_CASE_METHOD(Fixture, "appended boxes stand behind the features, in a file of their own") {
  REQUIRE(Write().ok());
  job.append_boxes = true;
  REQUIRE(Write().ok());
  const auto plain = Corpus("validation.regions"), boxed = Corpus("validation.boxed.regions");
  REQUIRE(boxed->region_feature_size() == 2 + 6);
  const CorpusItem item = boxed->List()->items[3];
  const RegionSet with = *boxed->ReadRegions(item, 1 << 20);
  const RegionSet without = *plain->ReadRegions(plain->List()->items[3], 1 << 20);
  REQUIRE(with.boxes.empty());
  REQUIRE(with.confidences == without.confidences);
  for (int i = 0; i < kProposals; ++i) {
    const float* const row = &with.features[i * 8];
    const float* const box = &without.boxes[i * 4];
    REQUIRE(row[0] == without.features[i * 2]);
    const auto stands = [&row](int place, float number) {
      REQUIRE(row[place] == Approx(number * kAppendedBoxScale).margin(2e-2));
    };
    for (int k = 0; k < 4; ++k) stands(2 + k, box[k] - 0.5f);
    stands(6, box[2] - box[0]);
    stands(7, box[3] - box[1]);
  }
}

TEST_CASE_METHOD(Fixture,
                 "what is not wanted any more leaves no file, and no pictures are an error") {
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(Write(call)));
  REQUIRE_FALSE(FileExists(dir.File("validation.regions.parts")));
  REQUIRE_FALSE(FileExists(dir.File("validation.regions")));
  REQUIRE(absl::IsInvalidArgument(
      WriteSceneFeatures({}, SceneSplit::kTrain, job, &progress, CallContext::Unbounded())));
}

}  // namespace
}  // namespace sightline
