// What this machine can do at most, at this moment: the yardstick that a benchmark's
// figure is a share of.  Measured, since neither a data sheet nor a CPU's name knows what
// a virtual machine with busy neighbours gets.
#ifndef SIGHTLINE_LOADTEST_BENCH_MACHINE_PEAK_H_
#define SIGHTLINE_LOADTEST_BENCH_MACHINE_PEAK_H_

#include <cstdint>
#include <string>

#include "common/base/compute_pool.h"
#include "common/kernels/kernels.h"

namespace sightline {

// All by every thread of a pool at once.
struct MachinePeak {
  // Floating point operations a second in float32, a fused multiply-add being two: chains
  // of them that wait for nothing, in registers only.
  double flops = 0;
  // That were used for it: "AVX2", or "AVX-512" where ThisCpu() has it.
  std::string instructions;
  // Bytes a second read from, and copied within, buffers that are read once from end to
  // end; a copied byte counts once.
  double read_bytes = 0;
  double copy_bytes = 0;
};

struct PeakOptions {
  // For each of the three figures the best of `rounds` is kept: what gets in the way of a
  // measurement only ever makes it slower.
  int rounds = 7;
  // Of fused multiply-adds a thread and round, in thousands of vectors.
  int64_t kilo_vectors = 40'000;
  // The buffer.  More than the caches hold, or it is they that are measured.
  int64_t buffer_bytes = int64_t{1} << 30;
};

// One measurement of either, by all threads of the pool at once, to be taken in turns with what is
// compared with it: bytes a second, of `bytes`, which are 1 MiB or more; and operations a second,
// of `vectors` fused multiply-adds a thread.
double MeasureReading(ComputePool* pool, const char* data, int64_t bytes);
double MeasureFlops(ComputePool* pool, int64_t vectors);

// Operations a second of the kernel's own instruction, on registers alone, by every thread of the
// pool at once, or by the calling thread: the best of several rounds.
double PeakOf(const kernels::ProductKernel& kernel, ComputePool* pool = nullptr);

// Takes a second or two with the default options.
MachinePeak MeasureMachinePeak(ComputePool* pool, const PeakOptions& options = PeakOptions());

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_MACHINE_PEAK_H_
