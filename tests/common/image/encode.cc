#include "tests/common/image/encode.h"

#include <stdio.h>  // jpeglib.h needs FILE and size_t

#include <jpeglib.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace sightline {
namespace {

void Check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

void AppendBigEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendLittleEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

int ChannelsOf(int color_type) {
  switch (color_type) {
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 1;
  }
}

// Sample by sample, so that any depth and pass is the same code.
uint32_t Bits(absl::string_view row, size_t bit, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i, ++bit) {
    value = value << 1 | ((static_cast<uint8_t>(row[bit / 8]) >> (7 - bit % 8)) & 1);
  }
  return value;
}

// The rows of one pass (every picture that is not interlaced is one), each with the
// filter byte "none".
std::string PassRows(const PngSpec& spec, int x0, int y0, int dx, int dy) {
  const int pixel_bits = ChannelsOf(spec.color_type) * spec.bit_depth;
  const size_t row_bytes = (static_cast<size_t>(spec.width) * pixel_bits + 7) / 8;
  Check(spec.rows.size() == row_bytes * spec.height, "rows of another size than the picture");
  std::string out;
  if (x0 >= spec.width) return out;
  for (int y = y0; y < spec.height; y += dy) {
    const absl::string_view row(spec.rows.data() + y * row_bytes, row_bytes);
    out.push_back(0);
    int used = 8;
    for (int x = x0; x < spec.width; x += dx) {
      for (int bit = 0; bit < pixel_bits; ++bit) {
        if (used == 8) {
          out.push_back(0);
          used = 0;
        }
        out.back() |= static_cast<char>(Bits(row, size_t(x) * pixel_bits + bit, 1) << (7 - used++));
      }
    }
  }
  return out;
}

std::string Deflate(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  Check(compress(reinterpret_cast<Bytef*>(&out[0]), &size,
                 reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK,
        "zlib");
  out.resize(size);
  return out;
}

std::string TakeWebp(uint8_t* bytes, size_t size) {
  const std::unique_ptr<uint8_t, void (*)(void*)> owned(bytes, WebPFree);
  Check(size > 0, "webp");
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

std::string RiffChunk(absl::string_view type, absl::string_view content) {
  std::string out(type);
  AppendLittleEndian(content.size(), 4, &out);
  out.append(content.data(), content.size());
  if (content.size() % 2 != 0) out.push_back(0);
  return out;
}

}  // namespace

Pixels Gradient(int width, int height) {
  Pixels pixels;
  pixels.width = width;
  pixels.height = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      pixels.rgb.push_back(static_cast<uint8_t>(30 + 200 * x / width));
      pixels.rgb.push_back(static_cast<uint8_t>(220 - 180 * y / height));
      pixels.rgb.push_back(static_cast<uint8_t>(20 + 100 * (x + y) / (width + height)));
    }
  }
  return pixels;
}

std::string PngChunk(absl::string_view type, absl::string_view content) {
  std::string typed(type);
  typed.append(content.data(), content.size());
  std::string out;
  AppendBigEndian(content.size(), 4, &out);
  out += typed;
  AppendBigEndian(crc32(0, reinterpret_cast<const Bytef*>(typed.data()), typed.size()), 4, &out);
  return out;
}

// By hand, so that the test of a decoder does not lean on the same library's encoder.
std::string EncodePng(const PngSpec& spec) {
  std::string ihdr;
  AppendBigEndian(spec.width, 4, &ihdr);
  AppendBigEndian(spec.height, 4, &ihdr);
  ihdr += {static_cast<char>(spec.bit_depth), static_cast<char>(spec.color_type), 0, 0,
           static_cast<char>(spec.interlaced)};
  std::string out = "\x89PNG\r\n\x1A\n" + PngChunk("IHDR", ihdr);
  if (!spec.palette.empty()) {
    out += PngChunk("PLTE", std::string(spec.palette.begin(), spec.palette.end()));
  }
  if (!spec.palette_alpha.empty()) {
    out += PngChunk("tRNS", std::string(spec.palette_alpha.begin(), spec.palette_alpha.end()));
  }
  std::string data;
  if (spec.interlaced) {
    constexpr int kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                   {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (const auto& p : kPasses) data += PassRows(spec, p[0], p[1], p[2], p[3]);
  } else {
    data = PassRows(spec, 0, 0, 1, 1);
  }
  return out + PngChunk("IDAT", Deflate(data)) + PngChunk("IEND", "");
}

std::string EncodePng(const Pixels& pixels, bool interlaced) {
  PngSpec spec;
  spec.width = pixels.width;
  spec.height = pixels.height;
  spec.interlaced = interlaced;
  spec.rows.assign(pixels.rgb.begin(), pixels.rgb.end());
  return EncodePng(spec);
}

std::string EncodeJpeg(int width, int height, const std::vector<uint8_t>& samples,
                       const JpegSpec& spec) {
  Check(samples.size() == static_cast<size_t>(width) * height * spec.channels, "samples");
  jpeg_compress_struct compress;
  jpeg_error_mgr errors;
  compress.err = jpeg_std_error(&errors);
  jpeg_create_compress(&compress);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&compress, &bytes, &size);
  compress.image_width = width;
  compress.image_height = height;
  compress.input_components = spec.channels;
  compress.in_color_space = spec.channels == 1   ? JCS_GRAYSCALE
                            : spec.channels == 3 ? JCS_RGB
                                                 : JCS_CMYK;
  jpeg_set_defaults(&compress);
  jpeg_set_quality(&compress, 100, TRUE);
  // Whole colours: what is compared is the decoder, not chroma subsampling.
  compress.comp_info[0].h_samp_factor = 1;
  compress.comp_info[0].v_samp_factor = 1;
  if (spec.progressive) jpeg_simple_progression(&compress);
  std::vector<jpeg_scan_info> scans;
  if (spec.scan_per_coefficient) {
    Check(spec.channels == 1, "scans per coefficient are for one channel");
    const int low_bit = spec.refined ? 1 : 0;
    scans.push_back({1, {0}, 0, 0, 0, 0});
    for (int i = 1; i < 64; ++i) scans.push_back({1, {0}, i, i, 0, low_bit});
    for (int i = 1; i < 64 && spec.refined; ++i) scans.push_back({1, {0}, i, i, 1, 0});
    compress.scan_info = scans.data();
    compress.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&compress, TRUE);
  const size_t row_bytes = static_cast<size_t>(width) * spec.channels;
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(samples.data() + y * row_bytes);
    jpeg_write_scanlines(&compress, &row, 1);
  }
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  const std::unique_ptr<unsigned char, void (*)(void*)> owned(bytes, std::free);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

