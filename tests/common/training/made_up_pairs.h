// Regions and captions from nothing, for tests: every picture shows one of a few things, which its
// regions' features and its captions say.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_PAIRS_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_PAIRS_H_

#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/dataset/corpus.h"
#include "common/training/pair_corpus.h"
#include "common/training/random.h"
#include "tests/common/models/tiny_family.h"

namespace sightline {

// A corpus of what is put into it.
class MadeUpCorpus : public CorpusReader {
 public:
  explicit MadeUpCorpus(int region_feature_size, int soft_label_count = 0)
      : region_feature_size_(region_feature_size), soft_label_count_(soft_label_count) {}

  void Add(CorpusItem item, RegionSet regions = {}, std::vector<float> soft_labels = {}) {
    item.path = std::to_string(items_.size());
    items_.push_back(std::move(item));
    regions_.push_back(std::move(regions));
    soft_labels_.push_back(std::move(soft_labels));
  }

  // What a source says of items that it cannot give, or not whole.
  void Reject(CorpusProblem problem) { rejected_.push_back(std::move(problem)); }
  void Warn(CorpusProblem problem) { warnings_.push_back(std::move(problem)); }

  absl::Status ListTo(ListingSink& sink) const override {
    for (const CorpusItem& item : items_) {
      if (absl::Status given = GiveItem(item, sink); !given.ok()) return given;
    }
    for (const CorpusProblem& problem : rejected_) sink.Rejected(problem).IgnoreError();
    for (const CorpusProblem& problem : warnings_) sink.Warning(problem).IgnoreError();
    return absl::OkStatus();
  }
  int region_feature_size() const override { return region_feature_size_; }
  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t) const override {
    const RegionSet& regions = regions_[std::stoul(item.path)];
    if (regions.count == 0) return absl::InvalidArgumentError("no regions");
    return regions;
  }

  int soft_label_count() const override { return soft_label_count_; }
  absl::StatusOr<std::vector<float>> ReadSoftLabels(const CorpusItem& item,
                                                    int64_t) const override {
    return soft_labels_[std::stoul(item.path)];
  }

 private:
  const int region_feature_size_;
  const int soft_label_count_;
  std::vector<CorpusItem> items_;
  std::vector<CorpusProblem> rejected_, warnings_;
  std::vector<RegionSet> regions_;
  std::vector<std::vector<float>> soft_labels_;
};

inline CorpusItem MadeUpItem(const std::string& id, const std::vector<std::string>& captions) {
  CorpusItem item;
  item.item_id = id;
  for (const std::string& caption : captions) item.captions.push_back({"en", caption});
  return item;
}

struct MadeUpOptions {
  int with_words = INT_MAX;
  int in_first = INT_MAX;
  bool second_has_labels = true;
  bool with_tags = true;
};

// `count` pictures of things that the tiny families' vocabularies name, as pictures of `family`:
// TinyImage's regions, each with the thing's own features added, and of the first `with_words` its
// words to be read in it, of which every fourth has none.  Soft labels are of words: four fifths
// for the thing that the region shows.  A VLDeformer's tags are those things.  Those behind the
// first `in_first` are of a second corpus.
inline std::unique_ptr<PairCorpus> MadeUpPairs(const TinyFamily& family, int count,
                                               const MadeUpOptions& options = {}) {
  const auto classes = static_cast<int>(TinyWords().size());
  const int width = TinyImage(family, 0).regions.feature_size;
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  auto corpus = std::make_unique<MadeUpCorpus>(width, classes);
  for (int i = 0; i < count; ++i) {
    if (i == options.in_first) {
      corpora.push_back(std::move(corpus));
      corpus = std::make_unique<MadeUpCorpus>(width, options.second_has_labels ? classes : 0);
    }
    // Two words say which one it is.
    const std::vector<std::string>& words = TinyWords();
    const size_t first = i % words.size(), second = i / words.size() % words.size();
    ImageInput image = TinyImage(family, i);
    std::vector<float> labels(image.regions.count * classes, 0.2f / static_cast<float>(classes));
    std::vector<std::string> shown_words;
    for (int64_t row = 0; row < image.regions.count; ++row) {
      const size_t shown = row % 2 == 0 ? first : second;
      shown_words.push_back(words[shown]);
      labels[row * classes + shown] += 0.8f;
      Random random(SeedOf(row % 2, RandomStream::kWeights, shown));
      for (int k = 0; k < image.regions.feature_size; ++k) {
        image.regions.features[row * image.regions.feature_size + k] +=
            static_cast<float>(random.Between(-3, 3));
      }
    }
    CorpusItem item =
        MadeUpItem("made/" + std::to_string(1000 + i), {words[first] + " " + words[second]});
    if (options.with_tags) {
      item.tags = family.manifest.family() == "vldeformer" ? shown_words : image.tags;
    }
    if (i < options.with_words) item.ocr_tokens = image.ocr_tokens;
    corpus->Add(std::move(item), std::move(image.regions), std::move(labels));
  }
  corpora.push_back(std::move(corpus));
  return *PairCorpus::Open(std::move(corpora), {});
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_MADE_UP_PAIRS_H_
