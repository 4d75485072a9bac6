// Corpora in memory, of pictures that decode or of regions.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_CORPUS_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_CORPUS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/dataset/corpus.h"
#include "tests/common/image/encode.h"

namespace sightline {

// Deaf to `max_bytes` but for the error that it asks for.
class FakeCorpus : public CorpusReader {
 public:
  absl::Status ListTo(ListingSink& sink) const override {
    if (!list_error.ok()) return list_error;
    for (const CorpusItem& item : listing.items) RETURN_IF_ERROR(GiveItem(item, sink));
    for (const CorpusProblem& problem : listing.rejected) RETURN_IF_ERROR(sink.Rejected(problem));
    for (const CorpusProblem& problem : listing.warnings) RETURN_IF_ERROR(sink.Warning(problem));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    if (before_read) before_read(item);
    const auto error = read_errors.find(item.item_id);
    if (error != read_errors.end()) return error->second;
    const std::string& bytes = pictures.at(item.item_id);
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      return absl::InvalidArgumentError("too long");
    }
    return bytes;
  }

  int region_feature_size() const override { return feature_size; }

  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t) const override {
    if (before_read) before_read(item);
    const auto error = read_errors.find(item.item_id);
    if (error != read_errors.end()) return error->second;
    return regions.at(item.item_id);
  }

  std::string PictureVersion(const CorpusItem& item) const override {
    if (!version.empty()) return version;
    if (feature_size == 0) return Sha256Hex(pictures.at(item.item_id));
    const std::vector<float>& features = regions.at(item.item_id).features;
    return Sha256Hex(absl::string_view(reinterpret_cast<const char*>(features.data()),
                                       features.size() * sizeof(float)));
  }

  void Add(const std::string& id, const std::string& bytes,
           const std::vector<std::string>& captions = {}) {
    CorpusItem item;
    item.item_id = id;
    item.path = "/pictures/" + id;
    for (const std::string& caption : captions) item.captions.push_back({"en", caption});
    item.captions.push_back({"de", "auf Deutsch"});
    item.tags = {"tag of " + id};
    listing.items.push_back(std::move(item));
    pictures[id] = bytes;
  }

  // `count` small pictures, no two alike; every third has two captions, every third one.
  void AddMany(int count) {
    for (int i = 0; i < count; ++i) {
      Pixels pixels = Gradient(4 + i % 5, 3 + i % 7);
      pixels.rgb[0] = static_cast<uint8_t>(i);
      pixels.rgb[1] = static_cast<uint8_t>(i / 256);
      std::vector<std::string> captions;
      if (i % 3 < 2) captions.push_back(absl::StrCat("picture number ", i));
      if (i % 3 == 0) captions.push_back("keywords of it");
      Add(absl::StrCat("p/", i), EncodePng(pixels), captions);
    }
  }

  // `count` items of two regions of three numbers, no two alike, with a caption each.
  void AddManyRegions(int count) {
    feature_size = 3;
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("r/", i);
      Add(id, "", {absl::StrCat("picture number ", i)});
      RegionSet& set = regions[id];
      set.count = 2;
      set.feature_size = 3;
      for (int k = 0; k < 6; ++k) set.features.push_back(static_cast<float>(1 + i + k * k));
    }
  }

  CorpusListing listing;
  int feature_size = 0;  // of regions; 0: pictures
  std::map<std::string, RegionSet> regions;
  std::map<std::string, std::string> pictures;
  std::map<std::string, absl::Status> read_errors;
  absl::Status list_error;
  std::string version;  // of all pictures, changed or not; empty: as they change
  std::function<void(const CorpusItem&)> before_read;
};

inline std::vector<std::unique_ptr<CorpusReader>> Corpora(FakeCorpus corpus) {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::make_unique<FakeCorpus>(std::move(corpus)));
  return corpora;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_CORPUS_H_
