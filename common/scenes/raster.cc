#include "common/scenes/raster.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

const uint8_t* PixelOf(const RgbaPixels& raster, int x, int y) {
  return &raster.rgba[(static_cast<size_t>(y) * raster.width + x) * 4];
}

// Pixels of one side that a pixel of the scaled side covers, in whole and in part.
struct Cover {
  int first = 0;
  std::vector<uint64_t> weights;  // in parts of which a pixel has as many as the scaled side
};

// Of each of `to` pixels over `from` pixels; the weights of one add up to `from`.
std::vector<Cover> CoversOf(int from, int to) {
  std::vector<Cover> covers(to);
  for (int i = 0; i < to; ++i) {
    const int64_t begin = int64_t{i} * from, end = begin + from;
    covers[i].first = static_cast<int>(begin / to);
    for (int64_t at = begin; at < end;) {
      const int64_t next = std::min((at / to + 1) * to, end);
      covers[i].weights.push_back(next - at);
      at = next;
    }
  }
  return covers;
}

// The mean under two covers, whose weights multiplied add up to `area`.
std::array<uint8_t, 4> MeanOf(const RgbaPixels& raster, const Cover& columns, const Cover& rows,
                              uint64_t area) {
  uint64_t alpha = 0, colour[3] = {};
  for (size_t row = 0; row < rows.weights.size(); ++row) {
    const uint8_t* pixel = PixelOf(raster, columns.first, rows.first + static_cast<int>(row));
    for (const uint64_t weight : columns.weights) {
      const uint64_t part = weight * rows.weights[row] * pixel[3];
      alpha += part;
      for (int channel = 0; channel < 3; ++channel) colour[channel] += part * pixel[channel];
      pixel += 4;
    }
  }
  std::array<uint8_t, 4> mean = {};
  if (alpha == 0) return mean;
  for (int channel = 0; channel < 3; ++channel) {
    mean[channel] = static_cast<uint8_t>((colour[channel] + alpha / 2) / alpha);
  }
  mean[3] = static_cast<uint8_t>((alpha + area / 2) / area);
  return mean;
}

std::string LittleEndian32(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

}  // namespace

RgbaPixels CropToOpaque(const RgbaPixels& raster) {
  int left = raster.width, right = 0, top = raster.height, bottom = 0;
  for (int y = 0; y < raster.height; ++y) {
    for (int x = 0; x < raster.width; ++x) {
      if (PixelOf(raster, x, y)[3] == 0) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  RgbaPixels cropped;
  if (right == 0) return cropped;
  cropped.width = right - left;
  cropped.height = bottom - top;
  for (int y = top; y < bottom; ++y) {
    const uint8_t* row = PixelOf(raster, left, y);
    cropped.rgba.insert(cropped.rgba.end(), row, row + static_cast<size_t>(cropped.width) * 4);
  }
  return cropped;
}

RgbaPixels ScaleToFit(const RgbaPixels& raster, int side) {
  const int64_t longer = std::max(raster.width, raster.height);
  RgbaPixels scaled;
  scaled.width = static_cast<int>(ScaledSide(raster.width, longer, side));
  scaled.height = static_cast<int>(ScaledSide(raster.height, longer, side));
  const std::vector<Cover> columns = CoversOf(raster.width, scaled.width);
  const std::vector<Cover> rows = CoversOf(raster.height, scaled.height);
  const uint64_t area = static_cast<uint64_t>(raster.width) * raster.height;
  for (const Cover& row : rows) {
    for (const Cover& column : columns) {
      const std::array<uint8_t, 4> mean = MeanOf(raster, column, row, area);
      scaled.rgba.insert(scaled.rgba.end(), mean.begin(), mean.end());
    }
  }
  return scaled;
}

std::string RasterSha256(const RgbaPixels& raster) {
  Sha256 hash;
  hash.Update(LittleEndian32(raster.width));
  hash.Update(LittleEndian32(raster.height));
  hash.Update(
      absl::string_view(reinterpret_cast<const char*>(raster.rgba.data()), raster.rgba.size()));
  return hash.Hex();
}

}  // namespace sightline
