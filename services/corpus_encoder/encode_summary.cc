#include "services/corpus_encoder/encode_summary.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sightline {
namespace {

constexpr double kMega = 1e6;

// The stage that fills the time in which the model waits for pictures.
const char* Supplier(const EncodeSummary& summary) {
  return summary.read.time - summary.scan_time > summary.decode.time ? "read" : "decode";
}

// What it did, and whom it waited for.
std::string DeviceLine(const DeviceTime& device, const char* supplier) {
  return absl::StrFormat(
      "  device    busy %s of %.1f s, %d passes; waited %.1f s for the host, %.1f s for files to "
      "be written, %.1f s for pictures (%s)\n",
      device.BusyShare(), absl::ToDoubleSeconds(device.total()), device.pass_count,
      absl::ToDoubleSeconds(device.for_host), absl::ToDoubleSeconds(device.for_files),
      absl::ToDoubleSeconds(device.for_pictures), supplier);
}

}  // namespace

std::string StageWork::Rate() const {
  const double seconds = absl::ToDoubleSeconds(time);
  if (seconds <= 0 || item_count == 0) return "-";
  return absl::StrFormat("%.1f/s %.1f MB/s", item_count / seconds, byte_count / kMega / seconds);
}

std::string EncodeSummary::Slowest() const {
  std::pair<absl::Duration, const char*> slowest = {scan_time, "read"};
  for (const auto& stage : {std::pair(wait_time, Supplier(*this)),
                            {encode.time, "encode"},
                            {write.time, "write"},
                            {await_time, "wait for other workers"}}) {
    if (stage.first > slowest.first) slowest = stage;
  }
  return slowest.second;
}

std::string EncodeSummary::Rates() const {
  return absl::StrCat("read ", read.Rate(), ", decode ", decode.Rate(), ", encode ", encode.Rate(),
                      device.has_value() ? ", device busy " + device->BusyShare() : "",
                      "; waits for ", wait_time > encode.time ? Supplier(*this) : "encode");
}

std::string EncodeSummary::Report() const {
  std::string report = absl::StrCat("generation ", generation, published ? " (published)" : "");
  if (workers > 1) absl::StrAppend(&report, ", worker ", worker, " of ", workers);
  absl::StrAppend(&report, "\n");
  if (worker == 0) {
    absl::StrAppendFormat(
        &report, "  items     %d images, %d captions; in quarantine %d images, %d captions\n",
        image_count, caption_count, quarantined_image_count, quarantined_caption_count);
  }
  absl::StrAppendFormat(&report, "  warnings  %d, of which %d are duplicate pictures\n",
                        warning_count, duplicate_count);
  if (rolled_back) {
    absl::StrAppend(&report, "  not published: it was rolled back; `sightlinectl publish` ",
                    "publishes it on purpose\n");
  }
  if (already_there) return report + "  written by an earlier run\n";
  absl::StrAppendFormat(&report, "  carried   %d images, %d captions%s\n", carried_image_count,
                        carried_caption_count, base.empty() ? "" : " from generation " + base);
  absl::StrAppendFormat(&report,
                        "  units     %d; %d of this worker's were finished by an earlier run\n",
                        unit_count, reused_unit_count);
  absl::StrAppendFormat(&report, "  read      %s\n  decode    %s; %d decoders lost\n", read.Rate(),
                        decode.Rate(), lost_decoder_count);
  absl::StrAppendFormat(&report, "  encode    %s; waited %.1f s for pictures\n", encode.Rate(),
                        absl::ToDoubleSeconds(wait_time));
  if (device.has_value()) report += DeviceLine(*device, Supplier(*this));
  absl::StrAppendFormat(&report, "  write     %s, %.1f MB\n", write.Rate(),
                        write.byte_count / kMega);
  absl::StrAppend(&report, "  slowest   ", Slowest(), "\n");
  if (worker != 0) absl::StrAppend(&report, "  worker 0 writes and publishes the generation\n");
  return report;
}

}  // namespace sightline
