#include "services/corpus_encoder/unit_work.h"

#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"
#include "common/models/item_encoder.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_seal.h"

namespace sightline {
namespace {

// One on the device, one whose next pass is laid out, one that is written.
constexpr int kEncodersOfDevice = 3;

}  // namespace

// Where several threads take units from.
struct UnitWork::Supply {
  // Nobody gets another; `why` is the first failure's.
  void End(const absl::Status& why) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    ended = true;
    if (first_failure.ok()) first_failure = why;
  }
  absl::Status failure() EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return first_failure;
  }

  PicturePipeline* pipeline = nullptr;
  Mutex mutex;  // held while one waits for the pipeline
  bool ended GUARDED_BY(mutex) = false;
  absl::Status first_failure GUARDED_BY(mutex);
  absl::Duration looking;  // for units that are there; of who holds the mutex
};

absl::Status UnitWork::MakeMissing(const UnitSpool& units,
                                   const std::function<bool(absl::string_view)>& wanted,
                                   const CallContext& call) {
  PipelineOptions options;
  options.threads = shop_.options->decode_threads;
  options.max_decode_bytes = shop_.options->max_decode_bytes;
  options.limits = shop_.options->limits;
  // Regions are large: those of a unit are read while others are encoded.
  options.units_ahead = shop_.has_regions ? encoder_count() - 1 : 1 + encoder_count();
  // A scan that is wrong about a picture would be believed by every later run.
  options.on_change = [&](const ScannedPicture& picture) {
    const int owner = shop_.options->share.OwnerOf(picture.scan);
    RemoveSeal(shop_.folder->ScanSeal(shop_.listing, owner));
    ::unlink(shop_.folder->ScanPath(picture.scan).c_str());
  };
  UnitSpool::Reader reader(units);
  Supply supply;
  const auto next_missing = [&](WorkUnit* unit) -> absl::StatusOr<bool> {
    for (;;) {
      RETURN_IF_ERROR(call.Check("looking for finished units"));
      ASSIGN_OR_RETURN(const bool more, reader.Next(unit));
      if (!more) return false;
      if (!wanted(unit->hash)) continue;
      const DeviceTimeline::Scope step(shop_.options->device.get(),
                                       DeviceTimeline::Step::kChecking);
      const absl::Time start = call.clock()->Now();
      ASSIGN_OR_RETURN(const bool there, IsThere(*unit));
      supply.looking += call.clock()->Now() - start;
      if (!there) return true;
    }
  };
  PicturePipeline pipeline(
      next_missing, options,
      PictureExtractors(*shop_.models->encoder, shop_.models->reranker_models()), shop_.decoders,
      call);
  supply.pipeline = &pipeline;
  std::vector<std::thread> others;
  for (int i = 1; i < encoder_count(); ++i) {
    others.emplace_back([&] { EncodeUnits(supply, call); });
  }
  EncodeUnits(supply, call);
  for (std::thread& other : others) other.join();
  return supply.failure();
}

int UnitWork::encoder_count() const {
  return shop_.options->device != nullptr ? kEncodersOfDevice : 1;
}

void UnitWork::EncodeUnits(Supply& supply, const CallContext& call) {
  for (;;) {
    absl::StatusOr<absl::optional<DecodedUnit>> decoded = Take(supply, call);
    if (decoded.ok() && !decoded->has_value()) return;
    const absl::Status done = decoded.ok() ? Encode(**std::move(decoded), call) : decoded.status();
    NotePipeline(*supply.pipeline);
    if (!done.ok()) return supply.End(done);
  }
}

// None after the last, nor once somebody has failed.
absl::StatusOr<absl::optional<DecodedUnit>> UnitWork::Take(Supply& supply,
                                                           const CallContext& call) {
  const DeviceTimeline::Scope step(shop_.options->device.get(), DeviceTimeline::Step::kAwaiting);
  MutexLock lock(supply.mutex);
  if (supply.ended) return absl::optional<DecodedUnit>();
  const absl::Time start = call.clock()->Now();
  supply.looking = absl::ZeroDuration();
  absl::StatusOr<absl::optional<DecodedUnit>> decoded = supply.pipeline->Next();
  // Nobody may ask again.
  supply.ended = !decoded.ok() || !decoded->has_value();
  if (supply.ended) return decoded;
  MutexLock telling(told_mutex_);
  shop_.summary->wait_time += call.clock()->Now() - start - supply.looking;
  return decoded;
}

absl::StatusOr<bool> UnitWork::IsThere(const WorkUnit& unit) {
  const std::string path = shop_.folder->UnitPath(unit.hash);
  const absl::StatusOr<std::unique_ptr<UnitFile>> file =
      UnitFile::Open(path, unit.hash, shop_.dimension, /*verify=*/true);
  const absl::Status& found = file.status();
  MutexLock lock(told_mutex_);
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
  DeviceTimeline* const device = shop_.options->device.get();
  const absl::Time begin = call.clock()->Now();
  const WorkUnit unit = std::move(decoded.unit);
  absl::StatusOr<UnitResult> encoded;
  {
    const DeviceTimeline::Scope step(device, DeviceTimeline::Step::kEncoding);
    encoded = EncodeUnit(*shop_.models, unit, std::move(decoded.pictures),
                         shop_.options->caption_language, call);
  }
  RETURN_IF_ERROR(encoded.status());
  const UnitResult& result = *encoded;
  const DeviceTimeline::Scope step(device, DeviceTimeline::Step::kWriting);
  ASSIGN_OR_RETURN(const int64_t byte_count, WriteUnitFile(shop_.folder->UnitPath(unit.hash),
                                                           unit.hash, shop_.dimension, result));
  EncodeSummary& summary = *shop_.summary;
  MutexLock lock(told_mutex_);
  ++finished_count_;
  shop_.tally->Note();
  summary.encode.time += (call.clock()->Now() - begin) / encoder_count();
  summary.encode.byte_count += byte_count;
  summary.encoded_image_count += static_cast<int64_t>(result.images.size());
  summary.encoded_caption_count += static_cast<int64_t>(result.captions.size());
  summary.encode.item_count = summary.encoded_image_count + summary.encoded_caption_count;
  if (device != nullptr) summary.device = device->time();
  shop_.progress->Detail(summary.Rates());
  shop_.progress->Advance(static_cast<int64_t>(unit.pictures.size()));
  return absl::OkStatus();
}

void UnitWork::NotePipeline(const PicturePipeline& pipeline) {
  constexpr int64_t kBytesPerPixel = 3;
  const PicturePipeline::Stats stats = pipeline.stats();
  const int threads = shop_.options->decode_threads;
  MutexLock lock(told_mutex_);
  shop_.summary->read = {scanned_.item_count + stats.picture_count,
                         scanned_.byte_count + stats.byte_count,
                         scanned_.time + stats.read_time / threads};
  shop_.summary->decode = {stats.decoded_count, stats.pixel_count * kBytesPerPixel,
                           stats.decode_time / threads};
  shop_.summary->lost_decoder_count = shop_.decoders->lost_count();
}

}  // namespace sightline
