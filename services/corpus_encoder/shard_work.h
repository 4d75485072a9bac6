// Writes the shards of a job's two indexes, together with other workers.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SHARD_WORK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SHARD_WORK_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/row_file.h"
#include "services/corpus_encoder/row_work.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_share.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What shards are written of and for.  All of it outlives the work.
struct ShardWorkshop {
  const WorkFolder* folder = nullptr;
  WorkShare share;
  AwaitOptions await;
  const GenerationSpec* images = nullptr;
  const GenerationSpec* captions = nullptr;
  const BaseGeneration* base = nullptr;
  const RowWork* row_work = nullptr;
  const GenerationRows* rows = nullptr;
  WorkTally* tally = nullptr;
  Progress* progress = nullptr;
};

// A shard that is written has a receipt in the work folder: what the manifest will say of it,
// under the digest of the rows that it was made of.  A worker that finds one, with files as
// long as it says (and whole, as worker 0 finds), has nothing to do.  Otherwise it claims the shard
// (flock) and writes it; a claim ends with its process, so what a dead worker was at is free at
// once. Not thread-safe.
class ShardWork {
 public:
  explicit ShardWork(const ShardWorkshop& workshop);

  // Writes the shards that nobody has written and nobody is at, each worker beginning at
  // another.  False, with no more done, if the rows have changed since they were collected, or
  // a seal of theirs is gone; errors as WriteGenerationShard has them.
  absl::StatusOr<bool> WriteFree(const CallContext& call);

  // The same until all are there.  DeadlineExceeded, naming them, when others are at the last
  // ones and nothing moves for the stall timeout.
  absl::StatusOr<bool> WriteAll(const CallContext& call);

  // Of an index, in order; after WriteAll.
  std::vector<bundle::v1::ShardManifest> manifests(ItemIndex index) const;

 private:
  struct Shard {
    ItemIndex index = ItemIndex::kImages;
    int number = 0;
    std::string name;  // "images-3"
    absl::optional<bundle::v1::ShardManifest> done;
  };

  const GenerationSpec& spec(const Shard& shard) const {
    return shard.index == ItemIndex::kImages ? *shop_.images : *shop_.captions;
  }
  std::string ReceiptPath(const Shard& shard) const {
    return shop_.folder->ReceiptPath(shop_.rows->digest, shard.name);
  }
  absl::Status FindWrittenIndexes(const CallContext& call);
  void FindReceipt(Shard& shard) const;
  absl::Status Claim(Shard& shard, bool* rows_changed, const CallContext& call);
  absl::Status Write(Shard& shard, const CallContext& call);
  bool all_done() const;
  absl::Status Stalled() const;

  const ShardWorkshop shop_;
  std::vector<Shard> shards_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SHARD_WORK_H_
