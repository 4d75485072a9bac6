#include "services/corpus_encoder/picture_pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/decode_child.h"
#include "services/corpus_encoder/item_content.h"

namespace sightline {

PicturePipeline::PicturePipeline(UnitSource source, const PipelineOptions& options,
                                 std::vector<const RegionExtractor*> extractors,
                                 DecoderPool* decoders, const CallContext& call)
    : source_(std::move(source)),
      options_(options),
      extractors_(std::move(extractors)),
      decoders_(decoders),
      call_(call) {
  // The pipeline is always destroyed before what it holds on to: a callback that outlived
  // it could not be taken back, so cancellation is looked at, not called.
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

PicturePipeline::~PicturePipeline() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

absl::StatusOr<absl::optional<DecodedUnit>> PicturePipeline::Next() {
  RETURN_IF_ERROR(TakeUnits());
  DecodedUnit next;
  {
    MutexLock lock(mutex_);
    if (units_.empty()) return absl::nullopt;
    // A cancelled call ends through the workers, which check it before each picture.
    while (units_.front().remaining > 0 && error_.ok()) changed_.Wait(mutex_);
    if (!error_.ok()) return error_;
    next = std::move(units_.front().decoded);
    units_.pop_front();
  }
  RETURN_IF_ERROR(TakeUnits());
  return next;
}

// Has as many units in work as may be.
absl::Status PicturePipeline::TakeUnits() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (exhausted_ || units_.size() > static_cast<size_t>(options_.units_ahead)) {
        return absl::OkStatus();
      }
    }
    UnitState state;
    ASSIGN_OR_RETURN(const bool more, source_(&state.decoded.unit));
    MutexLock lock(mutex_);
    if (!more) {
      exhausted_ = true;
    } else {
      state.remaining = state.decoded.unit.pictures.size();
      state.decoded.pictures.resize(state.remaining);
      units_.push_back(std::move(state));
      changed_.NotifyAll();
    }
  }
}

PicturePipeline::Stats PicturePipeline::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void PicturePipeline::Work() {
  UnitState* unit = nullptr;
  size_t picture = 0;
  while (TakeWork(&unit, &picture)) {
    // A unit stays where it is until all of its pictures are decoded.
    const absl::Status status =
        DecodeOne(unit->decoded.unit.pictures[picture], &unit->decoded.pictures[picture]);
    if (!status.ok()) {
      Fail(status);
      return;
    }
    MutexLock lock(mutex_);
    ++stats_.picture_count;
    if (--unit->remaining == 0) changed_.NotifyAll();
  }
}

bool PicturePipeline::TakeWork(UnitState** unit, size_t* picture) {
  MutexLock lock(mutex_);
  while (!stopping_ && error_.ok()) {
    const auto next = std::find_if(units_.begin(), units_.end(), [](const UnitState& state) {
      return state.taken < state.decoded.pictures.size();
    });
    if (next != units_.end()) {
      *unit = &*next;
      *picture = next->taken++;
      return true;
    }
    changed_.Wait(mutex_);
  }
  return false;
}

absl::Status PicturePipeline::DecodeOne(const ScannedPicture& picture, DecodedPicture* decoded) {
  RETURN_IF_ERROR(call_.Check("decoding pictures"));
  const absl::Time start = call_.clock()->Now();
  absl::StatusOr<ItemContent> content = ReadContent(picture, options_.limits.max_bytes);
  if (!content.ok() && !BlamesPicture(content.status())) return content.status();
  const bool changed = !content.ok() || content->sha256 != picture.sha256;
  if (changed) {
    if (options_.on_change) options_.on_change(picture);
    return absl::AbortedError(
        absl::StrCat(EscapeUnlessPrintable(picture.item.path),
                     " changed while the job was running; run it again",
                     content.ok() ? "" : absl::StrCat(" (", content.status().message(), ")")));
  }
  const absl::Time read = call_.clock()->Now();
  if (HasRegions(picture)) {
    decoded->image = std::move(content->image);
  } else {
    RETURN_IF_ERROR(Decode(content->picture, decoded));
  }
  const absl::Time done = call_.clock()->Now();
  MutexLock lock(mutex_);
  stats_.byte_count += content->byte_count;
  stats_.read_time += read - start;
  if (HasRegions(picture)) return absl::OkStatus();
  ++stats_.decoded_count;
  stats_.decode_time += done - read;
  return absl::OkStatus();
}

absl::Status PicturePipeline::Decode(const std::string& bytes, DecodedPicture* decoded) {
  int64_t cost = 0;
  DecodeOrder order;
  order.limits = options_.limits;
  for (const RegionExtractor* extractor : extractors_) {
    if (extractor != nullptr) order.sides.push_back(extractor->reduced_side());
  }
  order.admit = [&](int64_t pixel_count) -> absl::Status {
    RETURN_IF_ERROR(Admit(pixel_count));
    cost = pixel_count * kDecodeBytesPerPixel;
    return absl::OkStatus();
  };
  absl::StatusOr<DecodedPicture> picture = decoders_->Decode(bytes, order, call_);
  const absl::Status status = picture.status();
  if (status.ok()) {
    *decoded = *std::move(picture);
    if (decoded->problem.empty()) GiveOut(decoded);
  }
  {
    MutexLock lock(mutex_);
    decode_bytes_ -= cost;
  }
  changed_.NotifyAll();
  return status;
}

// From one for each side to one for each extractor.
void PicturePipeline::GiveOut(DecodedPicture* decoded) const {
  std::vector<std::shared_ptr<const Pixels>> given;
  size_t next = 0;
  for (const RegionExtractor* extractor : extractors_) {
    given.push_back(extractor == nullptr ? nullptr : std::move(decoded->pixels[next++]));
    // What was asked for whole; the others are small already.
    if (extractor != nullptr && extractor->reduced_side() == 0) {
      given.back() = std::make_shared<const Pixels>(extractor->Reduce(*given.back()));
    }
  }
  decoded->pixels = std::move(given);
}

absl::Status PicturePipeline::Admit(int64_t pixel_count) {
  const int64_t cost = pixel_count * kDecodeBytesPerPixel;
  MutexLock lock(mutex_);
  // With nothing else in decoding there is nothing to wait for.
  while (!stopping_ && decode_bytes_ > 0 && decode_bytes_ + cost > options_.max_decode_bytes) {
    changed_.Wait(mutex_);
  }
  if (stopping_) return absl::CancelledError("decoding was stopped");
  decode_bytes_ += cost;
  stats_.pixel_count += pixel_count;
  return absl::OkStatus();
}

void PicturePipeline::Fail(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = status;
  }
  changed_.NotifyAll();
}

}  // namespace sightline
