// What a kernel is written in, so that one text runs on a device and, block by block, on the host.
//
// A kernel is a plain struct of numbers and pointers with
//
//   static constexpr int kThreads = 256;      // of a block, a multiple of kLanes
//   static constexpr int kBlocksAtOnce = 2;   // on a processor at least: what registers allow
//   struct Shared { ... };                    // memory of a block; its content is undefined at
//   first template <typename Block> SIGHTLINE_DEVICE void operator()(Block& block, Shared& shared)
//   const;
//
// which is called once for each block of a grid (on a device, once by each thread of it), and does
// everything within these steps, from where all threads of the block come by:
//
//   block.Step([&](int thread) { ... });      // by each thread; all have ended when it returns
//   block.Warps([&](auto& warp) { ... });     // by each warp; likewise
//
// and within a warp, 32 lanes in lockstep, within these:
//
//   warp.Step([&](int lane) { ... });         // by each lane; none sees what another writes
//   PerLane<float> other = warp.Xor(mine, 8); // of each lane what lane ^ 8 has
//   int sum = warp.Sum(counts);               // of a PerLane<int>
//   warp.MultiplyTiles(left, right, out);     // lane's parts by functions of it; tiles.h
//
// What a thread keeps between two steps is PerThread, or PerLane within a warp; all else outside of
// the steps is the same for all threads.  HostDevice (host_device.h) runs kernels so in tests,
// under the sanitizers, and CudaDevice (cuda_device.h) on a device.
#ifndef SIGHTLINE_COMMON_DEVICE_BLOCK_H_
#define SIGHTLINE_COMMON_DEVICE_BLOCK_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define SIGHTLINE_DEVICE __device__ __forceinline__
// Of the device and the host.
#define SIGHTLINE_BOTH __host__ __device__ __forceinline__
// Before a loop of a constant number of rounds over an array that is to lie in registers.
#define SIGHTLINE_UNROLL _Pragma("unroll")
#else
#include <immintrin.h>
#define SIGHTLINE_DEVICE inline
#define SIGHTLINE_BOTH inline
#define SIGHTLINE_UNROLL
#endif

