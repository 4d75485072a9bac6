// An item as an index stores it.
#ifndef SIGHTLINE_COMMON_API_ITEM_H_
#define SIGHTLINE_COMMON_API_ITEM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline {

struct StoredItem {
  std::string item_id;
  std::string caption;
  std::string uri;
  std::vector<std::string> tags;
  int shard = 0;
  int64_t row = 0;
  std::vector<float> embedding;  // if wanted
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_ITEM_H_
