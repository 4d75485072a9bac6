// From units and a base to row files, and the judgement of all that is in them.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
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
  // Of all units and all that is carried over: what the rows of all workers hold together.
  int64_t picture_count = 0;
  int64_t caption_count = 0;
  WorkTally* tally = nullptr;
};

// All rows of a generation.
struct GenerationRows {
  std::vector<std::string> files;  // paths, of row files
  // Changes whenever one of the files does.
  std::string digest;
  int64_t image_count = 0;    // good
  int64_t caption_count = 0;  // good and bad, of good images
  Quarantine bad_images, bad_captions;
};

// A row file holds some four thousand pictures' worth: those of one worker's units that are
// neighbours, or of carried pictures that are.  It is named by the hashes of its units and by
// what was found in them, so that it never changes; a worker's seal lists its files.  When a
// unit is made anew with another result, after a refusal that has passed, its rows get
// another name and the seal another content.  Not thread-safe.
class RowWork {
 public:
  explicit RowWork(const RowWorkshop& workshop);

  // Makes the row files of `worker`, unless they are there and whole, and seals them.  All of its
  // units must be there: DataLoss, naming the file, for one that is damaged or of other
  // items, NotFound for one that is missing; Unavailable for one that cannot be read, which the
  // next run makes anew, and errors of BaseReader.
  absl::Status Make(int worker, const UnitSpool& units, const CarriedSpool& carried,
                    const CallContext& call);

  std::string SealPath(int worker) const { return shop_.folder->RowsSeal(seal_, worker); }

  // Whether the seals of all workers are there and say what they did when rows of this digest
  // were collected.
  absl::StatusOr<bool> AreSealed(absl::string_view digest) const;

  // Reads the judgement of every row file, and compares the checksums of those that this
  // process has not made, once.  Bad images of the scan are the caller's to add.  None if the
  // seal of a worker is missing.
  //
  // DataLoss, naming the file and the worker that makes it anew, if one is damaged or gone;
  // that worker's seal is removed (work_seal.h).  Aborted if all of them together do not hold
  // what the corpus does: workers have divided it in different ways, nobody can tell who is
  // right, and all seals are removed.  FailedPrecondition if the embeddings have collapsed.
  absl::StatusOr<absl::optional<GenerationRows>> Collect(const CallContext& call);

 private:
  absl::Status AddUnits(std::vector<WorkUnit> units, std::vector<std::string>* names) const;
  absl::Status AddCarried(int worker, const std::vector<CarriedPicture>& pictures,
                          std::vector<std::string>* names) const;
  // In the order of workers; none if one is missing.
  absl::StatusOr<absl::optional<std::vector<std::string>>> ReadSeals() const;
  // Opens the file of this name, which is whole.
  absl::StatusOr<std::unique_ptr<RowFile>> OpenWhole(const std::string& name);
  absl::Status CheckTotals(const GenerationRows& rows, int64_t dropped_caption_count) const;

  const RowWorkshop shop_;
  std::string seal_;               // hash that the seals have in their names
  std::set<std::string> checked_;  // names of files that this process has made or verified
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ROW_WORK_H_
