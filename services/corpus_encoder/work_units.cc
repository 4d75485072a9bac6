#include "services/corpus_encoder/work_units.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/corpus_encoder/field_hash.h"

namespace sightline {
namespace {

// Changes with anything in this program that changes a unit's result.
constexpr absl::string_view kUnitFormat = "sightline unit 4";

// The beginning of every hash.
void Begin(absl::string_view what, const UnitContext& context, FieldHash& hash) {
  hash.Add(what);
  std::string format(kUnitFormat);
  // What was made before there was a choice has the default.
  if (context.feature_dtype != kDefaultFeatureDtype) {
    absl::StrAppend(&format, " ", DtypeName(context.feature_dtype));
  }
  if (context.precision != kDefaultEncodingPrecision) {
    absl::StrAppend(&format, " by ", context.precision);
  }
  hash.Add(format);
  hash.Add(context.encoder);
  hash.Add(absl::StrJoin(
      context.rerankers, ",",
      [](std::string* out, const NamedReranker& reranker) { out->append(reranker.model); }));
  hash.AddNumber(context.deterministic ? 1 : 0);
  hash.AddNumber(context.limits.max_bytes);
  hash.AddNumber(context.limits.max_pixels);
  hash.AddNumber(context.limits.max_side);
  hash.AddNumber(absl::ToInt64Milliseconds(context.max_decode_time));
}

// The words of an item that models read beside its regions.
void AddWords(const ScannedPicture& picture, FieldHash& hash) {
  if (!HasRegions(picture)) return;
  for (const std::vector<std::string>* words : {&picture.item.tags, &picture.item.ocr_tokens}) {
    hash.AddNumber(static_cast<int64_t>(words->size()));
    for (const std::string& word : *words) hash.Add(word);
  }
}

std::string HashOf(const std::vector<ScannedPicture>& pictures, const UnitContext& context) {
  FieldHash hash;
  Begin("unit", context, hash);
  for (const ScannedPicture& picture : pictures) {
    hash.Add(picture.item.item_id);
    hash.Add(picture.sha256);
    AddWords(picture, hash);
    const std::vector<CaptionItem> captions =
        CaptionItemsOf(picture.item, context.caption_language);
    hash.AddNumber(static_cast<int64_t>(captions.size()));
    for (const CaptionItem& caption : captions) {
      hash.Add(caption.item_id);
      hash.Add(caption.text);
    }
  }
  return hash.Hex();
}

}  // namespace

absl::optional<WorkUnit> UnitCutter::Add(ScannedPicture picture) {
  pictures_.push_back(std::move(picture));
  if (!cuts_.EndsWith(pictures_.back().item.item_id)) return absl::nullopt;
  return Finish();
}

absl::optional<WorkUnit> UnitCutter::Finish() {
  if (pictures_.empty()) return absl::nullopt;
  WorkUnit unit;
  unit.hash = HashOf(pictures_, context_);
  unit.pictures = std::move(pictures_);
  pictures_.clear();
  return unit;
}

std::string ImageContentHash(const ScannedPicture& picture, const UnitContext& context) {
  FieldHash hash;
  Begin("image", context, hash);
  hash.Add(picture.item.item_id);
  hash.Add(picture.sha256);
  AddWords(picture, hash);
  return hash.Raw();
}

std::string CaptionContentHash(const CaptionItem& caption, const UnitContext& context) {
  FieldHash hash;
  Begin("caption", context, hash);
  hash.Add(caption.item_id);
  hash.Add(caption.text);
  return hash.Raw();
}

std::vector<CaptionItem> CaptionItemsOf(const CorpusItem& item, absl::string_view language) {
  std::vector<CaptionItem> captions;
  for (const CorpusCaption& caption : item.captions) {
    if (caption.language != language) continue;
    captions.push_back(
        {CaptionId(item.item_id, language, static_cast<int>(captions.size()) + 1), caption.text});
  }
  return captions;
}

}  // namespace sightline
