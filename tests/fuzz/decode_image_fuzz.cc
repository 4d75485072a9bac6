// Any bytes: DecodeImage gives an error or a picture as its header announced it.
//
// A PNG's checksums are put right after most mutations: else nothing damaged would come
// past them.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image/decode.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr size_t kPngSignatureBytes = 8;

// Writes the right CRC behind every chunk that lies within the bytes.
void RepairPngChecksums(uint8_t* data, size_t size) {
  size_t offset = kPngSignatureBytes;
  while (size >= 12 && offset <= size - 12) {
    const uint8_t* length_bytes = data + offset;
    const size_t length = size_t{length_bytes[0]} << 24 | size_t{length_bytes[1]} << 16 |
                          size_t{length_bytes[2]} << 8 | size_t{length_bytes[3]};
    if (length > size - 12 - offset) return;
    const uint32_t crc = static_cast<uint32_t>(crc32(0, data + offset + 4, 4 + length));
    uint8_t* crc_bytes = data + offset + 8 + length;
    for (int i = 0; i < 4; ++i) crc_bytes[i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    offset += 12 + length;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  const bool png = size > kPngSignatureBytes && std::memcmp(data, "\x89PNG", 4) == 0;
  if (png && seed % 8 != 0) RepairPngChecksums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Large enough for every code path, small enough to be fast.
  sightline::DecodeLimits limits;
  limits.max_bytes = 1 << 16;
  limits.max_pixels = 1 << 16;
  limits.max_side = 1 << 12;
  const auto header = sightline::ReadImageHeader(bytes, limits);
  absl::StatusOr<sightline::Pixels> pixels = sightline::DecodeImage(bytes, limits);
  if (!pixels.ok()) {
    Require(pixels.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  Require(header.ok());
  Require(pixels->width == header->width && pixels->height == header->height);
  Require(pixels->rgb.size() == static_cast<size_t>(pixels->width) * pixels->height * 3);
  const int shorter = std::min(pixels->width, pixels->height);
  const sightline::Pixels small = sightline::ShrinkTowards(*std::move(pixels), 16);
  Require(std::min(small.width, small.height) >= std::min(shorter, 16));
  Require(small.rgb.size() == static_cast<size_t>(small.width) * small.height * 3);
  return 0;
}
