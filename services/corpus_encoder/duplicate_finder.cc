#include "services/corpus_encoder/duplicate_finder.h"

#include "absl/strings/str_cat.h"
#include "common/base/byte_reader.h"
#include "common/base/status_macros.h"

namespace sightline {

absl::Status DuplicateFinder::Add(const ScannedPicture& picture) {
  std::string item;
  AppendText(picture.item.item_id, &item);
  AppendText(picture.item.path, &item);
  return by_content_.Add(picture.sha256, item);
}

absl::StatusOr<int64_t> DuplicateFinder::AddTo(Warnings& warnings) {
  RecordSorter by_id(directory_);
  std::string content, first;
  RETURN_IF_ERROR(by_content_.VisitAll([&](absl::string_view sha256, absl::string_view item) {
    ByteReader bytes(item);
    const absl::string_view id = bytes.Text();
    if (content == sha256) return by_id.Add(id, absl::StrCat(item, first));
    content = std::string(sha256);
    first = std::string(id);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(by_id.VisitAll([&](absl::string_view id, absl::string_view item) {
    ByteReader bytes(item);
    bytes.Text();
    const absl::string_view path = bytes.Text();
    const absl::string_view same_as = bytes.Bytes(bytes.left());
    return warnings.Add(
        {std::string(id), std::string(path), absl::StrCat("the same picture as ", same_as)});
  }));
  return by_id.size();
}

}  // namespace sightline
