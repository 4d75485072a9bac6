// Whether a GPU finds what the CPU finds, and how fast: of made-up rows of float16.
//
//   device_check --rows 1000000 --dimension 768 --top_k 20 --device 0 --ivf_rows 200000
//       --json search.json
//   device_check --rows 10000000 --dimension 512 --referee brute_force --ivf_rows 0
//
// An inverted file is built over the first `ivf_rows` of them, none if that is 0.  Ends with 0 if
// each list has the CPU's rows, order and bits, or what a brute force finds; with 1 if one has not,
// and says which; with 3 where there is no GPU that can be used.  `--device cpu` holds the CPU's
// own search to a brute force.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/compute_pool.h"
#include "common/device/ceilings.h"
#include "common/index/device_form.h"
#include "common/index/device_layout.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"
#include "deploy/gpu/brute_force.h"
#include "deploy/gpu/check_output.h"
#include "deploy/gpu/check_tools.h"
#include "deploy/gpu/ivf_check.h"
#include "deploy/gpu/made_up_rows.h"
#include "nlohmann/json.hpp"

namespace sightline {
namespace {

struct Options {
  int64_t rows = 1000000;
  int dimension = 768;
  int top_k = 20;
  int device = 0;  // -1: the CPU
  bool brute_force = false;
  int64_t ivf_rows = 200000;
  std::string json;

  bool on_cpu() const { return device < 0; }
};

// Queries of a batch, from the first on, that a brute force answers too.
constexpr int kBruteForceQueries = 16;

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "device_check: %s\nusage: device_check [--rows N] [--dimension N] [--top_k N] "
               "[--device N|cpu] [--referee cpu|brute_force] [--ivf_rows N] [--json FILE]\n",
               std::string(problem).c_str());
  std::exit(2);
}

template <typename T>
void Read(absl::string_view name, absl::string_view text, T most, T* value) {
  if (!absl::SimpleAtoi(text, value) || *value < 0 || *value > most) {
    Usage(absl::StrCat(name, " is '", text, "'; it is a number from 0 to ", most));
  }
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const absl::string_view name = argv[i];
    if (i + 1 == argc) Usage(absl::StrCat(name, " needs a value"));
    if (name == "--rows") {
      Read<int64_t>(name, argv[i + 1], 1000000000, &options.rows);
    } else if (name == "--dimension") {
      Read(name, argv[i + 1], 4096, &options.dimension);
    } else if (name == "--top_k") {
      Read(name, argv[i + 1], 1000, &options.top_k);
    } else if (name == "--device" && absl::string_view(argv[i + 1]) == "cpu") {
      options.device = -1;
    } else if (name == "--device") {
      Read(name, argv[i + 1], 255, &options.device);
    } else if (name == "--referee") {
      const absl::string_view referee = argv[i + 1];
      if (referee != "cpu" && referee != "brute_force") {
        Usage(absl::StrCat("--referee is '", referee, "'; it is cpu or brute_force"));
      }
      options.brute_force = referee == "brute_force";
    } else if (name == "--ivf_rows") {
      Read<int64_t>(name, argv[i + 1], 10000000, &options.ivf_rows);
    } else if (name == "--json") {
      options.json = argv[i + 1];
    } else {
      Usage(absl::StrCat("unknown argument '", name, "'"));
    }
  }
  if (options.rows == 0 || options.dimension == 0 || options.top_k == 0) {
    Usage("--rows, --dimension and --top_k are 1 at least");
  }
  if (options.on_cpu() && !options.brute_force) {
    Usage("the CPU is no referee of itself; name --referee brute_force");
  }
  return options;
}

SearchOptions TopOf(int top_k) {
  SearchOptions options;
  options.top_k = top_k;
  return options;
}

// What is searched, and where it lies.
struct Subject {
  std::unique_ptr<VectorIndex> index;
  double bytes = 0;
  device::Ceilings ceilings;
};

