#include "common/dataset/published_reader.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/coco_file.h"
#include "common/dataset/flickr_file.h"
#include "common/dataset/karpathy_file.h"
#include "common/dataset/multi30k_folder.h"
#include "common/dataset/published_captions.h"
#include "common/dataset/region_id.h"
#include "common/dataset/textcaps_file.h"

namespace sightline {
namespace {

using RegionItems = std::unordered_map<std::string, CorpusItem>;  // by item id, without captions

class PublishedReader : public CorpusReader {
 public:
  PublishedReader(PublishedOptions options, RegionId region_id,
                  std::unique_ptr<CorpusReader> regions)
      : options_(std::move(options)),
        region_id_(std::move(region_id)),
        regions_(std::move(regions)) {}

  int region_feature_size() const override {
    return regions_ == nullptr ? 0 : regions_->region_feature_size();
  }

  absl::Status ListTo(ListingSink& sink) const override {
    ASSIGN_OR_RETURN(PublishedCaptions set, ReadSet());
    RETURN_IF_ERROR(ChooseSplits(set.pictures));
    RETURN_IF_ERROR(GiveWarnings(set, sink));
    if (regions_ == nullptr) {
      for (PublishedPicture& picture : set.pictures) {
        CorpusItem item = ItemOf(picture);
        item.path = JoinPath(options_.images, picture.file);
        RETURN_IF_ERROR(GiveItem(std::move(item), sink));
      }
      return absl::OkStatus();
    }
    return GiveRegions(set.pictures, sink);
  }

  // An item of regions has the path that it has in their own corpus, which knows it by that.
  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t max_bytes) const override {
    if (regions_ == nullptr) return CorpusReader::ReadRegions(item, max_bytes);
    return regions_->ReadRegions(item, max_bytes);
  }

  int soft_label_count() const override {
    return regions_ == nullptr ? 0 : regions_->soft_label_count();
  }

  absl::StatusOr<std::vector<float>> ReadSoftLabels(const CorpusItem& item,
                                                    int64_t max_bytes) const override {
    if (regions_ == nullptr) return CorpusReader::ReadSoftLabels(item, max_bytes);
    return regions_->ReadSoftLabels(item, max_bytes);
  }

  // Which of them are an item's goes by their names, which the captions' source has not.
  std::string RegionsDigest() const override {
    const std::string digest = regions_ == nullptr ? "" : regions_->RegionsDigest();
    return digest.empty() ? "" : absl::StrCat(digest, "by ", options_.region_id);
  }

  std::string PictureVersion(const CorpusItem& item) const override {
    if (regions_ == nullptr) return CorpusReader::PictureVersion(item);
    return regions_->PictureVersion(item);
  }

 private:
  absl::StatusOr<PublishedCaptions> ReadSet() const {
    const int most = options_.captions_per_picture;
    const std::string& language = options_.caption_language;
    switch (options_.form) {
      case PublishedForm::kKarpathy:
        return ReadKarpathyFile(options_.path, language, most);
      case PublishedForm::kCoco:
        return ReadCocoFile(options_.path, language, most);
      case PublishedForm::kFlickr:
        return ReadFlickrFile(options_.path, language, most);
      case PublishedForm::kMulti30k:
        return ReadMulti30kFolder(options_.path, most);
      case PublishedForm::kTextCaps:
        return ReadTextCapsFile(options_.path, options_.ocr, language, most);
    }
    return absl::InvalidArgumentError("unknown form of a published set");
  }

  // Leaves the pictures of the splits that were asked for.
  absl::Status ChooseSplits(std::vector<PublishedPicture>& pictures) const {
    if (options_.splits.empty()) return absl::OkStatus();
    std::set<std::string> known;
    for (const PublishedPicture& picture : pictures) known.insert(picture.split);
    for (const std::string& split : options_.splits) {
      if (known.count(split) > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          options_.path, " has no picture of the split \"", EscapeUnlessPrintable(split),
          "\"; it has those of ", absl::StrJoin(known, ", ")));
    }
    const auto unwanted = [this](const PublishedPicture& picture) {
      const std::vector<std::string>& wanted = options_.splits;
      return std::find(wanted.begin(), wanted.end(), picture.split) == wanted.end();
    };
    pictures.erase(std::remove_if(pictures.begin(), pictures.end(), unwanted), pictures.end());
    return absl::OkStatus();
  }

