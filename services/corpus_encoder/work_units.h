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
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/dtype.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/rerankers.h"
#include "common/image/decode.h"
#include "services/corpus_encoder/id_cuts.h"
#include "services/corpus_encoder/item_spool.h"
#include "services/corpus_encoder/scanned_picture.h"

namespace sightline {

// What decides a result besides the items.
struct UnitContext {
  std::string encoder;                   // its bundle's id
  std::vector<NamedReranker> rerankers;  // the default first
  Dtype feature_dtype = kDefaultFeatureDtype;
  bool deterministic = false;
  std::string precision{kDefaultEncodingPrecision};
  DecodeLimits limits;
  absl::Duration max_decode_time = absl::Seconds(60);
  std::string caption_language = "en";
};

struct WorkUnit {
  std::string hash;  // 64 hex digits
  std::vector<ScannedPicture> pictures;
};

// Cuts pictures, which come in the order of their ids, into units of `unit_size` on average
// and twice that at most.  Holds one unit.
class UnitCutter {
 public:
  // `context` must outlive it.
  UnitCutter(int unit_size, const UnitContext& context)
      : context_(context), cuts_("unit", unit_size) {}

  // The unit that ends with this picture, if one does.
  absl::optional<WorkUnit> Add(ScannedPicture picture);
  // What is left after the last; nothing if there is none.
  absl::optional<WorkUnit> Finish();

 private:
  const UnitContext& context_;
  IdCuts cuts_;
  std::vector<ScannedPicture> pictures_;
};

inline auto FieldsOf(WorkUnit& unit) {
  return std::tie(unit.hash, unit.pictures);
}
using UnitSpool = ItemSpool<WorkUnit>;

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