// Of the fastest of some copies by all threads.
double CopiedBytesPerSecond(ComputePool* pool) {
  constexpr int64_t kBytes = int64_t{256} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  double fastest = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pool->ParallelFor(kBytes, 1 << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, end - begin);
    });
    fastest = std::min(fastest, Seconds(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * kBytes / fastest;
}

Subject OpenOnCpu(const VectorView& rows, ComputePool* pool) {
  return {ValueOrDie(OpenFlatIndex(rows, pool), 1),
          static_cast<double>(rows.rows) * rows.dimension * sizeof(uint16_t),
          {CopiedBytesPerSecond(pool), 0}};
}

Subject OpenOnDevice(const VectorView& rows, int device, ComputePool* pool) {
  const auto devices = ValueOrDie(CudaScanDevices(), 3);
  Subject subject;
  subject.ceilings = ValueOrDie(device::MeasureCudaCeilings(device), 3);
  const auto start = std::chrono::steady_clock::now();
  auto scan = ValueOrDie(devices->Load(rows, /*order=*/{}, device, CallContext::Unbounded()), 3);
  // Of one reading of the rows, as they lie there.
  subject.bytes =
      static_cast<double>(rows.rows) * DeviceLayout(rows.dimension).numbers * sizeof(uint16_t);
  std::printf("loaded in %.2f s\n", Seconds(std::chrono::steady_clock::now() - start).count());
  subject.index = ValueOrDie(OpenDeviceFlatIndex(rows, std::move(scan), pool), 1);
  return subject;
}

// "" if the first of `found` are as they should be; else which is not, and why.
std::string Wrong(const std::vector<PlainList>& expected, const Lists& found, int top_k) {
  for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    const std::string difference = DifferenceFrom(expected[i], found[i], top_k);
    if (!difference.empty()) return absl::StrCat("query ", i, ": ", difference);
  }
  return "";
}

std::string Wrong(const VectorIndex& cpu, const EmbeddingMatrix& queries, const Lists& found,
                  int top_k) {
  const int first = FirstDifference(found, Search(cpu, queries, TopOf(top_k)));
  return first < 0 ? "" : absl::StrCat("query ", first, " is the first");
}

int Run(const Options& options) {
  // Before rows are made, which takes a while.
  const std::string name =
      options.on_cpu()
          ? "the CPU"
          : ValueOrDie(ValueOrDie(CudaScanDevices(), 3)->Describe(options.device), 3).name;
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::vector<uint16_t> numbers = MadeUpRows(options.rows, options.dimension, &pool);
  const VectorView rows = {numbers.data(), options.rows, options.dimension, options.dimension,
                           Dtype::kFloat16};
  const Subject subject =
      options.on_cpu() ? OpenOnCpu(rows, &pool) : OpenOnDevice(rows, options.device, &pool);
  std::printf("%lld rows of %d, top %d; %.2f GB on %s\n", static_cast<long long>(options.rows),
              options.dimension, options.top_k, subject.bytes / 1e9, name.c_str());
  nlohmann::json json = {{"program", "device_check"},
                         {"device", name},
                         {"rows", options.rows},
                         {"dimension", options.dimension},
                         {"top_k", options.top_k},
                         {"bytes", subject.bytes},
                         {"referee", options.brute_force ? "brute_force" : "cpu"},
                         {"ceilings", TellCeilings(subject.ceilings)}};
  std::unique_ptr<VectorIndex> cpu;
  std::vector<PlainList> expected;
  if (options.brute_force) {
    expected = BruteForce(rows, MadeUpQueries(kBruteForceQueries, options.dimension), options.top_k,
                          &pool);
  } else {
    cpu = ValueOrDie(OpenFlatIndex(rows, &pool), 1);
  }
  bool good = true;
  for (const int batch : kBatches) {
    const EmbeddingMatrix queries = MadeUpQueries(batch, options.dimension);
    const Lists found = Search(*subject.index, queries, TopOf(options.top_k));
    const std::string wrong = cpu == nullptr ? Wrong(expected, found, options.top_k)
                                             : Wrong(*cpu, queries, found, options.top_k);
    const double seconds = MedianSeconds(
        kRounds, [&](int /*round*/) { Search(*subject.index, queries, TopOf(options.top_k)); });
    std::printf("batch %3d  %9.3f ms  %10.0f queries a second  %6.0f GB/s of one reading  %s\n",
                batch, seconds * 1e3, batch / seconds, subject.bytes / seconds / 1e9,
                !wrong.empty()   ? "WRONG"
                : cpu == nullptr ? "as a brute force"
                                 : "as the CPU");
    if (!wrong.empty()) std::printf("  %s\n", wrong.c_str());
    good = good && wrong.empty();
    json["searches"].push_back(
        {{"batch", batch},
         {"seconds", seconds},
         {"bytes", subject.bytes},
         {"operations", 2.0 * batch * static_cast<double>(options.rows) * options.dimension},
         {"wrong", wrong}});
  }
  if (options.ivf_rows > 0) {
    VectorView some = rows;
    some.rows = std::min(rows.rows, options.ivf_rows);
    const auto devices = options.on_cpu() ? nullptr : ValueOrDie(CudaScanDevices(), 3);
    good = CheckIvf(some, devices.get(), options.device, options.top_k, &pool, &json["searches"]) &&
           good;
  }
  if (!WriteJson(options.json, json)) return 1;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  sightline::ShowEachLine();
  return sightline::Run(sightline::ReadOptions(argc, argv));
}
