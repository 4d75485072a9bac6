// Which pictures of a corpus are new, cut into units, and which a base has.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_DIVISION_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_DIVISION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/spool.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/carried_pictures.h"
#include "services/corpus_encoder/corpus_listing.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_share.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// What divides a corpus: the same for all of its workers, but for which one this is.
struct DivisionRules {
  const UnitContext* context = nullptr;
  int unit_size = 64;
  WorkShare share;
};

// The pictures of a scan, on disk.
struct CorpusDivision {
  UnitSpool units;                     // what is new
  CarriedSpool carried;                // what the base has
  std::unique_ptr<Spool> unit_hashes;  // of `units`
  int64_t own_picture_count = 0;       // of this worker's units
  int64_t carried_caption_count = 0;
  int64_t caption_count = 0;  // of all pictures
};

// Divides `pictures`, all of which are in one of the two.  Temporary files lie in `folder`;
// items are noted in `tally`.  An item that cannot be looked up in the base is an error
// (BaseReader::Find), so that no two workers divide in different ways.  `codec` is of `pictures`.
absl::StatusOr<CorpusDivision> DivideCorpus(const PictureSpool& pictures, const ItemCodec& codec,
                                            const BaseGeneration& base, const DivisionRules& rules,
                                            const WorkFolder& folder, WorkTally& tally,
                                            const CallContext& call);

// Whether `base` has any of `pictures`.  Errors likewise.
absl::StatusOr<bool> CarriesAny(const PictureSpool& pictures, const BaseGeneration& base,
                                const UnitContext& context, WorkTally& tally,
                                const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_DIVISION_H_
