// What people say of an item in one line of JSON.
//
//   {"path": "cats/tom.jpg", "id": "tom", "captions": ["a grey cat"], "tags": ["pet"],
//    "ocr_tokens": ["STOP"], "split": "held_out", "place": 17}
//   {"path": "dog.jpg", "captions": [{"language": "de", "text": "ein Hund"}]}
//
// Every key is optional here, and others are ignored.  A caption that is a plain string is
// English.
#ifndef SIGHTLINE_COMMON_DATASET_ITEM_LINE_H_
#define SIGHTLINE_COMMON_DATASET_ITEM_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct ItemLine {
  std::string path;
  std::string id;  // empty, or passes CheckItemId
  std::vector<CorpusCaption> captions;
  std::vector<std::string> tags;
  std::vector<std::string> ocr_tokens;
  absl::optional<Split> split;              // "train", "validation" or "held_out"
  absl::optional<int64_t> published_place;  // "place"
};

inline constexpr size_t kMaxItemLineBytes = 1 << 20;

// InvalidArgument: not a JSON object, a wrong type, too long, too many of something, an id that
// none may have, an unknown split, a place that is no whole number from 0 to kMaxPublishedPlace or
// an empty caption.
absl::StatusOr<ItemLine> ParseItemLine(absl::string_view line);

// The line that gives this again, without a newline and without its path.
std::string ItemLineJson(const ItemLine& line);

// Moves captions in `languages` (WantsLanguage), tags, OCR tokens, split and place into `item`.
void MoveWords(ItemLine& line, const std::vector<std::string>& languages, CorpusItem& item);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_ITEM_LINE_H_