std::string EncodeJpeg(const Pixels& pixels) {
  return EncodeJpeg(pixels.width, pixels.height, pixels.rgb, {});
}

std::string ExifBlock(int orientation, bool big_endian) {
  std::string out("Exif\0\0", 6);
  const auto append = [&](uint32_t value, int bytes) {
    big_endian ? AppendBigEndian(value, bytes, &out) : AppendLittleEndian(value, bytes, &out);
  };
  out += big_endian ? "MM" : "II";
  append(42, 2);
  append(8, 4);       // where the directory is
  append(2, 2);       // entries
  append(0x0100, 2);  // ImageWidth, a LONG: to be skipped
  append(4, 2);
  append(1, 4);
  append(77, 4);
  append(0x0112, 2);  // Orientation, a SHORT in the first two bytes of the value
  append(3, 2);
  append(1, 4);
  append(orientation, 2);
  append(0, 2);
  append(0, 4);  // no further directory
  return out;
}

std::string WithOrientation(const std::string& jpeg, int orientation, bool big_endian) {
  const std::string block = ExifBlock(orientation, big_endian);
  std::string marker = "\xFF\xE1";
  AppendBigEndian(block.size() + 2, 2, &marker);
  return jpeg.substr(0, 2) + marker + block + jpeg.substr(2);
}

std::string EncodeWebpLossless(const Pixels& pixels) {
  uint8_t* bytes = nullptr;
  const size_t size = WebPEncodeLosslessRGB(pixels.rgb.data(), pixels.width, pixels.height,
                                            pixels.width * 3, &bytes);
  return TakeWebp(bytes, size);
}

std::string EncodeWebpLossy(const Pixels& pixels) {
  uint8_t* bytes = nullptr;
  const size_t size =
      WebPEncodeRGB(pixels.rgb.data(), pixels.width, pixels.height, pixels.width * 3, 95, &bytes);
  return TakeWebp(bytes, size);
}

std::string EncodeWebpRgba(int width, int height, const std::vector<uint8_t>& rgba) {
  // "Exact" would keep colours below transparent pixels; composed on white they are gone
  // anyway.
  uint8_t* bytes = nullptr;
  const size_t size = WebPEncodeLosslessRGBA(rgba.data(), width, height, width * 4, &bytes);
  return TakeWebp(bytes, size);
}

std::string EncodeWebpAnimation(int width, int height, const std::vector<WebpFrame>& frames) {
  std::string extended;
  AppendLittleEndian(0x02, 4, &extended);  // flags: animation
  AppendLittleEndian(width - 1, 3, &extended);
  AppendLittleEndian(height - 1, 3, &extended);
  std::string animation;
  AppendLittleEndian(0xFF0000FF, 4, &animation);  // background: not to be looked at
  AppendLittleEndian(0, 2, &animation);           // loops for ever

  std::string content = "WEBP" + RiffChunk("VP8X", extended) + RiffChunk("ANIM", animation);
  for (const WebpFrame& frame : frames) {
    std::string anmf;
    AppendLittleEndian(frame.x / 2, 3, &anmf);
    AppendLittleEndian(frame.y / 2, 3, &anmf);
    AppendLittleEndian(frame.pixels.width - 1, 3, &anmf);
    AppendLittleEndian(frame.pixels.height - 1, 3, &anmf);
    AppendLittleEndian(100, 3, &anmf);  // milliseconds
    AppendLittleEndian(0, 1, &anmf);
    anmf += EncodeWebpLossless(frame.pixels).substr(12);
    content += RiffChunk("ANMF", anmf);
  }
  return RiffChunk("RIFF", content);
}

}  // namespace sightline