namespace sightline::device {

inline constexpr int kLanes = 32;

// Less than any number that is worth comparing, and finite.
inline constexpr float kLeast = -3e38f;

// The upper half of a float32.
struct Bfloat16 {
  uint16_t bits;
};

SIGHTLINE_BOTH float Wide(float number) {
  return number;
}

SIGHTLINE_BOTH float Wide(Bfloat16 number) {
  const uint32_t bits = uint32_t{number.bits} << 16;
  float wide;
  memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

SIGHTLINE_BOTH void Narrow(float number, float* to) {
  *to = number;
}

SIGHTLINE_BOTH void Narrow(float number, Bfloat16* to) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  const bool is_number = number == number;
  to->bits = static_cast<uint16_t>(is_number ? (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 : 0x7FC0);
}

// The nearest one, of two the even one.
template <typename Number>
SIGHTLINE_BOTH Number Narrowed(float number) {
  Number narrow;
  Narrow(number, &narrow);
  return narrow;
}

#ifdef __CUDACC__

// Of each of `count` threads its own, which is all that it asks for.
template <typename T, int count>
class PerThread {
 public:
  SIGHTLINE_DEVICE T& operator[](int /*thread*/) { return value_; }
  SIGHTLINE_DEVICE const T& operator[](int /*thread*/) const { return value_; }

 private:
  T value_;
};

SIGHTLINE_DEVICE int AtomicAdd(int* to, int number) {
  return atomicAdd(to, number);
}

// The number that 16 bits of float16 stand for, exactly.
SIGHTLINE_DEVICE float Widened(uint16_t half) {
  return __half2float(__ushort_as_half(half));
}

// Of an address that 16 divides.
SIGHTLINE_DEVICE void ReadFour(const float* from, float (&to)[4]) {
  const float4 numbers = *reinterpret_cast<const float4*>(from);
  to[0] = numbers.x;
  to[1] = numbers.y;
  to[2] = numbers.z;
  to[3] = numbers.w;
}

// Of one that 8 divides.
SIGHTLINE_DEVICE void ReadFour(const Bfloat16* from, float (&to)[4]) {
  const ushort4 numbers = *reinterpret_cast<const ushort4*>(from);
  to[0] = Wide(Bfloat16{numbers.x});
  to[1] = Wide(Bfloat16{numbers.y});
  to[2] = Wide(Bfloat16{numbers.z});
  to[3] = Wide(Bfloat16{numbers.w});
}

// The same as they are.
SIGHTLINE_DEVICE void ReadFour(const Bfloat16* from, Bfloat16 (&to)[4]) {
  const ushort4 numbers = *reinterpret_cast<const ushort4*>(from);
  to[0].bits = numbers.x;
  to[1].bits = numbers.y;
  to[2].bits = numbers.z;
  to[3].bits = numbers.w;
}

SIGHTLINE_DEVICE void WriteFour(const Bfloat16 (&from)[4], Bfloat16* to) {
  *reinterpret_cast<ushort4*>(to) =
      make_ushort4(from[0].bits, from[1].bits, from[2].bits, from[3].bits);
}

SIGHTLINE_DEVICE void WriteFour(const float (&from)[4], float* to) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

SIGHTLINE_DEVICE void WriteFour(const float (&from)[4], Bfloat16* to) {
  *reinterpret_cast<ushort4*>(to) =
      make_ushort4(Narrowed<Bfloat16>(from[0]).bits, Narrowed<Bfloat16>(from[1]).bits,
                   Narrowed<Bfloat16>(from[2]).bits, Narrowed<Bfloat16>(from[3]).bits);
}

// Of an address that 16 divides; what is read once, and not kept in the caches beyond need.
SIGHTLINE_DEVICE void ReadOnce(const uint16_t* from, uint16_t (&to)[8]) {
  const uint4 bytes = __ldcs(reinterpret_cast<const uint4*>(from));
  memcpy(to, &bytes, sizeof(to));
}

// a * b + c, rounded once.
SIGHTLINE_DEVICE float MultiplyAdd(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}

SIGHTLINE_DEVICE float Plus(float a, float b) {
  return __fadd_rn(a, b);
}

SIGHTLINE_DEVICE float Times(float a, float b) {
  return __fmul_rn(a, b);
}

SIGHTLINE_DEVICE float Root(float number) {
  return sqrtf(number);
}

SIGHTLINE_DEVICE float Exp(float number) {
  return expf(number);
}

// 2 to the power of `number`.
SIGHTLINE_DEVICE float Exp2(float number) {
  return exp2f(number);
}

// The exact one (Hendrycks and Gimpel, 2016).
SIGHTLINE_DEVICE float Gelu(float number) {
  return 0.5f * number * erfcf(-0.70710678f * number);
}

SIGHTLINE_DEVICE uint32_t BitsOf(float number) {
  return __float_as_uint(number);
}

#else

template <typename T, int count>
class PerThread {
 public:
  T& operator[](int thread) { return values_[thread]; }
  const T& operator[](int thread) const { return values_[thread]; }

 private:
  T values_[count];
};

// Blocks and threads run one after another.
inline int AtomicAdd(int* to, int number) {
  const int before = *to;
  *to += number;
  return before;
}

inline float Widened(uint16_t half) {
  return _cvtsh_ss(half);
}

inline void ReadFour(const float* from, float (&to)[4]) {
  std::memcpy(to, from, sizeof(to));
}

inline void ReadFour(const Bfloat16* from, float (&to)[4]) {
  for (int i = 0; i < 4; ++i) to[i] = Wide(from[i]);
}

inline void ReadFour(const Bfloat16* from, Bfloat16 (&to)[4]) {
  std::memcpy(to, from, sizeof(to));
}

inline void WriteFour(const Bfloat16 (&from)[4], Bfloat16* to) {
  std::memcpy(to, from, sizeof(from));
}

inline void WriteFour(const float (&from)[4], float* to) {
  std::memcpy(to, from, sizeof(from));
}

inline void WriteFour(const float (&from)[4], Bfloat16* to) {
  for (int i = 0; i < 4; ++i) Narrow(from[i], &to[i]);
}

inline void ReadOnce(const uint16_t* from, uint16_t (&to)[8]) {
  std::memcpy(to, from, sizeof(to));
}

inline float MultiplyAdd(float a, float b, float c) {
  return std::fma(a, b, c);
}

inline float Plus(float a, float b) {
  return a + b;
}

inline float Times(float a, float b) {
  return a * b;
}

inline float Root(float number) {
  return std::sqrt(number);
}

inline float Exp(float number) {
  return std::exp(number);
}

inline float Exp2(float number) {
  return std::exp2(number);
}

inline float Gelu(float number) {
  return 0.5f * number * std::erfc(-0.70710678f * number);
}

inline uint32_t BitsOf(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

#endif

template <typename T>
using PerLane = PerThread<T, kLanes>;

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_BLOCK_H_
