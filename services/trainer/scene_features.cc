#include "services/trainer/scene_features.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"
#include "common/dataset/region_file.h"
#include "common/image/region_set.h"
#include "common/scenes/lexicon.h"
#include "common/scenes/scene_files.h"
#include "common/scenes/scene_pictures.h"
#include "common/scenes/scene_view.h"
#include "common/training/scenes/region_classes.h"

namespace sightline {
namespace {

constexpr absl::string_view kNothingTag = "background";
constexpr int64_t kSeenAtOnce = 16;  // pictures, by a thread
constexpr int64_t kPartSize = 512;   // pictures whose regions are in memory

// What decides on a picture's boxes: not its captions, nor how many others there are.
uint64_t SeedOfBoxes(uint64_t seed, SceneSplit split, int64_t place) {
  const uint64_t of_split = SplitMix64(SplitMix64(seed) ^ static_cast<uint64_t>(split));
  return SplitMix64(of_split ^ static_cast<uint64_t>(place));
}

// One of each region, as detectors have it.
std::vector<std::string> TagsOf(const SceneRegions& seen) {
  std::vector<std::string> tags;
  for (const int region_class : seen.classes) {
    const bool nothing = region_class == kNothing;
    tags.emplace_back(nothing ? kNothingTag : Nouns()[NounOfClass(region_class)].singular);
  }
  return tags;
}

// The same regions with their boxes among the features.
RegionSet WithAppendedBoxes(const RegionSet& regions) {
  RegionSet appended;
  appended.count = regions.count;
  appended.feature_size = regions.feature_size + 6;
  appended.confidences = regions.confidences;
  for (int64_t i = 0; i < regions.count; ++i) {
    const auto feature = regions.features.begin() + i * regions.feature_size;
    const float* const box = &regions.boxes[i * 4];
    std::vector<float>& to = appended.features;
    to.insert(to.end(), feature, feature + regions.feature_size);
    for (int edge = 0; edge < 4; ++edge) to.push_back((box[edge] - 0.5f) * kAppendedBoxScale);
    for (int side = 0; side < 2; ++side) {
      to.push_back((box[side + 2] - box[side]) * kAppendedBoxScale);
    }
  }
  return appended;
}

class FeaturesRun {
 public:
  FeaturesRun(absl::Span<const ScenePicture> pictures, SceneSplit split,
              const SceneFeaturesJob& job, Progress* progress, const CallContext& call)
      : pictures_(pictures),
        split_(split),
        job_(job),
        progress_(*progress),
        call_(call),
        out_(JoinPath(job.directory, SceneRegionFile(split, job.append_boxes))),
        folder_(out_ + ".parts") {}

  absl::Status Run() {
    if (pictures_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the split ", Name(split_), " has no pictures to see"));
    }
    RETURN_IF_ERROR(RemoveParts());
    RETURN_IF_ERROR(MakeDirectories(folder_));
    const absl::Status made = Make();
    // What a run leaves that was ended would look like a corpus.
    const absl::Status removed = RemoveParts();
    return made.ok() ? removed : made;
  }

 private:
  absl::Status Make() {
    progress_.Begin(absl::StrCat("see ", Name(split_)), "pictures", PictureCount());
    for (int64_t part = 0; part < PartCount(); ++part) RETURN_IF_ERROR(WritePart(part));
    progress_.End();
    return Merge();
  }

  int64_t PictureCount() const { return static_cast<int64_t>(pictures_.size()); }
  int64_t PartCount() const { return (PictureCount() + kPartSize - 1) / kPartSize; }
  std::string PartPath(int64_t part) const {
    return JoinPath(folder_, absl::StrFormat("%06d.part", part));
  }

  absl::Status RemoveParts() const {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    return error ? FileError("remove", folder_, error.value()) : absl::OkStatus();
  }

  absl::Status WritePart(int64_t part) {
    const int64_t begin = part * kPartSize;
    std::vector<RegionFileItem> items(std::min(kPartSize, PictureCount() - begin));
    const auto count = static_cast<int64_t>(items.size());
    const int64_t turns = (count + kSeenAtOnce - 1) / kSeenAtOnce;
    RETURN_IF_ERROR(WorkOnThreads(job_.threads, static_cast<size_t>(turns), [&](size_t turn) {
      const int64_t first = static_cast<int64_t>(turn) * kSeenAtOnce;
      return See(begin + first, std::min(kSeenAtOnce, count - first), &items[first]);
    }));
    return WriteRegionFile(PartPath(part), count, Dtype::kFloat16, [&items](int64_t i) {
      return absl::StatusOr<RegionFileItem>(items[i]);
    });
  }

  absl::Status See(int64_t first, int64_t count, RegionFileItem* items) {
    RETURN_IF_ERROR(call_.Check("see scenes"));
    std::vector<SceneView> views;
    for (int64_t i = first; i < first + count; ++i) {
      ASSIGN_OR_RETURN(const Composition scene, CompositionOf(pictures_[i].graph));
      Random random(SeedOfBoxes(job_.seed, split_, i));
      ASSIGN_OR_RETURN(views.emplace_back(), ViewScene(scene, *job_.drawings, &random));
    }
    ASSIGN_OR_RETURN(std::vector<SceneRegions> seen, job_.detector->Detect(views));
    for (int64_t i = 0; i < count; ++i) {
      items[i] = ItemOf(pictures_[first + i], std::move(seen[i]));
    }
    progress_.Advance(count);
    return absl::OkStatus();
  }

  RegionFileItem ItemOf(const ScenePicture& picture, SceneRegions seen) const {
    RegionFileItem item;
    item.line = ItemLineOf(picture, split_);
    item.line.tags = TagsOf(seen);
    const std::string& word = picture.graph.word.text;
    if (!word.empty()) item.line.ocr_tokens = {word};
    item.regions = job_.append_boxes ? WithAppendedBoxes(seen.regions) : std::move(seen.regions);
    item.soft_labels = std::move(seen.soft_labels);
    return item;
  }

  absl::Status Merge() const {
    std::vector<std::unique_ptr<RegionFile>> parts;
    for (int64_t part = 0; part < PartCount(); ++part) {
      ASSIGN_OR_RETURN(parts.emplace_back(), RegionFile::Open(PartPath(part)));
    }
    return WriteRegionFile(
        out_, PictureCount(), Dtype::kFloat16, [&](int64_t i) -> absl::StatusOr<RegionFileItem> {
          RETURN_IF_ERROR(call_.Check("write regions"));
          const RegionFile& part = *parts[i / kPartSize];
          const int64_t place = i % kPartSize;
          RegionFileItem item;
          ASSIGN_OR_RETURN(item.line, part.Item(place));
          ASSIGN_OR_RETURN(item.regions, part.Regions(place, kMostModelRegionBytes));
          ASSIGN_OR_RETURN(item.soft_labels, part.SoftLabels(place, kMostModelRegionBytes));
          return item;
        });
  }

  const absl::Span<const ScenePicture> pictures_;
  const SceneSplit split_;
  const SceneFeaturesJob& job_;
  Progress& progress_;
  const CallContext& call_;
  const std::string out_, folder_;
};

}  // namespace

absl::Status WriteSceneFeatures(absl::Span<const ScenePicture> pictures, SceneSplit split,
                                const SceneFeaturesJob& job, Progress* progress,
                                const CallContext& call) {
  return FeaturesRun(pictures, split, job, progress, call).Run();
}

}  // namespace sightline
