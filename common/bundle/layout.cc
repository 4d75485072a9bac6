#include "common/bundle/layout.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/files.h"

namespace sightline {
namespace {

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

bool IsValidName(absl::string_view name, int max_length) {
  return !name.empty() && static_cast<int64_t>(name.size()) <= max_length &&
         IsLowerOrDigit(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
           return IsLowerOrDigit(c) || c == '_' || c == '-';
         });
}

bool IsSafePath(absl::string_view path) {
  if (path.empty() || path.size() > 200 || path.find("..") != absl::string_view::npos) return false;
  for (const absl::string_view component : absl::StrSplit(path, '/')) {
    if (component.empty() || component.front() == '.') return false;
    const bool allowed = std::all_of(component.begin(), component.end(), [](char c) {
      return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
    });
    if (!allowed) return false;
  }
  return true;
}

int ShardOf(absl::string_view item_id, int shard_count) {
  Sha256 sha;
  sha.Update(item_id);
  const std::string digest = sha.Raw();
  uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | static_cast<uint8_t>(digest[i]);
  return static_cast<int>(number % static_cast<uint64_t>(shard_count));
}

std::string IndexDirectory(absl::string_view store, absl::string_view index) {
  return JoinPath(JoinPath(store, "indexes"), index);
}

std::string GenerationDirectory(absl::string_view store, absl::string_view index,
                                absl::string_view generation) {
  return JoinPath(JoinPath(IndexDirectory(store, index), "generations"), generation);
}

std::string ModelDirectory(absl::string_view store, absl::string_view model_id) {
  return JoinPath(JoinPath(store, "models"), model_id);
}

std::string ShardFileName(int shard, int shard_count, absl::string_view kind) {
  return absl::StrFormat("shards/%05d-of-%05d.%s", shard, shard_count, kind);
}

}  // namespace sightline
