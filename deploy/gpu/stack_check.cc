// Whether transformer blocks on a GPU compute what the CPU does, and how fast: of made-up weights
// of BERT's base size.
//
//   stack_check --device 0 --layers 12 --json models.json
//
// Ends with 0 if all of it is as close as the precision lets it be, with 1 if not, and with 3 where
// there is no GPU that can be used.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
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
#include "common/kernels/pool_team.h"
#include "deploy/gpu/check_output.h"
#include "nlohmann/json.hpp"

namespace sightline::kernels {
namespace {

constexpr StackShape kBase = {768, 12, 3072, 1e-12f};
// Of which the median is told.
constexpr int kRounds = 31;

// Sequences of a pass, as requests make them.
struct Load {
  const char* what;
  int sequences;
  int length;
  StackReadout readout;
};
constexpr Load kLoads[] = {
    {"a text of 12 tokens", 1, 12, StackReadout::kMeanRows},
    {"20 pairs of 50 rows", 20, 50, StackReadout::kFirstRows},
    {"100 pairs of 50 rows", 100, 50, StackReadout::kFirstRows},
    {"160 pairs of 50 rows", 160, 50, StackReadout::kFirstRows},
    {"16 texts of 512 tokens", 16, 512, StackReadout::kAllRows},
};

struct Options {
  int device = 0;
  int layers = 12;
  std::string json;
};

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "stack_check: %s\nusage: stack_check [--device N] [--layers N] [--json FILE]\n",
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
    int* const value = name == "--device"   ? &options.device
                       : name == "--layers" ? &options.layers
                                            : nullptr;
    if (value == nullptr || i + 1 == argc || !absl::SimpleAtoi(argv[i + 1], value) || *value < 0 ||
        *value > 255) {
      Usage(absl::StrCat("cannot read '", name,
                         "'; it is one of these, and a value, of numbers up to 255"));
    }
  }
  if (options.layers == 0) Usage("--layers is 1 at least");
  return options;
}

// Weights of one block, as trained ones are distributed; the same for every block.
class MadeUpBlock {
 public:
  MadeUpBlock() {
    const int64_t h = kBase.hidden_size, f = kBase.intermediate_size;
    weights_ = {Linear(h, h), Linear(h, h), Linear(h, h), Linear(h, h),
                Norm(),       Linear(f, h), Linear(h, f), Norm()};
  }
  const BlockWeights& weights() const { return weights_; }

 private:
  const float* Numbers(int64_t count, float mean, float deviation) {
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float>& numbers = numbers_.emplace_back(count);
    for (float& number : numbers) number = normal(random_);
    return numbers.data();
  }
  LinearWeights Linear(int64_t outputs, int64_t inputs) {
    return {Numbers(outputs * inputs, 0, 0.02f), Numbers(outputs, 0, 0.02f), outputs, inputs};
  }
  NormWeights Norm() {
    return {Numbers(kBase.hidden_size, 1, 0.1f), Numbers(kBase.hidden_size, 0, 0.1f)};
  }

  std::mt19937 random_{1};
  std::deque<std::vector<float>> numbers_;
  BlockWeights weights_;
};

// The rows of a load.
struct Pass {
  explicit Pass(const Load& load)
      : lengths(load.sequences, load.length),
        rows(int64_t{load.sequences} * load.length * kBase.hidden_size) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& number : rows) number = normal(random);
    part = {rows.data(), Dtype::kFloat32, nullptr, int64_t{load.sequences} * load.length};
    sequences = {&part, 1, nullptr, lengths.data(), load.sequences};
  }

  std::vector<int64_t> lengths;
  std::vector<float> rows;
  RowPart part;
  Sequences sequences;
};

template <typename T>
T ValueOrDie(absl::StatusOr<T> value, int exit_status) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "stack_check: %s\n", value.status().ToString().c_str());
  std::exit(exit_status);
}

void MustBe(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "stack_check: %s\n", status.ToString().c_str());
  std::exit(1);
}

