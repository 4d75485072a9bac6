#include "services/corpus_encoder/unit_work.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"
#include "common/models/item_encoder.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_seal.h"

namespace sightline {

absl::Status UnitWork::MakeMissing(const UnitSpool& units,
                                   const std::function<bool(absl::string_view)>& wanted,
                                   const CallContext& call) {
  PipelineOptions options;
  options.threads = shop_.options->decode_threads;
  options.max_decode_bytes = shop_.options->max_decode_bytes;
  options.limits = shop_.options->limits;
  if (shop_.has_regions) options.units_ahead = 0;  // read while one is encoded
  // A scan that is wrong about a picture would be believed by every later run.
  options.on_change = [&](const ScannedPicture& picture) {
    const int owner = shop_.options->share.OwnerOf(picture.scan);
    RemoveSeal(shop_.folder->ScanSeal(shop_.listing, owner));
    ::unlink(shop_.folder->ScanPath(picture.scan).c_str());
  };
  UnitSpool::Reader reader(units);
  absl::Duration looking;  // for units that are there
  const auto next_missing = [&](WorkUnit* unit) -> absl::StatusOr<bool> {
    for (;;) {
      RETURN_IF_ERROR(call.Check("looking for finished units"));
      ASSIGN_OR_RETURN(const bool more, reader.Next(unit));
      if (!more) return false;
      if (!wanted(unit->hash)) continue;
      const absl::Time start = call.clock()->Now();
      ASSIGN_OR_RETURN(const bool there, IsThere(*unit));
      looking += call.clock()->Now() - start;
      if (!there) return true;
    }
  };
  PicturePipeline pipeline(
      next_missing, options,
      PictureExtractors(*shop_.models->encoder, shop_.models->reranker_models()), shop_.decoders,
      call);
  for (;;) {
    const absl::Time start = call.clock()->Now();
    looking = absl::ZeroDuration();
    ASSIGN_OR_RETURN(absl::optional<DecodedUnit> decoded, pipeline.Next());
    if (!decoded.has_value()) return absl::OkStatus();
    shop_.summary->wait_time += call.clock()->Now() - start - looking;
    RETURN_IF_ERROR(Encode(*std::move(decoded), call));
    NotePipeline(pipeline);
  }
}

absl::StatusOr<bool> UnitWork::IsThere(const WorkUnit& unit) {
  const std::string path = shop_.folder->UnitPath(unit.hash);
  const absl::StatusOr<std::unique_ptr<UnitFile>> file =
      UnitFile::Open(path, unit.hash, shop_.dimension, /*verify=*/true);
  const absl::Status& found = file.status();
  shop_.tally->Note();
  if (found.ok()) {
    if ((*file)->may_pass()) return false;
    ++finished_count_;
    ++shop_.summary->reused_unit_count;
    shop_.progress->Skip(static_cast<int64_t>(unit.pictures.size()));
    return true;
  }
  if (absl::IsNotFound(found)) return false;
  if (!absl::IsDataLoss(found) && !absl::IsFailedPrecondition(found) && !IsFailedRead(found)) {
    return found;
  }
  // Damaged, on a bad block, or of a newer format: it can be made again.
  Log(Severity::kWarning, "unit file is made anew", {{"path", path}, {"error", found}});
  return false;
}

absl::Status UnitWork::Encode(DecodedUnit decoded, const CallContext& call) {
  EncodeSummary& summary = *shop_.summary;
  const absl::Time begin = call.clock()->Now();
  const WorkUnit unit = std::move(decoded.unit);
  ASSIGN_OR_RETURN(const UnitResult result,
                   EncodeUnit(*shop_.models, unit, std::move(decoded.pictures),
                              shop_.options->caption_language, call));
  ASSIGN_OR_RETURN(const int64_t byte_count, WriteUnitFile(shop_.folder->UnitPath(unit.hash),
                                                           unit.hash, shop_.dimension, result));
  ++finished_count_;
  shop_.tally->Note();
  summary.encode.time += call.clock()->Now() - begin;
  summary.encode.byte_count += byte_count;
  summary.encoded_image_count += static_cast<int64_t>(result.images.size());
  summary.encoded_caption_count += static_cast<int64_t>(result.captions.size());
  summary.encode.item_count = summary.encoded_image_count + summary.encoded_caption_count;
  shop_.progress->Detail(summary.Rates());
  shop_.progress->Advance(static_cast<int64_t>(unit.pictures.size()));
  return absl::OkStatus();
}

void UnitWork::NotePipeline(const PicturePipeline& pipeline) {
  constexpr int64_t kBytesPerPixel = 3;
  const PicturePipeline::Stats stats = pipeline.stats();
  const int threads = shop_.options->decode_threads;
  shop_.summary->read = {scanned_.item_count + stats.picture_count,
                         scanned_.byte_count + stats.byte_count,
                         scanned_.time + stats.read_time / threads};
  shop_.summary->decode = {stats.decoded_count, stats.pixel_count * kBytesPerPixel,
                           stats.decode_time / threads};
  shop_.summary->lost_decoder_count = shop_.decoders->lost_count();
}

}  // namespace sightline
