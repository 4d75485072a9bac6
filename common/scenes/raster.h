// Drawings as rasters: cropped, scaled and named by their pixels.  Integers alone, so that the
// result is the same with every compiler and on every CPU.
#ifndef SIGHTLINE_COMMON_SCENES_RASTER_H_
#define SIGHTLINE_COMMON_SCENES_RASTER_H_

#include <string>

#include "common/image/decode.h"

namespace sightline {

// The smallest rectangle that has every pixel that is not transparent; of no pixels if there
// is none.
RgbaPixels CropToOpaque(const RgbaPixels& raster);

// The raster with its longer side `side` and the other one in proportion, rounded, at least 1.
// A pixel is the mean of the area that it covers, colours weighted by alpha; a small raster is
// enlarged likewise.  REQUIRES: a raster of at least one pixel whose sides are at most
// limits::kMaxImageSide, and `side` at least 1 and no more than that.
RgbaPixels ScaleToFit(const RgbaPixels& raster, int side);

// SHA-256, in hex, of width and height as little-endian uint32 and of the RGBA bytes.
std::string RasterSha256(const RgbaPixels& raster);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_RASTER_H_
