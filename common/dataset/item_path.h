// Paths of items that share a file: FILE#row.
#ifndef SIGHTLINE_COMMON_DATASET_ITEM_PATH_H_
#define SIGHTLINE_COMMON_DATASET_ITEM_PATH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct ItemPlace {
  std::string file;
  int64_t row = 0;
};

inline std::string ItemPath(absl::string_view file, int64_t row) {
  return absl::StrCat(file, "#", row);
}

// NotFound for a path that is none.
inline absl::StatusOr<ItemPlace> PlaceOf(const CorpusItem& item) {
  const size_t mark = item.path.rfind('#');
  ItemPlace place;
  if (mark == std::string::npos ||
      !absl::SimpleAtoi(absl::string_view(item.path).substr(mark + 1), &place.row)) {
    return absl::NotFoundError(absl::StrCat(item.item_id, " is no item of this corpus"));
  }
  place.file = item.path.substr(0, mark);
  return place;
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_ITEM_PATH_H_
