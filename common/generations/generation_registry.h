// GenerationTable with the type of what a server holds.
//
//   GenerationRegistry<SearchGeneration> generations(clock);
//   ASSIGN_OR_RETURN(auto entry, generations.Find(index, generation, space));
//   entry.held->shards...
#ifndef SIGHTLINE_COMMON_GENERATIONS_GENERATION_REGISTRY_H_
#define SIGHTLINE_COMMON_GENERATIONS_GENERATION_REGISTRY_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/generations/generation_table.h"

namespace sightline {

// Thread-safe.  All that is put into `table()` must be a T.
template <typename T>
class GenerationRegistry {
 public:
  // A request keeps what it works on alive by `held`, or by a part of it that keeps the
  // memory that GenerationHost::Load tells of.
  struct Entry {
    std::shared_ptr<const bundle::v1::GenerationManifest> manifest;
    std::shared_ptr<const T> held;
  };

  explicit GenerationRegistry(Clock* clock) : table_(clock) {}

  GenerationTable* table() { return &table_; }
  const GenerationTable& table() const { return table_; }

  // As GenerationTable::Find.
  absl::StatusOr<Entry> Find(absl::string_view index, absl::string_view generation,
                             absl::string_view space) {
    absl::StatusOr<HeldGeneration> found = table_.Find(index, generation, space);
    if (!found.ok()) return found.status();
    return Entry{std::move(found->manifest), std::static_pointer_cast<const T>(found->held)};
  }

 private:
  GenerationTable table_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_GENERATION_REGISTRY_H_
