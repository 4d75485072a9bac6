// From units and a base to row files, and the judgement of all that is in them.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/carried_pictures.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/row_file.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_share.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// What rows are made of and for.  All of it outlives the work.
struct RowWorkshop {
  const WorkFolder* folder = nullptr;
  WorkShare share;
  std::string content;  // hash of all that the generation depends on, but for the base
  int shard_count = 1;
  int unit_size = 64;
  int dimension = 0;
  const UnitContext* context = nullptr;
  const BaseGeneration* base = nullptr;
  WorkTally* tally = nullptr;
};

// All rows of a generation.
struct GenerationRows {
  std::vector<std::string> files;  // paths, of row files
  // Changes whenever one of the files does.
  std::string digest;
  int64_t caption_count = 0;  // good and bad
  Quarantine bad_images, bad_captions;
};

// A row file holds some four thousand pictures' worth: those of one worker's units that are
// neighbours, or of carried pictures that are.  It is named by the hashes of its units and by
// what was found in them, so that it never changes; a worker's seal lists its files.  When a
// unit is made anew with another result, after a refusal that has passed, its rows get
// another name and the seal another content.
class RowWork {
 public:
  explicit RowWork(const RowWorkshop& workshop);

  // Makes the row files of `worker`, unless they are there and whole, and seals them.  All of its
  // units must be there: DataLoss, naming the file, for one that is damaged or of other
  // items, NotFound for one that is missing.
  absl::Status Make(int worker, const UnitSpool& units, const CarriedSpool& carried,
                    const CallContext& call);

  std::string SealPath(int worker) const { return shop_.folder->RowsSeal(seal_, worker); }

  // What the seals of all workers say, as one hash.  NotFound if one is missing.
  absl::StatusOr<std::string> Digest() const;

  // Reads the judgement of every row file, and compares the checksums of those that this
  // process has not made.  Bad images of the scan are the caller's to add.  DataLoss or NotFound,
  // naming the file and the worker that makes it anew, if one is damaged or gone;
  // FailedPrecondition if the embeddings have collapsed.
  absl::StatusOr<GenerationRows> Collect(const CallContext& call) const;

 private:
  absl::Status AddUnits(std::vector<WorkUnit> units, std::vector<std::string>* names) const;
  absl::Status AddCarried(int worker, const std::vector<CarriedPicture>& pictures,
                          std::vector<std::string>* names) const;
  absl::StatusOr<std::vector<std::string>> ReadSeals() const;

  const RowWorkshop shop_;
  std::string seal_;           // hash that the seals have in their names
  std::vector<bool> checked_;  // by worker: made or verified by this process
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_
