// The items of one shard, taken out of unit files and a base when the writer asks.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_SHARD_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_SHARD_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/shard_source.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/generation_items.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_units.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Where items of one kind are taken from.  All of it outlives who uses it.
struct ItemSources {
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  absl::Span<const WorkUnit> units;
  std::string work_directory;
  const BaseIndex* base = nullptr;  // null: nothing is carried over
  UnitContext context;
  int dimension = 0;
};

// The last few unit files that were used, mapped.  Items come almost in the order of units,
// so that few are opened twice in one reading of a shard.  Not thread-safe.
class UnitFiles {
 public:
  explicit UnitFiles(const ItemSources& sources) : sources_(sources) {}

  // Lives until a few others have been asked for.
  absl::StatusOr<const UnitFile*> Get(int32_t unit);

 private:
  const ItemSources& sources_;
  std::list<std::pair<int32_t, std::unique_ptr<UnitFile>>> open_;  // last used first
};

// Holds what one item takes and a few unit files, mapped.  Not thread-safe.
class GenerationShard : public ShardSource {
 public:
  // `items` are those of the shard, by id.  Reading fails when `call` ends.
  GenerationShard(std::vector<const GenerationItem*> items, const ItemSources& sources,
                  const CallContext& call);

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override;
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override;
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override;
  absl::string_view ContentHash(int64_t i) override;

 private:
  bool images() const { return sources_.item_kind == bundle::v1::IMAGE; }
  // The row of an item that is in a unit.
  const UnitFile::Row& RowOf(const UnitFile& file, const GenerationItem& item) const;

  const std::vector<const GenerationItem*> items_;
  const ItemSources& sources_;
  const CallContext call_;
  UnitFiles files_;
  ItemRecord record_;
  std::vector<float> embedding_;
  ItemFeatures features_;
  std::string content_hash_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_SHARD_H_
