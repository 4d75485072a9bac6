#include "common/generations/ancestors.h"

#include <algorithm>
#include <set>

#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"

namespace sightline {

std::vector<std::pair<std::string, int64_t>> Ancestors(
    const std::string& store, const std::string& index,
    const bundle::v1::CurrentGeneration& current) {
  std::vector<std::pair<std::string, int64_t>> ancestors;
  std::set<std::string> seen = {current.generation()};
  for (const bundle::v1::Publication& publication : current.previous()) {
    if (!seen.insert(publication.generation()).second || publication.rolled_back()) continue;
    ancestors.emplace_back(publication.generation(), publication.sequence());
  }
  std::string child = current.generation();
  for (int i = 0; i < kMaxPublications; ++i) {
    const auto manifest = ReadGenerationManifest(store, index, child);
    if (!manifest.ok() || manifest->parent_generation().empty()) break;
    child = manifest->parent_generation();
    if (seen.insert(child).second) ancestors.emplace_back(child, 0);
  }
  // Those that were pruned are no news.
  ancestors.erase(
      std::remove_if(ancestors.begin(), ancestors.end(),
                     [&](const auto& ancestor) {
                       return !FileExists(JoinPath(
                           GenerationDirectory(store, index, ancestor.first), kManifestFile));
                     }),
      ancestors.end());
  return ancestors;
}

}  // namespace sightline