  // Of the pictures that are left.
  absl::Status GiveWarnings(PublishedCaptions& set, ListingSink& sink) const {
    if (set.warnings.empty()) return absl::OkStatus();
    std::unordered_set<std::string> ids = {""};  // of what is no picture's
    for (const PublishedPicture& picture : set.pictures) ids.insert(picture.id);
    for (CorpusProblem& warning : set.warnings) {
      if (ids.count(warning.item_id) == 0) continue;
      if (!warning.item_id.empty()) {
        warning.item_id = absl::StrCat(options_.id_prefix, warning.item_id);
      }
      RETURN_IF_ERROR(sink.Warning(std::move(warning)));
    }
    return absl::OkStatus();
  }

  // All but its path.
  CorpusItem ItemOf(PublishedPicture& picture) const {
    CorpusItem item;
    item.item_id = absl::StrCat(options_.id_prefix, picture.id);
    for (CorpusCaption& caption : picture.captions) {
      if (WantsLanguage(options_.languages, caption.language)) {
        item.captions.push_back(std::move(caption));
      }
    }
    item.ocr_tokens = std::move(picture.ocr_tokens);
    // A name that is no split's has been refused by now.
    item.split = SplitOfPublished(picture.split).value_or(absl::nullopt);
    item.published_place = picture.place;
    return item;
  }

  absl::StatusOr<RegionItems> ListRegions(ListingSink& sink) const {
    ASSIGN_OR_RETURN(CorpusListing listing, regions_->List());
    for (CorpusProblem& problem : listing.rejected) {
      RETURN_IF_ERROR(sink.Rejected(std::move(problem)));
    }
    RegionItems items;
    items.reserve(listing.items.size());
    for (CorpusItem& item : listing.items) {
      std::vector<CorpusCaption>().swap(item.captions);
      std::string id = item.item_id;
      items.emplace(std::move(id), std::move(item));
    }
    return items;
  }

  absl::Status GiveRegions(std::vector<PublishedPicture>& pictures, ListingSink& sink) const {
    ASSIGN_OR_RETURN(RegionItems items, ListRegions(sink));
    bool any = pictures.empty();
    for (const PublishedPicture& picture : pictures) {
      any = any || items.count(region_id_.Of(picture)) > 0;
    }
    if (!any) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no picture of ", options_.path, " has regions: the first is called \"",
          region_id_.Of(pictures[0]), "\" by region_id \"", options_.region_id, "\", ",
          items.empty()
              ? "and there are none"
              : absl::StrCat("the corpus of regions has \"", items.begin()->first, "\"")));
    }
    for (PublishedPicture& picture : pictures) {
      const std::string id = region_id_.Of(picture);
      const auto found = items.find(id);
      CorpusItem item = ItemOf(picture);
      if (found == items.end()) {
        RETURN_IF_ERROR(sink.Rejected(
            {item.item_id, picture.file,
             absl::StrCat("the corpus of regions has no \"", EscapeUnlessPrintable(id), "\"")}));
        continue;
      }
      item.path = found->second.path;
      item.tags = found->second.tags;
      if (item.ocr_tokens.empty()) item.ocr_tokens = found->second.ocr_tokens;
      RETURN_IF_ERROR(GiveItem(std::move(item), sink));
    }
    return absl::OkStatus();
  }

  const PublishedOptions options_;
  const RegionId region_id_;
  const std::unique_ptr<CorpusReader> regions_;  // null: items are pictures
};

}  // namespace

absl::StatusOr<std::unique_ptr<CorpusReader>> NewPublishedReader(
    const PublishedOptions& options, std::unique_ptr<CorpusReader> regions) {
  ASSIGN_OR_RETURN(RegionId region_id, RegionId::Parse(options.region_id));
  if (!options.ocr.empty() && options.form != PublishedForm::kTextCaps) {
    return absl::InvalidArgumentError("only TextCaps has a file of OCR tokens");
  }
  if (regions != nullptr && regions->region_feature_size() == 0) {
    return absl::InvalidArgumentError("regions are a corpus of pictures; give one of regions");
  }
  PublishedOptions complete = options;
  if (complete.images.empty()) {
    complete.images = options.form == PublishedForm::kMulti30k
                          ? options.path
                          : std::filesystem::path(options.path).parent_path().string();
  }
  return std::make_unique<PublishedReader>(std::move(complete), std::move(region_id),
                                           std::move(regions));
}

}  // namespace sightline
