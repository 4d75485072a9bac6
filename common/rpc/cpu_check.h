// Ends a program on a CPU that cannot run it, with a line that says why.
//
// A program that links this file checks before its first initialiser: main() itself may
// hold instructions that an older CPU lacks.  That is why a library may end the process
// here and nowhere else.  Call UnsupportedCpu in main() to make sure that it is linked:
//
//   if (const char* problem = UnsupportedCpu()) {
//     fputs(problem, stderr);
//     return 1;
//   }
//
// Everything but this file is compiled for x86-64-v3, and an older CPU would die of an
// illegal instruction with no word of explanation.  This file is compiled for plain
// x86-64 and uses no library code, because the linker keeps one copy of each inline
// function and may keep one that was compiled for v3.
#ifndef SIGHTLINE_COMMON_RPC_CPU_CHECK_H_
#define SIGHTLINE_COMMON_RPC_CPU_CHECK_H_

namespace sightline {

// Null if the CPU has all of x86-64-v3 (AVX2, FMA, BMI1, BMI2, F16C, LZCNT, MOVBE), else
// a line that names what is missing.  Not thread-safe: for the start of main.
const char* UnsupportedCpu();

// The same for given answers, one per feature in the order above; for tests.
const char* DescribeMissingCpuFeatures(const bool* present);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CPU_CHECK_H_
