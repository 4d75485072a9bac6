#include "services/corpus_encoder/work_units.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "services/corpus_encoder/field_hash.h"

namespace sightline {
namespace {

// Changes with anything in this program that changes a unit's result or its file.
constexpr absl::string_view kUnitFormat = "sightline unit 4";

uint32_t IdHash(absl::string_view id) {
  Sha256 hash;
  // Not the plain digest, whose first bytes choose the shard.
  hash.Update("unit:");
  hash.Update(id);
  const std::string raw = hash.Raw();
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(raw[i]);
  return value;
}

// The beginning of every hash.
void Begin(absl::string_view what, const UnitContext& context, FieldHash& hash) {
  hash.Add(what);
  hash.Add(kUnitFormat);
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

std::string HashOf(absl::Span<const ScannedPicture> pictures, const UnitContext& context) {
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

std::vector<WorkUnit> CutIntoUnits(absl::Span<const ScannedPicture> pictures, int unit_size,
                                   const UnitContext& context) {
  const size_t most = 2 * static_cast<size_t>(std::max(unit_size, 1));
  std::vector<WorkUnit> units;
  size_t begin = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const bool ends_here = i + 1 == pictures.size() || i + 1 - begin == most ||
                           IdHash(pictures[i].item.item_id) % std::max(unit_size, 1) == 0;
    if (!ends_here) continue;
    const absl::Span<const ScannedPicture> slice = pictures.subspan(begin, i + 1 - begin);
    units.push_back({HashOf(slice, context), slice});
    begin = i + 1;
  }
  return units;
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
