#include "deploy/gpu/stack_subjects.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/dtype.h"
#include "common/kernels/kernel_choice.h"
#include "common/kernels/pool_team.h"
#include "deploy/gpu/check_output.h"

namespace sightline::kernels {
namespace {

void MustBe(const absl::Status& status) {
  if (!status.ok()) Die(status, 1);
}

// Of numbers around 1, after so many layers.
double AllowedOf(const char* precision, int layers) {
  return (std::string(precision) == "float32" ? 2e-6 : 6e-3) * layers;
}

std::vector<float> MeansOf(const std::vector<float>& rows, const std::vector<int64_t>& lengths,
                           int64_t columns) {
  std::vector<float> means(lengths.size() * columns, 0);
  const float* row = rows.data();
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t j = 0; j < lengths[i]; ++j, row += columns) {
      for (int64_t k = 0; k < columns; ++k) {
        means[i * columns + k] += row[k] / static_cast<float>(lengths[i]);
      }
    }
  }
  return means;
}

}  // namespace

MadeUpBlock::MadeUpBlock(const StackShape& shape, float deviation) : deviation_(deviation) {
  const int64_t h = shape.hidden_size, f = shape.intermediate_size;
  weights_ = {Linear(h, h), Linear(h, h), Linear(h, h), Linear(h, h),
              Norm(h),      Linear(f, h), Linear(h, f), Norm(h)};
}

const float* MadeUpBlock::Numbers(int64_t count, float mean, float deviation) {
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float>& numbers = numbers_.emplace_back(count);
  for (float& number : numbers) number = normal(random_);
  return numbers.data();
}

LinearWeights MadeUpBlock::Linear(int64_t outputs, int64_t inputs) {
  return {Numbers(outputs * inputs, 0, deviation_), Numbers(outputs, 0, deviation_), outputs,
          inputs};
}

NormWeights MadeUpBlock::Norm(int64_t size) {
  return {Numbers(size, 1, 0.1f), Numbers(size, 0, 0.1f)};
}

Pass::Pass(std::vector<int64_t> lengths_of, int64_t columns, bool has_bias)
    : lengths(std::move(lengths_of)) {
  const int64_t count = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  rows.resize(count * columns);
  for (float& number : rows) number = normal(random);
  if (has_bias) bias.resize(count);
  for (float& number : bias) number = 2 * normal(random);
  part = {rows.data(), Dtype::kFloat32, nullptr, count};
  sequences = {&part, 1, has_bias ? bias.data() : nullptr, lengths.data(),
               static_cast<int64_t>(lengths.size())};
}

std::vector<float> OfCpu(const BlockStack& stack, const Pass& pass, int64_t columns,
                         StackReadout readout, ComputePool* pool) {
  const bool first_only = readout == StackReadout::kFirstRows;
  std::vector<float> out((first_only ? pass.sequences.count : pass.part.rows) * columns);
  RunWithTeam(pool, [&](Team* team) { stack.Run(pass.sequences, first_only, team, out.data()); });
  return readout == StackReadout::kMeanRows ? MeansOf(out, pass.lengths, columns) : out;
}

std::vector<Subject> SubjectsOnCpu(const StackShape& shape, const BlockWeights& weights, int layers,
                                   ComputePool* pool) {
  std::vector<Subject> subjects;
  for (const char* precision : kStackPrecisions) {
    const ProductKernel* const kernel = KernelFor(precision, ThisCpu());
    if (kernel == nullptr) continue;
    const auto stack = std::make_shared<BlockStack>(*kernel, shape);
    for (int i = 0; i < layers; ++i) stack->Add(weights);
    const auto run = [stack, pool, columns = shape.hidden_size](
                         const Pass& pass, StackReadout readout, std::vector<float>* out) {
      *out = OfCpu(*stack, pass, columns, readout, pool);
      return true;
    };
    subjects.push_back({precision, AllowedOf(precision, layers), stack->bytes(), run});
  }
  return subjects;
}

std::vector<Subject> SubjectsOn(const StackDevices& devices, int device, const StackShape& shape,
                                const BlockWeights& weights, int layers) {
  std::vector<Subject> subjects;
  for (const char* precision : kStackPrecisions) {
    DeviceStackOptions of;
    of.shape = shape;
    of.block_count = layers;
    of.precision = precision;
    const std::shared_ptr<DeviceStack> stack = ValueOrDie(devices.New(of, device), 3);
    for (int i = 0; i < layers; ++i) MustBe(stack->Add(weights));
    const auto run = [stack](const Pass& pass, StackReadout readout, std::vector<float>* out) {
      PassStats stats;
      MustBe(stack->Run(pass.sequences, readout, out->data(), &stats));
      return stats.was_recorded;
    };
    subjects.push_back({precision, AllowedOf(precision, layers), stack->byte_count(), run});
  }
  return subjects;
}

double RootMeanSquare(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - b[i], 2);
  return std::sqrt(squares / static_cast<double>(a.size()));
}

}  // namespace sightline::kernels
