// Decoding of pictures: pixels a second on one core, and the bytes that come out as a share
// of what all cores can copy.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "common/image/decode.h"
#include "loadtest/bench/bench_main.h"
#include "loadtest/synthesize/counter_random.h"
#include "tests/common/image/encode.h"

namespace sightline {
namespace {

// Smooth colours with some grain: between a drawing, which packs better, and a photo of
// foliage, which packs worse.
Pixels Picture(int width, int height) {
  Pixels pixels = Gradient(width, height);
  const uint64_t key = StreamKey(1, RandomUse::kItem, 0);
  for (size_t i = 0; i < pixels.rgb.size(); ++i) {
    const double grain = 6 * NearlyNormal(RandomBits(key, i));
    pixels.rgb[i] =
        static_cast<uint8_t>(std::min(255.0, std::max(0.0, std::round(pixels.rgb[i] + grain))));
  }
  return pixels;
}

void Decode(benchmark::State& state, std::string (*encode)(const Pixels&)) {
  const int width = static_cast<int>(state.range(0));
  const int height = static_cast<int>(state.range(1));
  const std::string bytes = encode(Picture(width, height));
  Rounds rounds(&state, [&] { return DecodeImage(bytes, DecodeLimits()).status(); });
  const double pixels = static_cast<double>(width) * height;
  rounds.Bytes(3 * pixels, Peak().copy_bytes);
  rounds.Items("pixels_per_second", pixels);
  state.counters["bits_per_pixel"] = 8 * static_cast<double>(bytes.size()) / pixels;
}

std::string Png(const Pixels& pixels) {
  return EncodePng(pixels);
}
std::string Jpeg(const Pixels& pixels) {
  return EncodeJpeg(pixels);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"width", "height"})->Args({640, 480})->Args({2048, 1536});
  benchmark->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(Decode, jpeg, Jpeg)->Apply(Sizes);
BENCHMARK_CAPTURE(Decode, png, Png)->Apply(Sizes);
BENCHMARK_CAPTURE(Decode, webp, EncodeWebpLossy)->Apply(Sizes);

}  // namespace
}  // namespace sightline
