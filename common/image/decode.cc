#include "common/image/decode.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/image/codecs.h"

namespace sightline {
namespace {

// SVG may begin with a declaration and comments.
constexpr size_t kSvgSearchBytes = 1024;

struct Signature {
  size_t offset;
  absl::string_view bytes;
  absl::string_view name;
};

// People send these; the message should say what it was.
constexpr Signature kUnsupported[] = {
    {0, "GIF87a", "GIF"},
    {0, "GIF89a", "GIF"},
    {0, "BM", "BMP"},
    {0, absl::string_view("II*\0", 4), "TIFF"},
    {0, absl::string_view("MM\0*", 4), "TIFF"},
    {4, "ftypheic", "HEIF"},
    {4, "ftypheix", "HEIF"},
    {4, "ftyphevc", "HEIF"},
    {4, "ftypmif1", "HEIF"},
    {4, "ftypmsf1", "HEIF"},
    {4, "ftypavif", "AVIF"},
    {4, "ftypavis", "AVIF"},
    {4, "jP  \r\n\x87\n", "JPEG 2000"},
    {0, "\xFF\x0A", "JPEG XL"},
    {4, "JXL \r\n\x87\n", "JPEG XL"},
    {0, "%PDF-", "PDF"},
};

bool HasAt(absl::string_view bytes, size_t offset, absl::string_view signature) {
  return bytes.size() >= offset && absl::StartsWith(bytes.substr(offset), signature);
}

bool LooksLikeSvg(absl::string_view bytes) {
  absl::string_view text = bytes.substr(0, kSvgSearchBytes);
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  text = absl::StripLeadingAsciiWhitespace(text);
  return absl::StartsWith(text, "<") && absl::StrContains(text, "<svg");
}

absl::Status UnknownFormat(absl::string_view bytes) {
  constexpr absl::string_view kServed = "; JPEG, PNG and WebP are";
  for (const Signature& signature : kUnsupported) {
    if (HasAt(bytes, signature.offset, signature.bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("image is ", signature.name, ", which is not supported", kServed));
    }
  }
  if (LooksLikeSvg(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("image is SVG, which is not supported", kServed));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("image of ", bytes.size(), " bytes is of no known format (it begins with 0x",
                   absl::BytesToHexString(bytes.substr(0, 8)), "); JPEG, PNG and WebP are served"));
}

// What there is for a format (codecs.h).
struct Codec {
  absl::StatusOr<ImageHeader> (*read_header)(absl::string_view bytes);
  absl::StatusOr<Pixels> (*decode)(absl::string_view bytes);
};
constexpr Codec kJpeg = {ReadJpegHeader, DecodeJpeg};
constexpr Codec kPng = {ReadPngHeader, DecodePng};
constexpr Codec kWebp = {ReadWebpHeader, DecodeWebp};

absl::StatusOr<Codec> CodecOf(absl::string_view bytes) {
  if (HasAt(bytes, 0, "\xFF\xD8\xFF")) return kJpeg;
  if (HasAt(bytes, 0, "\x89PNG\r\n\x1A\n")) return kPng;
  if (HasAt(bytes, 0, "RIFF") && HasAt(bytes, 8, "WEBP")) return kWebp;
  return UnknownFormat(bytes);
}

absl::Status CheckSize(const ImageHeader& header, const DecodeLimits& limits) {
  const auto size = [&header] { return absl::StrCat(header.width, " x ", header.height); };
  if (header.width < 1 || header.height < 1) {
    return absl::InvalidArgumentError(absl::StrCat("image of ", size(), " pixels is empty"));
  }
  if (std::max(header.width, header.height) > limits.max_side) {
    return absl::InvalidArgumentError(absl::StrCat("image of ", size(),
                                                   " pixels is too large; a side has at most ",
                                                   limits.max_side, " pixels"));
  }
  const int64_t pixels = int64_t{header.width} * header.height;
  if (pixels > limits.max_pixels) {
    return absl::InvalidArgumentError(absl::StrCat("image of ", size(), " = ", pixels,
                                                   " pixels is too large; at most ",
                                                   limits.max_pixels, " pixels are decoded"));
  }
  return absl::OkStatus();
}

// The mean of each `factor` x `factor` block; blocks at the right and lower edge are cut
// there and average what they have.
Pixels ShrinkBy(const Pixels& from, int factor) {
  Pixels to;
  to.width = (from.width + factor - 1) / factor;
  to.height = (from.height + factor - 1) / factor;
  to.rgb.resize(static_cast<size_t>(to.width) * to.height * 3);
  std::vector<uint64_t> sums(static_cast<size_t>(to.width) * 3);
  for (int y = 0; y < to.height; ++y) {
    const int top = y * factor;
    const int bottom = std::min(top + factor, from.height);
    std::fill(sums.begin(), sums.end(), 0);
    for (int source_y = top; source_y < bottom; ++source_y) {
      const uint8_t* source = from.rgb.data() + static_cast<size_t>(source_y) * from.width * 3;
      for (int x = 0; x < to.width; ++x) {
        uint64_t* sum = &sums[size_t{3} * x];
        const int right = std::min((x + 1) * factor, from.width);
        for (int source_x = x * factor; source_x < right; ++source_x, source += 3) {
          for (int channel = 0; channel < 3; ++channel) sum[channel] += source[channel];
        }
      }
    }
    uint8_t* target = to.rgb.data() + static_cast<size_t>(y) * to.width * 3;
    for (int x = 0; x < to.width; ++x) {
      const int columns = std::min((x + 1) * factor, from.width) - x * factor;
      const uint64_t area = static_cast<uint64_t>(columns) * (bottom - top);
      for (int channel = 0; channel < 3; ++channel) {
        const size_t at = size_t{3} * x + channel;
        target[at] = static_cast<uint8_t>((sums[at] + area / 2) / area);
      }
    }
  }
  return to;
}

}  // namespace

absl::StatusOr<ImageHeader> ReadImageHeader(absl::string_view bytes, const DecodeLimits& limits) {
  if (bytes.empty()) return absl::InvalidArgumentError("image is empty");
  if (static_cast<int64_t>(bytes.size()) > limits.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("image has ", bytes.size(), " bytes; at most ",
                                                   limits.max_bytes, " are taken"));
  }
  ASSIGN_OR_RETURN(const Codec codec, CodecOf(bytes));
  ASSIGN_OR_RETURN(const ImageHeader header, codec.read_header(bytes));
  RETURN_IF_ERROR(CheckSize(header, limits));
  return header;
}

