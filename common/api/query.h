// What may be asked with: texts, pictures, regions, vectors and stored items.
#ifndef SIGHTLINE_COMMON_API_QUERY_H_
#define SIGHTLINE_COMMON_API_QUERY_H_

#include <string>
#include <variant>
#include <vector>

#include "common/base/shared.h"
#include "common/image/image_input.h"

namespace sightline {

struct TextQuery {
  std::string text;
};
// Uploads may be many MiB, and a call goes to several replicas, so copies share them.
struct ImageQuery {
  Shared<std::string> bytes;  // encoded picture
};
struct RegionsQuery {
  Shared<ImageInput> image;  // regions filled, no pixels
};
// What the query encoder makes a vector of.
using EncodableQuery = std::variant<TextQuery, ImageQuery, RegionsQuery>;

struct EmbeddingQuery {
  std::vector<float> values;
  std::string space;  // must equal the index's; InvalidArgument if empty
};
// An item of the searched index finds its neighbours: it is left out of the hits itself.
struct ItemQuery {
  std::string index;  // where the item is stored; empty: the searched index
  std::string item_id;
};
using Query = std::variant<TextQuery, ImageQuery, RegionsQuery, EmbeddingQuery, ItemQuery>;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_QUERY_H_
