#include "services/corpus_encoder/corpus_division.h"

#include <utility>

#include "absl/types/optional.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Parts pictures, which come in the order of their ids.
class Divider {
 public:
  Divider(const BaseGeneration& base, const DivisionRules& rules, CorpusDivision& division)
      : base_(base), rules_(rules), division_(division), cutter_(rules.unit_size, *rules.context) {}

  absl::Status Add(ScannedPicture picture) {
    division_.caption_count +=
        static_cast<int64_t>(CaptionItemsOf(picture.item, rules_.context->caption_language).size());
    ASSIGN_OR_RETURN(const absl::optional<CarriedPicture> carried,
                     FindCarried(picture, base_, *rules_.context));
    if (!carried.has_value()) return AddUnit(cutter_.Add(std::move(picture)));
    division_.carried_caption_count += static_cast<int64_t>(carried->captions.size());
    return division_.carried.Add(*carried);
  }

  absl::Status Finish() {
    RETURN_IF_ERROR(AddUnit(cutter_.Finish()));
    RETURN_IF_ERROR(division_.units.Finish());
    RETURN_IF_ERROR(division_.carried.Finish());
    return division_.unit_hashes->Finish();
  }

 private:
  absl::Status AddUnit(const absl::optional<WorkUnit>& unit) {
    if (!unit.has_value()) return absl::OkStatus();
    if (rules_.share.Owns(unit->hash)) {
      division_.own_picture_count += static_cast<int64_t>(unit->pictures.size());
    }
    RETURN_IF_ERROR(division_.unit_hashes->Add(unit->hash));
    return division_.units.Add(*unit);
  }

  BaseReaders base_;
  const DivisionRules& rules_;
  CorpusDivision& division_;
  UnitCutter cutter_;
};

}  // namespace

absl::StatusOr<CorpusDivision> DivideCorpus(const PictureSpool& pictures, const ItemCodec& codec,
                                            const BaseGeneration& base, const DivisionRules& rules,
                                            const WorkFolder& folder, WorkTally& tally,
                                            const CallContext& call) {
  ASSIGN_OR_RETURN(UnitSpool units, UnitSpool::Create(folder.path(), codec));
  ASSIGN_OR_RETURN(CarriedSpool carried, CarriedSpool::Create(folder.path(), codec));
  ASSIGN_OR_RETURN(std::unique_ptr<Spool> unit_hashes, Spool::Create(folder.path()));
  CorpusDivision division{std::move(units), std::move(carried), std::move(unit_hashes)};
  Divider divider(base, rules, division);
  for (PictureSpool::Reader reader(pictures);;) {
    RETURN_IF_ERROR(call.Check("dividing the corpus"));
    ScannedPicture picture;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
    if (!more) break;
    tally.NoteItem();
    RETURN_IF_ERROR(divider.Add(std::move(picture)));
  }
  RETURN_IF_ERROR(divider.Finish());
  return division;
}

absl::StatusOr<bool> CarriesAny(const PictureSpool& pictures, const BaseGeneration& base,
                                const UnitContext& context, WorkTally& tally,
                                const CallContext& call) {
  BaseReaders readers(base);
  PictureSpool::Reader reader(pictures);
  for (ScannedPicture picture;;) {
    RETURN_IF_ERROR(call.Check("comparing with the base"));
    ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
    if (!more) return false;
    tally.NoteItem();
    ASSIGN_OR_RETURN(const absl::optional<CarriedPicture> carried,
                     FindCarried(picture, readers, context));
    if (carried.has_value()) return true;
  }
}

}  // namespace sightline
