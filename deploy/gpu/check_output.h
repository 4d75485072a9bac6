// How the checks of this folder tell what they measure, and end where they cannot.
#ifndef SIGHTLINE_DEPLOY_GPU_CHECK_OUTPUT_H_
#define SIGHTLINE_DEPLOY_GPU_CHECK_OUTPUT_H_

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/device/ceilings.h"
#include "nlohmann/json.hpp"

namespace sightline {

// So that what was measured is seen even of a check that is stopped at its limit.
inline void ShowEachLine() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

[[noreturn]] inline void Die(const absl::Status& status, int exit_status) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.ToString().c_str());
  std::exit(exit_status);
}

template <typename T>
T ValueOrDie(absl::StatusOr<T> value, int exit_status) {
  if (!value.ok()) Die(value.status(), exit_status);
  return *std::move(value);
}

// Of the times that `work` takes.
template <typename Work>
double MedianSeconds(int rounds, const Work& work) {
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work(i);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(taken.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[rounds / 2];
}

// Also prints those that were measured.
inline nlohmann::json TellCeilings(const device::Ceilings& ceilings) {
  if (ceilings.copied_bytes_per_second == 0) return nlohmann::json::object();
  std::printf("ceilings: %.0f GB/s of a copy, read and written",
              ceilings.copied_bytes_per_second / 1e9);
  if (ceilings.product_operations_per_second > 0) {
    std::printf("; %.0f TFLOP/s of a product of bfloat16",
                ceilings.product_operations_per_second / 1e12);
  }
  std::printf("\n");
  return {{"copied_bytes_per_second", ceilings.copied_bytes_per_second},
          {"product_operations_per_second", ceilings.product_operations_per_second}};
}

// Whether it could be written; no `file`: nothing is.
inline bool WriteJson(const std::string& file, const nlohmann::json& json) {
  if (file.empty()) return true;
  std::ofstream out(file);
  out << json.dump(1) << "\n";
  out.close();
  if (!out) std::fprintf(stderr, "%s cannot be written\n", file.c_str());
  return static_cast<bool>(out);
}

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_CHECK_OUTPUT_H_
