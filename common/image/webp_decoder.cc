// libwebp, and its demuxer for the first frame of an animation.
#include <webp/decode.h>
#include <webp/demux.h>

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

constexpr uint8_t kWhite = 255;

const uint8_t* Data(absl::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

absl::Status WebpError(absl::string_view part, VP8StatusCode code) {
  absl::string_view reason = "is corrupt";
  if (code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED) reason = "is truncated";
  if (code == VP8_STATUS_UNSUPPORTED_FEATURE) reason = "uses a feature that libwebp lacks";
  if (code == VP8_STATUS_OUT_OF_MEMORY) reason = "does not fit in memory";
  return absl::InvalidArgumentError(absl::StrCat("WebP ", part, " ", reason));
}

absl::StatusOr<WebPBitstreamFeatures> ReadFeatures(absl::string_view bytes) {
  WebPBitstreamFeatures features = {};
  const VP8StatusCode code = WebPGetFeatures(Data(bytes), bytes.size(), &features);
  if (code != VP8_STATUS_OK) return WebpError("header", code);
  return features;
}

// One still picture (a file, or a frame of one).
absl::StatusOr<Pixels> DecodeStill(absl::string_view bytes, const WebPBitstreamFeatures& features) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return absl::InternalError("libwebp of another version than its headers");
  }
  const size_t count = static_cast<size_t>(features.width) * features.height;
  const int channels = features.has_alpha ? 4 : 3;
  Pixels pixels;
  pixels.width = features.width;
  pixels.height = features.height;
  pixels.rgb.resize(count * channels);

  config.output.colorspace = features.has_alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels.rgb.data();
  config.output.u.RGBA.stride = features.width * channels;
  config.output.u.RGBA.size = pixels.rgb.size();
  const VP8StatusCode code = WebPDecode(Data(bytes), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return WebpError("data", code);

  if (features.has_alpha) {
    ComposeOnWhite(pixels.rgb.data(), count, pixels.rgb.data());
    pixels.rgb.resize(count * 3);
    pixels.rgb.shrink_to_fit();
  }
  return pixels;
}

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

// The first frame where it lies on the canvas, on white.  The file's background colour
// is a hint to players that browsers ignore as well.
absl::StatusOr<Pixels> DecodeFirstFrame(absl::string_view bytes,
                                        const WebPBitstreamFeatures& canvas) {
  const WebPData data = {Data(bytes), bytes.size()};
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemux(&data));
  if (demuxer == nullptr) return WebpError("animation", VP8_STATUS_BITSTREAM_ERROR);
  WebPIterator frame = {};
  const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> release(
      &frame, &WebPDemuxReleaseIterator);
  if (!WebPDemuxGetFrame(demuxer.get(), 1, &frame) || !frame.complete) {
    return WebpError("animation", VP8_STATUS_NOT_ENOUGH_DATA);
  }
  const absl::string_view fragment(reinterpret_cast<const char*>(frame.fragment.bytes),
                                   frame.fragment.size);
  ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, ReadFeatures(fragment));
  // The demuxer has checked this; memory is not left to one library's word.
  if (features.width != frame.width || features.height != frame.height || frame.x_offset < 0 ||
      frame.y_offset < 0 || frame.width > canvas.width - frame.x_offset ||
      frame.height > canvas.height - frame.y_offset) {
    return WebpError("animation's first frame", VP8_STATUS_BITSTREAM_ERROR);
  }
  ASSIGN_OR_RETURN(Pixels picture, DecodeStill(fragment, features));
  if (picture.width == canvas.width && picture.height == canvas.height) return picture;

  Pixels pixels;
  pixels.width = canvas.width;
  pixels.height = canvas.height;
  pixels.rgb.assign(static_cast<size_t>(canvas.width) * canvas.height * 3, kWhite);
  for (int y = 0; y < picture.height; ++y) {
    const auto row = picture.rgb.begin() + static_cast<size_t>(y) * picture.width * 3;
    const size_t at = static_cast<size_t>(frame.y_offset + y) * canvas.width + frame.x_offset;
    std::copy(row, row + size_t{3} * picture.width, pixels.rgb.begin() + at * 3);
  }
  return pixels;
}

}  // namespace

absl::StatusOr<ImageHeader> ReadWebpHeader(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, ReadFeatures(bytes));
  return ImageHeader{ImageFormat::kWebp, features.width, features.height};
}

absl::StatusOr<Pixels> DecodeWebp(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, ReadFeatures(bytes));
  return features.has_animation ? DecodeFirstFrame(bytes, features) : DecodeStill(bytes, features);
}

}  // namespace sightline
