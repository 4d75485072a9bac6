// libjpeg-turbo.  It reports errors by longjmp, so every call into it happens in a
// function whose frame holds nothing to destroy: JpegReader's methods below.
#include <setjmp.h>
#include <stdio.h>  // jpeglib.h needs FILE and size_t

#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/image/codecs.h"
#include "common/image/orientation.h"

namespace sightline {
namespace {

// A progressive picture may come in any number of scans, each of which passes over the
// whole picture for a few bytes.  Encoders write about ten.
constexpr int kMaxScans = 100;

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMaxMarkerBytes = 0xFFFF;

// What libjpeg only warns of and what leaves the pixels whole.  Every other warning
// means that pixels were made up.
bool IsHarmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR ||
         warning == JWRN_ADOBE_XFORM || warning == JWRN_NOT_SEQUENTIAL;
}

// Composes libjpeg's CMYK on paper.  Files of four channels hold 255 for no ink, as
// Adobe began; browsers and PIL read them so whether or not Adobe's marker is there.
void CmykToRgb(const uint8_t* cmyk, size_t count, uint8_t* rgb) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t black = cmyk[4 * i + 3];
    for (size_t channel = 0; channel < 3; ++channel) {
      rgb[3 * i + channel] = static_cast<uint8_t>((cmyk[4 * i + channel] * black + 127) / 255);
    }
  }
}

class JpegReader {
 public:
  explicit JpegReader(absl::string_view bytes) : bytes_(bytes) {
    std::memset(&decompress_, 0, sizeof(decompress_));
    decompress_.err = jpeg_std_error(&errors_);
    decompress_.client_data = this;
    errors_.error_exit = &JpegReader::Fail;
    errors_.emit_message = &JpegReader::Warn;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = &JpegReader::CountScans;
  }

  ~JpegReader() { jpeg_destroy_decompress(&decompress_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  absl::Status ReadHeader() { return StepHeader() ? absl::OkStatus() : Error("header"); }
  absl::Status Start() { return StepStart() ? absl::OkStatus() : Error("data"); }
  // Decodes into `row`, row_bytes() long.
  absl::Status ReadRow(uint8_t* row) { return StepRow(row) ? absl::OkStatus() : Error("data"); }
  // Reads to the end of the file: only then is it known to be whole.
  absl::Status Finish() { return StepFinish() ? absl::OkStatus() : Error("data"); }

  int width() const { return static_cast<int>(decompress_.image_width); }
  int height() const { return static_cast<int>(decompress_.image_height); }
  bool is_cmyk() const { return decompress_.out_color_space == JCS_CMYK; }
  size_t row_bytes() const { return static_cast<size_t>(width()) * (is_cmyk() ? 4 : 3); }

  // After ReadHeader.
  int orientation() const {
    for (auto* marker = decompress_.marker_list; marker != nullptr; marker = marker->next) {
      const absl::string_view block(reinterpret_cast<const char*>(marker->data),
                                    marker->data_length);
      // XMP shares the marker with EXIF.
      if (block.substr(0, 4) == "Exif") return ExifOrientation(block);
    }
    return 1;
  }

 private:
  bool StepHeader() {
    if (setjmp(on_error_) != 0) return false;
    jpeg_create_decompress(&decompress_);
    decompress_.progress = &progress_;
    jpeg_mem_src(&decompress_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_save_markers(&decompress_, kExifMarker, kMaxMarkerBytes);
    jpeg_read_header(&decompress_, TRUE);
    return true;
  }

  bool StepStart() {
    if (setjmp(on_error_) != 0) return false;
    const bool four_channels =
        decompress_.jpeg_color_space == JCS_CMYK || decompress_.jpeg_color_space == JCS_YCCK;
    decompress_.out_color_space = four_channels ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&decompress_);
    return true;
  }

  bool StepRow(uint8_t* row) {
    if (setjmp(on_error_) != 0) return false;
    JSAMPROW rows[1] = {row};
    jpeg_read_scanlines(&decompress_, rows, 1);
    return true;
  }

  bool StepFinish() {
    if (setjmp(on_error_) != 0) return false;
    jpeg_finish_decompress(&decompress_);
    return true;
  }

  absl::Status Error(absl::string_view part) const {
    return absl::InvalidArgumentError(absl::StrCat("JPEG ", part, ": ", message_));
  }

  static JpegReader* Self(j_common_ptr common) {
    return static_cast<JpegReader*>(common->client_data);
  }

  [[noreturn]] static void Fail(j_common_ptr common) {
    JpegReader* self = Self(common);
    common->err->format_message(common, self->message_);
    longjmp(self->on_error_, 1);
  }

  static void Warn(j_common_ptr common, int level) {
    if (level < 0 && !IsHarmless(common->err->msg_code)) Fail(common);
  }

  static void CountScans(j_common_ptr common) {
    JpegReader* self = Self(common);
    if (self->decompress_.input_scan_number <= kMaxScans) return;
    snprintf(self->message_, sizeof(self->message_), "more than %d scans", kMaxScans);
    longjmp(self->on_error_, 1);
  }

  const absl::string_view bytes_;
  jpeg_decompress_struct decompress_;
  jpeg_error_mgr errors_;
  jpeg_progress_mgr progress_ = {};
  jmp_buf on_error_;
  char message_[JMSG_LENGTH_MAX] = {};
};

ImageHeader HeaderOf(const JpegReader& reader) {
  ImageHeader header;
  header.format = ImageFormat::kJpeg;
  header.width = reader.width();
  header.height = reader.height();
  if (TurnsSideways(reader.orientation())) std::swap(header.width, header.height);
  return header;
}

}  // namespace

absl::StatusOr<ImageHeader> ReadJpegHeader(absl::string_view bytes) {
  JpegReader reader(bytes);
  RETURN_IF_ERROR(reader.ReadHeader());
  return HeaderOf(reader);
}

absl::StatusOr<Pixels> DecodeJpeg(absl::string_view bytes) {
  JpegReader reader(bytes);
  RETURN_IF_ERROR(reader.ReadHeader());
  RETURN_IF_ERROR(reader.Start());

  Pixels pixels;
  pixels.width = reader.width();
  pixels.height = reader.height();
  const size_t rgb_row_bytes = static_cast<size_t>(pixels.width) * 3;
  // Reserved, not filled: a header without a picture behind it then costs addresses, not
  // memory.
  pixels.rgb.reserve(rgb_row_bytes * pixels.height);
  std::vector<uint8_t> row(reader.row_bytes());
  for (int y = 0; y < pixels.height; ++y) {
    RETURN_IF_ERROR(reader.ReadRow(row.data()));
    if (reader.is_cmyk()) CmykToRgb(row.data(), pixels.width, row.data());
    pixels.rgb.insert(pixels.rgb.end(), row.begin(), row.begin() + rgb_row_bytes);
  }
  const int orientation = reader.orientation();
  RETURN_IF_ERROR(reader.Finish());
  return TurnUpright(std::move(pixels), orientation);
}

}  // namespace sightline
