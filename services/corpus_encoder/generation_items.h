// Which items a generation has, and where the result of each lies until it is written.
//
// This table is what a job holds of its items at the end: ids and places.  Embeddings and
// features stay in the files that they are in.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_ITEMS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_ITEMS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/corpus_checks.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// One item.  Pointers are into the CorpusDivision, which outlives it.
struct GenerationItem {
  std::string item_id;
  const ScannedPicture* picture = nullptr;
  absl::string_view caption;  // a caption's text; an image's first one, or empty
  int32_t unit = -1;          // that its result is in; -1: it is carried over
  int32_t row = 0;            // in that unit's images or captions
  BaseIndex::Place base;      // of an item that is carried over
};

struct GenerationItems {
  std::vector<GenerationItem> images, captions;  // by item id
  std::vector<QuarantineEntry> bad_images, bad_captions;
  int64_t caption_count = 0;  // good and bad
};

// What is carried over of one picture and its captions.
struct CarriedPicture {
  ScannedPicture picture;
  BaseIndex::Place image;
  std::vector<BaseIndex::Place> captions;  // of CaptionItemsOf, in order
};

// The corpus, divided.  A picture is carried over together with its captions when none of
// them has changed; otherwise it is encoded with them.
struct CorpusDivision {
  std::vector<CarriedPicture> carried;
  std::vector<ScannedPicture> fresh;
};
CorpusDivision DivideCorpus(std::vector<ScannedPicture> pictures, const BaseGeneration& base,
                            const UnitContext& context);

// Whether DivideCorpus would carry anything over.
bool CarriesAny(absl::Span<const ScannedPicture> pictures, const BaseGeneration& base,
                const UnitContext& context);

struct CollectOptions {
  std::string work_directory;
  int dimension = 0;
  std::string caption_language;
  std::set<std::string> checked;  // hashes of units whose checksums are known to be right
};

// Reads the descriptions of all units, which must be there, and looks at each embedding
// once (corpus_checks.h).  Units that are not `checked` have their checksums compared.
// DataLoss, naming the file, if one is damaged or does not fit; FailedPrecondition if the
// embeddings have collapsed.
absl::StatusOr<GenerationItems> CollectItems(absl::Span<const WorkUnit> units,
                                             absl::Span<const CarriedPicture> carried,
                                             const BaseGeneration& base,
                                             const CollectOptions& options,
                                             const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_GENERATION_ITEMS_H_