absl::StatusOr<Pixels> DecodeImage(absl::string_view bytes, const DecodeLimits& limits) {
  RETURN_IF_ERROR(ReadImageHeader(bytes, limits).status());
  ASSIGN_OR_RETURN(const Codec codec, CodecOf(bytes));
  return codec.decode(bytes);
}

absl::StatusOr<RgbaPixels> DecodeRgbaPng(absl::string_view bytes, const DecodeLimits& limits) {
  ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(bytes, limits));
  if (header.format != ImageFormat::kPng) {
    return absl::InvalidArgumentError("image is no PNG; transparency is read from PNG alone");
  }
  return DecodePngWithAlpha(bytes);
}

Pixels ShrinkTowards(Pixels pixels, int min_side) {
  const int factor = std::min(pixels.width, pixels.height) / std::max(min_side, 1);
  if (factor < 2) return pixels;
  return ShrinkBy(pixels, factor);
}

int64_t ScaledSide(int64_t length, int64_t longer, int64_t side) {
  return std::max<int64_t>(1, (2 * length * side + longer) / (2 * longer));
}

Pixels ReducePicture(Pixels pixels, int64_t side) {
  // Down to twice the final size: averaging is cheap, and the last factor of two to four
  // is left to the better filter.  Rounding may leave a little more to do, hence a loop,
  // and hence reducing twice is reducing once.
  for (;;) {
    const int64_t longer = std::max(pixels.width, pixels.height);
    const int64_t least = 2 * ScaledSide(std::min(pixels.width, pixels.height), longer, side);
    if (std::min(pixels.width, pixels.height) < 2 * least) return pixels;
    pixels = ShrinkTowards(std::move(pixels), static_cast<int>(least));
  }
}

}  // namespace sightline
