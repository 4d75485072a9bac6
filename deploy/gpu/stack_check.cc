// Whether transformer blocks on a GPU compute what the CPU does, and how fast: of made-up weights
// of BERT's base size.  And, untimed, whether smaller ones of other heads do, over sequences of
// several lengths.
//
//   stack_check --device 0 --layers 12 --most_rows 16384 --json stack.json
//
// Ends with 0 if all of it is as close as the precision lets it be, with 1 if not, and with 3 where
// there is no GPU that can be used.  `--device cpu` has the CPU compute it in each precision that
// it has a kernel for, and holds that to its own float32.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
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
#include "common/kernels/block_stack.h"
#include "common/kernels/device_stack.h"
#include "common/kernels/kernel_choice.h"
#include "common/kernels/pass_layout.h"
#include "deploy/gpu/check_output.h"
#include "deploy/gpu/shape_check.h"
#include "deploy/gpu/stack_subjects.h"
#include "nlohmann/json.hpp"

namespace sightline::kernels {
namespace {

constexpr StackShape kBase = {768, 12, 3072, 1e-12f};
// Sequences of a pass, as requests make them.
struct Load {
  const char* what;
  int requests;
  int sequences;
  int length;
  StackReadout readout;

  int64_t rows() const { return int64_t{sequences} * length; }
};
constexpr Load kLoads[] = {
    {"a text of 12 tokens", 1, 1, 12, StackReadout::kMeanRows},
    {"20 pairs of 50 rows", 1, 20, 50, StackReadout::kFirstRows},
    {"100 pairs of 50 rows", 1, 100, 50, StackReadout::kFirstRows},
    {"4 requests of 20 pairs", 4, 80, 50, StackReadout::kFirstRows},
    {"8 requests of 20 pairs", 8, 160, 50, StackReadout::kFirstRows},
    {"16 requests of 20 pairs", 16, 320, 50, StackReadout::kFirstRows},
    {"16 texts of 512 tokens", 16, 16, 512, StackReadout::kAllRows},
};

constexpr int kMostRows = PassLimits().rows;

struct Options {
  int device = 0;  // -1: the CPU
  int layers = 12;
  int rounds = 31;            // of which the median is told
  int most_rows = kMostRows;  // loads of more are left out
  std::string json;

  bool on_cpu() const { return device < 0; }
};

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "stack_check: %s\nusage: stack_check [--device N|cpu] [--layers N] [--rounds N] "
               "[--most_rows N] [--json FILE]\n",
               std::string(problem).c_str());
  std::exit(2);
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const absl::string_view name = argv[i];
    if (name == "--json" && i + 1 < argc) {
      options.json = argv[i + 1];
      continue;
    }
    if (name == "--device" && i + 1 < argc && absl::string_view(argv[i + 1]) == "cpu") {
      options.device = -1;
      continue;
    }
    int* const value = name == "--device"      ? &options.device
                       : name == "--layers"    ? &options.layers
                       : name == "--rounds"    ? &options.rounds
                       : name == "--most_rows" ? &options.most_rows
                                               : nullptr;
    const int most = value == &options.most_rows ? kMostRows : 255;
    if (value == nullptr || i + 1 == argc || !absl::SimpleAtoi(argv[i + 1], value) || *value < 0 ||
        *value > most) {
      Usage(
          absl::StrCat("cannot read '", name, "'; it is one of these, and a number up to ", most));
    }
  }
  if (options.layers == 0) Usage("--layers is 1 at least");
  // The first of each place that a pass may have on a device is not recorded yet.
  if (options.rounds <= kPassPlaces) {
    Usage(absl::StrCat("--rounds is ", options.rounds, "; from ", kPassPlaces + 1,
                       " on passes are as they were recorded"));
  }
  if (options.most_rows < kLoads[0].rows()) {
    Usage(absl::StrCat("--most_rows is ", options.most_rows, "; the smallest load has ",
                       kLoads[0].rows(), " rows"));
  }
  return options;
}

Pass PassOf(const Load& load) {
  return Pass(std::vector<int64_t>(load.sequences, load.length), kBase.hidden_size,
              /*has_bias=*/false);
}

// Of products alone; of the last layer's as if all rows were read.
double OperationsOf(const Load& load, int layers) {
  const auto h = static_cast<double>(kBase.hidden_size);
  const auto f = static_cast<double>(kBase.intermediate_size);
  const auto rows = static_cast<double>(load.rows());
  return layers * rows * (2 * (4 * h * h + 2 * h * f) + 4 * h * load.length);
}

