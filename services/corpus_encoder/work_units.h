// The corpus cut into units of work, each named by all that its result depends on.
//
// A unit is a run of neighbours in the order of item ids.  Where one ends is decided by
// the ids themselves (a hash of an id that comes out right, as in content-defined
// chunking), so an item that comes or goes changes the unit it belongs to and no other.
// No batch ever crosses a unit: so a unit's result is the same whichever units were
// computed before it, and a job that was killed redoes only what it had not finished.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_UNITS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_UNITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/bundle/rerankers.h"
#include "common/image/decode.h"
#include "services/corpus_encoder/corpus_scan.h"

namespace sightline {

// What decides a result besides the items.
struct UnitContext {
  std::string encoder;                   // its bundle's id
  std::vector<NamedReranker> rerankers;  // the default first
  bool deterministic = false;
  DecodeLimits limits;
  absl::Duration max_decode_time = absl::Seconds(60);
  std::string caption_language = "en";
};

struct WorkUnit {
  std::string hash;  // 64 hex digits
  absl::Span<const ScannedPicture> pictures;
};

// Cuts `pictures`, which are in the order of their ids and outlive the units, into units
// of `unit_size` on average and twice that at most.
std::vector<WorkUnit> CutIntoUnits(absl::Span<const ScannedPicture> pictures, int unit_size,
                                   const UnitContext& context);

// One caption of a picture as an item of the captions index.
struct CaptionItem {
  std::string item_id;
  absl::string_view text;  // into the picture's captions
};

// The captions of `item` in `language`, with their ids.
std::vector<CaptionItem> CaptionItemsOf(const CorpusItem& item, absl::string_view language);

// Digests of all that an item's embedding and features depend on, and of nothing that its
// record holds beside them: what is equal in a base generation is carried over.  Raw,
// kContentHashBytes of item_record.h.
std::string ImageContentHash(const ScannedPicture& picture, const UnitContext& context);
std::string CaptionContentHash(const CaptionItem& caption, const UnitContext& context);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_UNITS_H_