// What the CPU makes of it in float32.
std::vector<float> Expected(const BlockStack& cpu, const Pass& pass, const Load& load,
                            ComputePool* pool) {
  const int64_t hidden = kBase.hidden_size;
  const bool first_only = load.readout == StackReadout::kFirstRows;
  std::vector<float> out((first_only ? load.sequences : pass.part.rows) * hidden);
  RunWithTeam(pool, [&](Team* team) { cpu.Run(pass.sequences, first_only, team, out.data()); });
  if (load.readout != StackReadout::kMeanRows) return out;
  std::vector<float> means(load.sequences * hidden, 0);
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    means[i / (load.length * hidden) * hidden + i % hidden] += out[i] / load.length;
  }
  return means;
}

double RootMeanSquare(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(squares / static_cast<double>(a.size()));
}

// Of products alone; of the last layer's as if all rows were read.
double OperationsOf(const Load& load, int layers) {
  const auto h = static_cast<double>(kBase.hidden_size);
  const auto f = static_cast<double>(kBase.intermediate_size);
  const double rows = double(load.sequences) * load.length;
  return layers * rows * (2 * (4 * h * h + 2 * h * f) + 4 * h * load.length);
}

// The first pass is launched, the others are as it was recorded: with the same bits.
nlohmann::json Check(DeviceStack* stack, const Pass& pass, const Load& load, int layers,
                     const std::vector<float>& expected, double allowed) {
  std::vector<float> found(expected.size()), again(expected.size());
  bool same = true, recorded = false;
  const double median = MedianSeconds(kRounds, [&](int round) {
    PassStats stats;
    MustBe(
        stack->Run(pass.sequences, load.readout, round == 0 ? found.data() : again.data(), &stats));
    same = same && (round == 0 || found == again);
    recorded = stats.was_recorded;
  });
  const double off = RootMeanSquare(found, expected);
  const double operations = OperationsOf(load, layers);
  std::printf("  %-24s  %8.3f ms  %7.1f TFLOP/s  off by %.2g  %s\n", load.what, median * 1e3,
              operations / median / 1e12, off, off <= allowed ? "close" : "TOO FAR FROM THE CPU");
  std::string wrong = off <= allowed ? "" : "too far from the CPU";
  if (!recorded) wrong = "not recorded";
  if (!same) wrong = "other bits when it was recorded";
  if (!recorded || !same) std::printf("  WRONG: %s\n", wrong.c_str());
  return {{"load", load.what}, {"seconds", median},  {"operations", operations},
          {"off_by", off},     {"allowed", allowed}, {"wrong", wrong}};
}

int Run(const Options& options) {
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const MadeUpBlock block;
  BlockStack cpu(*KernelFor("float32", ThisCpu()), kBase);
  for (int i = 0; i < options.layers; ++i) cpu.Add(block.weights());
  const auto devices = ValueOrDie(CudaStackDevices(), 3);
  const std::string name = ValueOrDie(devices->Describe(options.device), 3).name;
  std::printf("%s, %d layers of 768, 12 heads, 3072\n", name.c_str(), options.layers);
  nlohmann::json json = {
      {"program", "stack_check"},
      {"device", name},
      {"layers", options.layers},
      {"ceilings", TellCeilings(ValueOrDie(device::MeasureCudaCeilings(options.device), 3))}};
  bool good = true;
  for (const char* precision : kStackPrecisions) {
    DeviceStackOptions of;
    of.shape = kBase;
    of.block_count = options.layers;
    of.precision = precision;
    const auto stack = ValueOrDie(devices->New(of, options.device), 3);
    for (int i = 0; i < options.layers; ++i) MustBe(stack->Add(block.weights()));
    std::printf("%s, %.0f MB of the device\n", precision,
                static_cast<double>(stack->byte_count()) / 1e6);
    // Of numbers around 1, after so many layers.
    const double allowed = (std::string(precision) == "float32" ? 2e-6 : 6e-3) * options.layers;
    for (const Load& load : kLoads) {
      const Pass pass(load);
      nlohmann::json checked =
          Check(stack.get(), pass, load, options.layers, Expected(cpu, pass, load, &pool), allowed);
      checked["precision"] = precision;
      good = good && checked["wrong"] == "";
      json["passes"].push_back(std::move(checked));
    }
  }
  if (!WriteJson(options.json, json)) return 1;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sightline::kernels

int main(int argc, char** argv) {
  using sightline::kernels::ReadOptions;
  return sightline::kernels::Run(ReadOptions(argc, argv));
}