// The first passes are launched, the others are as these were recorded: with the same bits.
nlohmann::json Check(const Subject& subject, const Pass& pass, const Load& load,
                     const Options& options, const std::vector<float>& expected) {
  std::vector<float> found(expected.size()), again(expected.size());
  bool same = true, recorded = false;
  const double median = MedianSeconds(options.rounds, [&](int round) {
    recorded = subject.run(pass, load.readout, round == 0 ? &found : &again);
    same = same && (round == 0 || found == again);
  });
  const double off = RootMeanSquare(found, expected);
  const double operations = OperationsOf(load, options.layers);
  const bool close = off <= subject.allowed;
  std::printf("  %-24s  %8.3f ms  %8.0f requests a second  %7.1f TFLOP/s  off by %.2g  %s\n",
              load.what, median * 1e3, load.requests / median, operations / median / 1e12, off,
              close ? "close" : "TOO FAR FROM THE CPU");
  std::string wrong = close ? "" : "too far from the CPU";
  if (!recorded) wrong = "not recorded";
  if (!same) wrong = "other bits when it was recorded";
  if (!recorded || !same) std::printf("  WRONG: %s\n", wrong.c_str());
  return {{"load", load.what},
          {"precision", subject.precision},
          {"requests", load.requests},
          {"sequences", load.sequences},
          {"length", load.length},
          {"readout", NameOf(load.readout)},
          {"seconds", median},
          {"operations", operations},
          {"off_by", off},
          {"allowed", subject.allowed},
          {"wrong", std::move(wrong)}};
}

int Run(const Options& options) {
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const MadeUpBlock block(kBase, 0.02f);
  BlockStack cpu(*KernelFor("float32", ThisCpu()), kBase);
  for (int i = 0; i < options.layers; ++i) cpu.Add(block.weights());
  std::string name = "the CPU";
  std::shared_ptr<const StackDevices> devices;
  device::Ceilings ceilings;
  std::vector<Subject> subjects;
  if (options.on_cpu()) {
    subjects = SubjectsOnCpu(kBase, block.weights(), options.layers, &pool);
  } else {
    devices = ValueOrDie(CudaStackDevices(), 3);
    name = ValueOrDie(devices->Describe(options.device), 3).name;
    ceilings = ValueOrDie(device::MeasureCudaCeilings(options.device), 3);
    subjects = SubjectsOn(*devices, options.device, kBase, block.weights(), options.layers);
  }
  std::printf("%s, %d layers of 768, 12 heads, 3072\n", name.c_str(), options.layers);
  nlohmann::json json = {{"program", "stack_check"},
                         {"device", name},
                         {"layers", options.layers},
                         {"rounds", options.rounds},
                         {"shape",
                          {{"hidden_size", kBase.hidden_size},
                           {"heads", kBase.head_count},
                           {"intermediate_size", kBase.intermediate_size}}},
                         {"ceilings", TellCeilings(ceilings)}};
  std::vector<Load> loads;
  std::copy_if(std::begin(kLoads), std::end(kLoads), std::back_inserter(loads),
               [&](const Load& load) { return load.rows() <= options.most_rows; });
  std::vector<std::vector<float>> expected;
  for (const Load& load : loads) {
    expected.push_back(OfCpu(cpu, PassOf(load), kBase.hidden_size, load.readout, &pool));
  }
  bool good = true;
  for (const Subject& subject : subjects) {
    std::printf("%s, %.0f MB%s\n", subject.precision, static_cast<double>(subject.bytes) / 1e6,
                options.on_cpu() ? "" : " of the device");
    for (size_t i = 0; i < loads.size(); ++i) {
      nlohmann::json checked = Check(subject, PassOf(loads[i]), loads[i], options, expected[i]);
      good = good && checked["wrong"] == "";
      json["passes"].push_back(std::move(checked));
    }
  }
  good = CheckShapes(devices.get(), options.device, &pool, &json["shapes"]) && good;
  if (!WriteJson(options.json, json)) return 1;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sightline::kernels

int main(int argc, char** argv) {
  sightline::ShowEachLine();
  using sightline::kernels::ReadOptions;
  return sightline::kernels::Run(ReadOptions(argc, argv));
}
