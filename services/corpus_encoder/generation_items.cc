#include "services/corpus_encoder/generation_items.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/unit_file.h"

namespace sightline {
namespace {

absl::string_view TextOf(const CorpusCaption* caption) {
  return caption == nullptr ? absl::string_view() : absl::string_view(caption->text);
}

class Collector {
 public:
  Collector(const BaseGeneration& base, const CollectOptions& options)
      : base_(base), options_(options) {}

  absl::Status AddUnit(const WorkUnit& unit, int32_t number) {
    const std::string path = UnitFilePath(options_.work_directory, unit.hash);
    const bool verify = options_.checked.count(unit.hash) == 0;
    ASSIGN_OR_RETURN(const std::unique_ptr<UnitFile> file,
                     UnitFile::Open(path, unit.hash, options_.dimension, verify));
    const absl::Status mismatch =
        absl::DataLossError(absl::StrCat(path, " does not hold the items of its unit"));
    if (file->images().size() != unit.pictures.size()) return mismatch;
    size_t next = 0;
    for (size_t i = 0; i < unit.pictures.size(); ++i) {
      const ScannedPicture& picture = unit.pictures[i];
      const UnitFile::Row& image = file->images()[i];
      if (image.item_id != picture.item.item_id) return mismatch;
      if (!image.rejected.empty()) {
        items_.bad_images.push_back({image.item_id, picture.item.path, image.rejected});
        continue;
      }
      AddImage(picture, file->embedding(image), number, static_cast<int32_t>(i), {});
      for (CaptionItem& caption : CaptionItemsOf(picture.item, options_.caption_language)) {
        if (next == file->captions().size() || file->captions()[next].item_id != caption.item_id) {
          return mismatch;
        }
        const UnitFile::Row& row = file->captions()[next];
        ++items_.caption_count;
        if (row.rejected.empty()) {
          AddCaption(picture, std::move(caption), file->embedding(row), number,
                     static_cast<int32_t>(next), {});
        } else {
          items_.bad_captions.push_back({row.item_id, "", row.rejected});
        }
        ++next;
      }
    }
    return next == file->captions().size() ? absl::OkStatus() : mismatch;
  }

  absl::Status AddCarried(const CarriedPicture& carried) {
    const ScannedPicture& picture = carried.picture;
    ASSIGN_OR_RETURN(const std::vector<float> of_image, base_.images->Embedding(carried.image));
    AddImage(picture, of_image, -1, 0, carried.image);
    std::vector<CaptionItem> captions = CaptionItemsOf(picture.item, options_.caption_language);
    for (size_t i = 0; i < captions.size(); ++i) {
      const BaseIndex::Place& place = carried.captions[i];
      ++items_.caption_count;
      ASSIGN_OR_RETURN(const std::vector<float> embedding, base_.captions->Embedding(place));
      AddCaption(picture, std::move(captions[i]), embedding, -1, 0, place);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<GenerationItems> Finish() {
    RETURN_IF_ERROR(image_check_.Check("pictures"));
    RETURN_IF_ERROR(caption_check_.Check("captions"));
    for (std::vector<GenerationItem>* items : {&items_.images, &items_.captions}) {
      std::sort(items->begin(), items->end(),
                [](const auto& a, const auto& b) { return a.item_id < b.item_id; });
    }
    return std::move(items_);
  }

 private:
  void AddImage(const ScannedPicture& picture, absl::Span<const float> embedding, int32_t unit,
                int32_t row, const BaseIndex::Place& base) {
    image_check_.Add(picture.sha256, embedding);
    items_.images.push_back({picture.item.item_id, &picture,
                             TextOf(picture.item.FirstCaption(options_.caption_language)), unit,
                             row, base});
  }

  void AddCaption(const ScannedPicture& picture, CaptionItem caption,
                  absl::Span<const float> embedding, int32_t unit, int32_t row,
                  const BaseIndex::Place& base) {
    caption_check_.Add(caption.text, embedding);
    items_.captions.push_back(
        {std::move(caption.item_id), &picture, caption.text, unit, row, base});
  }

  const BaseGeneration& base_;
  const CollectOptions& options_;
  GenerationItems items_;
  CollapseCheck image_check_, caption_check_;
};

// Where the picture and its captions lie in the base; none unless all do.
absl::optional<CarriedPicture> FindCarried(const ScannedPicture& picture,
                                           const BaseGeneration& base, const UnitContext& context) {
  if (base.images == nullptr) return absl::nullopt;
  CarriedPicture carried;
  const auto image = base.images->Find(picture.item.item_id, ImageContentHash(picture, context));
  if (!image.has_value()) return absl::nullopt;
  carried.image = *image;
  for (const CaptionItem& caption : CaptionItemsOf(picture.item, context.caption_language)) {
    const auto place = base.captions->Find(caption.item_id, CaptionContentHash(caption, context));
    if (!place.has_value()) return absl::nullopt;
    carried.captions.push_back(*place);
  }
  return carried;
}

}  // namespace

bool CarriesAny(absl::Span<const ScannedPicture> pictures, const BaseGeneration& base,
                const UnitContext& context) {
  return std::any_of(pictures.begin(), pictures.end(), [&](const ScannedPicture& picture) {
    return FindCarried(picture, base, context).has_value();
  });
}

CorpusDivision DivideCorpus(std::vector<ScannedPicture> pictures, const BaseGeneration& base,
                            const UnitContext& context) {
  CorpusDivision division;
  for (ScannedPicture& picture : pictures) {
    absl::optional<CarriedPicture> carried = FindCarried(picture, base, context);
    if (carried.has_value()) {
      carried->picture = std::move(picture);
      division.carried.push_back(*std::move(carried));
    } else {
      division.fresh.push_back(std::move(picture));
    }
  }
  return division;
}

absl::StatusOr<GenerationItems> CollectItems(absl::Span<const WorkUnit> units,
                                             absl::Span<const CarriedPicture> carried,
                                             const BaseGeneration& base,
                                             const CollectOptions& options,
                                             const CallContext& call) {
  Collector collector(base, options);
  for (size_t i = 0; i < units.size(); ++i) {
    RETURN_IF_ERROR(call.Check("collecting the units"));
    RETURN_IF_ERROR(collector.AddUnit(units[i], static_cast<int32_t>(i)));
  }
  for (const CarriedPicture& picture : carried) {
    RETURN_IF_ERROR(collector.AddCarried(picture));
  }
  return collector.Finish();
}

}  // namespace sightline
