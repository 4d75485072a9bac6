#include "services/corpus_encoder/item_content.h"

#include <utility>
#include <vector>

#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/field_hash.h"

namespace sightline {
namespace {

std::string HashOf(const RegionSet& regions) {
  FieldHash hash;
  hash.Add("regions");
  hash.AddNumber(regions.count);
  hash.AddNumber(regions.feature_size);
  for (const std::vector<float>* values :
       {&regions.features, &regions.boxes, &regions.box_sizes, &regions.confidences}) {
    hash.Add(BytesOfNumbers(*values));
  }
  return hash.Hex();
}

}  // namespace

absl::StatusOr<ItemContent> ReadContent(const ScannedPicture& picture, int64_t max_bytes) {
  ItemContent content;
  if (HasRegions(picture)) {
    ASSIGN_OR_RETURN(content.image.regions, picture.reader->ReadRegions(picture.item, max_bytes));
    content.image.ocr_tokens = picture.item.ocr_tokens;
    content.image.tags = picture.item.tags;
    content.byte_count =
        static_cast<int64_t>(content.image.regions.features.size() * sizeof(float));
    content.sha256 = HashOf(content.image.regions);
  } else {
    ASSIGN_OR_RETURN(content.picture, picture.reader->ReadPicture(picture.item, max_bytes));
    content.byte_count = static_cast<int64_t>(content.picture.size());
    content.sha256 = Sha256Hex(content.picture);
  }
  return content;
}

}  // namespace sightline
