#include "common/generations/ancestors.h"

#include <set>

#include "common/base/limits.h"
#include "common/bundle/generation.h"

namespace sightline {

void VisitAncestors(
    const std::string& store, const std::string& index,
    const bundle::v1::CurrentGeneration& current,
    const std::function<bool(const std::string& generation)>& is_there,
    const std::function<bool(const std::string& generation, int64_t sequence)>& visit) {
  std::set<std::string> seen = {current.generation()};
  for (const bundle::v1::Publication& publication : current.previous()) {
    const std::string& generation = publication.generation();
    if (!seen.insert(generation).second || publication.rolled_back()) continue;
    if (is_there(generation) && !visit(generation, publication.sequence())) return;
  }
  std::string child = current.generation();
  for (int i = 0; i < limits::kMaxPublications; ++i) {
    const auto manifest = ReadGenerationManifest(store, index, child);
    if (!manifest.ok() || manifest->parent_generation().empty()) return;
    child = manifest->parent_generation();
    if (seen.insert(child).second && is_there(child) && !visit(child, 0)) return;
  }
}

}  // namespace sightline
