// What a model of base size takes of memory, in each precision of this CPU: the most while it is
// loaded, and what it holds once it is, in MiB above what the process had before, as Linux counts
// what is resident.  Its weights are random, its words BERT's 30 522.
//
//   model_memory               writes the model below $TMPDIR, and starts itself for each line
//   model_memory BUNDLE PRECISION
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/model.h"
#include "common/rpc/cpu_check.h"
#include "loadtest/bench/bench_model.h"

namespace sightline {
namespace {

constexpr int kWords = 30'517;  // and five special tokens

// A line of /proc/self/status, which counts in KiB.
double MebibytesOf(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

absl::Status Tell(const std::string& directory, const std::string& precision) {
  ASSIGN_OR_RETURN(const ModelBundle bundle,
                   OpenModelBundle(directory, /*verify_checksums=*/false));
  ComputePool pool(1);
  ModelOptions options;
  options.pool = &pool;
  options.execution.precision = precision;
  const double before = MebibytesOf("VmRSS");
  ASSIGN_OR_RETURN(const auto model, LoadModel(bundle, options));
  const double file =
      static_cast<double>(std::filesystem::file_size(bundle.FilePath(kWeightsFile))) / (1 << 20);
  std::printf("%-9s  file %4.0f MiB  while loading %5.0f MiB  loaded %5.0f MiB\n",
              precision.c_str(), file, MebibytesOf("VmHWM") - before,
              MebibytesOf("VmRSS") - before);
  return absl::OkStatus();
}

// In a process of its own, whose peak is nobody else's.
absl::Status TellApart(const std::string& directory, const std::string& precision) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "model_memory", directory.c_str(), precision.c_str(), nullptr);
    _exit(1);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return absl::OkStatus();
  return absl::InternalError("the process that was to load the model did not");
}

absl::Status TellAll() {
  const std::string store =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/model_memory.", getpid());
  const auto remove_store = absl::MakeCleanup([&store] {
    std::error_code ignored;
    std::filesystem::remove_all(store, ignored);
  });
  for (const WeightDtype dtype : {WeightDtype::kFloat16, WeightDtype::kFloat32}) {
    ASSIGN_OR_RETURN(const ModelBundle bundle,
                     WriteBenchModel(store, BenchManifest(/*base_size=*/true), kWords, dtype));
    for (const std::string& precision : BenchPrecisions()) {
      RETURN_IF_ERROR(TellApart(bundle.directory, precision));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return 1;
  }
  sightline::ComputePool::SingleThreadedLibraries();
  const absl::Status status = argc == 3 ? sightline::Tell(argv[1], argv[2]) : sightline::TellAll();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
