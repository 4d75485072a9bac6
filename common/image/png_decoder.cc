// libspng.
#include <spng.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/image/codecs.h"

namespace sightline {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kChunkFrameBytes = 12;  // length, type, checksum

// Chunks beside the picture (colour profile, text) may unpack to this much, each and
// together.
constexpr size_t kMaxChunkBytes = size_t{16} << 20;
constexpr size_t kMaxChunkCacheBytes = size_t{32} << 20;

// The columns that pass `i` of Adam7 brings (PNG specification, section 8.2): from the
// first one on every step-th.  An image that is not interlaced is one pass.
constexpr int kPassFirstColumn[] = {0, 4, 0, 2, 0, 1, 0};
constexpr int kPassColumnStep[] = {8, 8, 4, 4, 2, 2, 1};

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

absl::Status PngError(absl::string_view part, int error) {
  return absl::InvalidArgumentError(absl::StrCat("PNG ", part, ": ", spng_strerror(error)));
}

// Has read the header, stored at `header`; both sides are from 1 to 2^31 - 1.
absl::StatusOr<Context> Open(absl::string_view bytes, spng_ihdr* header) {
  Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::InternalError("libspng gave no context");
  int error = spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunkCacheBytes);
  if (error == 0) error = spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR);
  if (error == 0) error = spng_set_png_buffer(context.get(), bytes.data(), bytes.size());
  if (error == 0) error = spng_get_ihdr(context.get(), header);
  if (error != 0) return PngError("header", error);
  return context;
}

uint32_t BigEndian(absl::string_view four_bytes) {
  uint32_t value = 0;
  for (const char byte : four_bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// Whether all chunks are there up to IEND's last byte: libspng paints what lacks the last
// few.
absl::Status CheckComplete(absl::string_view bytes) {
  absl::string_view rest = bytes.substr(std::min(kSignatureBytes, bytes.size()));
  while (rest.size() >= kChunkFrameBytes) {
    const size_t content = BigEndian(rest.substr(0, 4));
    if (content > rest.size() - kChunkFrameBytes) break;
    if (rest.substr(4, 4) == "IEND") return absl::OkStatus();
    rest.remove_prefix(kChunkFrameBytes + content);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "PNG data is truncated: no complete end chunk within its ", bytes.size(), " bytes"));
}

// What becomes of `count` decoded RGBA pixels, and how many bytes of each.
struct PixelWriter {
  size_t bytes;
  void (*write)(const uint8_t* rgba, size_t count, uint8_t* to);
};
constexpr PixelWriter kRgbOnWhite = {3, ComposeOnWhite};
constexpr PixelWriter kRgba = {
    4, [](const uint8_t* rgba, size_t count, uint8_t* to) { std::copy_n(rgba, 4 * count, to); }};

// Decodes RGBA row by row, so that the whole picture is held once only, as it is wanted.
absl::Status DecodeRows(spng_ctx* context, const spng_ihdr& ihdr, const PixelWriter& writer,
                        std::vector<uint8_t>* pixels) {
  const bool interlaced = ihdr.interlace_method != SPNG_INTERLACE_NONE;
  std::vector<uint8_t> rgba(size_t{ihdr.width} * 4);
  const size_t row_bytes = ihdr.width * writer.bytes;
  // Rows in order are appended: a header without a picture behind it then costs addresses, not
  // memory.
  interlaced ? pixels->resize(row_bytes * ihdr.height) : pixels->reserve(row_bytes * ihdr.height);
  for (;;) {
    // The end is announced with the last row or, where later passes are empty, after it.
    spng_row_info row = {};
    int error = spng_get_row_info(context, &row);
    if (error == SPNG_EOI) break;
    if (error == 0) error = spng_decode_row(context, rgba.data(), rgba.size());
    if (error != 0 && error != SPNG_EOI) return PngError("data", error);

    const size_t offset = row.row_num * row_bytes;
    if (!interlaced) {
      pixels->resize(offset + row_bytes);
      writer.write(rgba.data(), ihdr.width, &(*pixels)[offset]);
      continue;
    }
    for (size_t x = kPassFirstColumn[row.pass]; x < ihdr.width; x += kPassColumnStep[row.pass]) {
      writer.write(&rgba[4 * x], 1, &(*pixels)[offset + writer.bytes * x]);
    }
  }
  return absl::OkStatus();
}

// The header is stored at `ihdr`.
absl::StatusOr<std::vector<uint8_t>> Decode(absl::string_view bytes, const PixelWriter& writer,
                                            spng_ihdr* ihdr) {
  RETURN_IF_ERROR(CheckComplete(bytes));
  ASSIGN_OR_RETURN(const Context context, Open(bytes, ihdr));
  int error = spng_decode_image(context.get(), nullptr, 0, SPNG_FMT_RGBA8,
                                SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE);
  if (error != 0) return PngError("data", error);

  std::vector<uint8_t> pixels;
  RETURN_IF_ERROR(DecodeRows(context.get(), *ihdr, writer, &pixels));

  // To the end of the file, for the checksums of what is left.
  error = spng_decode_chunks(context.get());
  if (error != 0) return PngError("end", error);
  return pixels;
}

}  // namespace

absl::StatusOr<ImageHeader> ReadPngHeader(absl::string_view bytes) {
  spng_ihdr ihdr = {};
  RETURN_IF_ERROR(Open(bytes, &ihdr).status());
  return ImageHeader{ImageFormat::kPng, static_cast<int>(ihdr.width),
                     static_cast<int>(ihdr.height)};
}

absl::StatusOr<Pixels> DecodePng(absl::string_view bytes) {
  spng_ihdr ihdr = {};
  ASSIGN_OR_RETURN(std::vector<uint8_t> rgb, Decode(bytes, kRgbOnWhite, &ihdr));
  return Pixels{static_cast<int>(ihdr.width), static_cast<int>(ihdr.height), std::move(rgb)};
}

absl::StatusOr<RgbaPixels> DecodePngWithAlpha(absl::string_view bytes) {
  spng_ihdr ihdr = {};
  ASSIGN_OR_RETURN(std::vector<uint8_t> rgba, Decode(bytes, kRgba, &ihdr));
  return RgbaPixels{static_cast<int>(ihdr.width), static_cast<int>(ihdr.height), std::move(rgba)};
}

}  // namespace sightline
