// libspng.
#include <spng.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/image/encode_png.h"

namespace sightline {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

absl::StatusOr<std::string> PngFileOf(const Pixels& pixels) {
  const size_t size = static_cast<size_t>(pixels.width) * static_cast<size_t>(pixels.height) * 3;
  if (pixels.width < 1 || pixels.height < 1 || pixels.rgb.size() != size) {
    return absl::InvalidArgumentError(absl::StrCat("a picture of ", pixels.width, " x ",
                                                   pixels.height, " cannot have ",
                                                   pixels.rgb.size(), " bytes"));
  }
  const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (context == nullptr) return absl::InternalError("libspng gave no context");
  spng_ihdr header = {};
  header.width = static_cast<uint32_t>(pixels.width);
  header.height = static_cast<uint32_t>(pixels.height);
  header.bit_depth = 8;
  header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  int error = spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (error == 0) error = spng_set_ihdr(context.get(), &header);
  if (error == 0) {
    error = spng_encode_image(context.get(), pixels.rgb.data(), size, SPNG_FMT_PNG,
                              SPNG_ENCODE_FINALIZE);
  }
  size_t length = 0;
  const std::unique_ptr<void, Free> file(
      error == 0 ? spng_get_png_buffer(context.get(), &length, &error) : nullptr);
  if (file == nullptr) {
    return absl::InternalError(absl::StrCat("PNG could not be written: ", spng_strerror(error)));
  }
  return std::string(static_cast<const char*>(file.get()), length);
}

}  // namespace sightline
