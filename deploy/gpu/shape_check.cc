#include "deploy/gpu/shape_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/kernels/kernel_choice.h"
#include "common/kernels/pass_layout.h"
#include "deploy/gpu/stack_subjects.h"

namespace sightline::kernels {
namespace {

constexpr int kLayers = 2;
// Heads of 32, 64, 80 and 128: kernels are made for three sizes, and 80 fills none.
constexpr StackShape kShapes[] = {
    {256, 8, 512, 1e-12f}, {256, 4, 512, 1e-12f}, {320, 4, 640, 1e-12f}, {256, 2, 512, 1e-12f}};
// About a tile's queries and keys, and far from them; a sequence of one row sees itself alone.
constexpr int64_t kLengths[] = {1, 3, 70, 64, 17, 140};
constexpr StackReadout kReadouts[] = {StackReadout::kAllRows, StackReadout::kFirstRows,
                                      StackReadout::kMeanRows};

// The first passes are launched, one more than there are places goes as it was recorded.
nlohmann::json CheckPass(const Subject& subject, const Pass& pass, StackReadout readout,
                         const std::vector<float>& expected) {
  std::vector<float> found(expected.size()), again(expected.size());
  bool same = true, recorded = false;
  for (int i = 0; i <= kPassPlaces; ++i) {
    recorded = subject.run(pass, readout, i == 0 ? &found : &again);
    same = same && (i == 0 || found == again);
  }
  const double off = RootMeanSquare(found, expected);
  std::string wrong;
  if (!(off <= subject.allowed)) wrong = "too far from the CPU";
  if (!recorded) wrong = "not recorded";
  if (!same) wrong = "other bits when it was recorded";
  return {{"precision", subject.precision}, {"has_bias", pass.sequences.key_bias != nullptr},
          {"readout", NameOf(readout)},     {"off_by", off},
          {"allowed", subject.allowed},     {"wrong", wrong}};
}

}  // namespace

const char* NameOf(StackReadout readout) {
  switch (readout) {
    case StackReadout::kAllRows:
      return "all";
    case StackReadout::kFirstRows:
      return "first";
    case StackReadout::kMeanRows:
      return "mean";
  }
  return "";
}

bool CheckShape(const StackShape& shape, const std::vector<int64_t>& lengths,
                const StackDevices* devices, int device, ComputePool* pool,
                nlohmann::json* shapes) {
  const int64_t columns = shape.hidden_size;
  const auto head = static_cast<int>(columns / shape.head_count);
  // So large that what a row sees of others is seen in the sums.
  const MadeUpBlock block(shape, 1 / std::sqrt(static_cast<float>(columns)));
  BlockStack cpu(*KernelFor("float32", ThisCpu()), shape);
  for (int i = 0; i < kLayers; ++i) cpu.Add(block.weights());
  const std::vector<Subject> subjects =
      devices == nullptr ? SubjectsOnCpu(shape, block.weights(), kLayers, pool)
                         : SubjectsOn(*devices, device, shape, block.weights(), kLayers);
  bool good = true;
  for (const Subject& subject : subjects) {
    double most = 0;
    for (const bool has_bias : {false, true}) {
      const Pass pass(lengths, columns, has_bias);
      for (const StackReadout readout : kReadouts) {
        nlohmann::json checked =
            CheckPass(subject, pass, readout, OfCpu(cpu, pass, columns, readout, pool));
        const std::string wrong = checked["wrong"];
        if (!wrong.empty()) {
          std::printf("  WRONG: heads of %d, %s, %s rows%s: %s\n", head, subject.precision,
                      NameOf(readout), has_bias ? ", with a bias" : "", wrong.c_str());
        }
        most = std::max(most, checked["off_by"].get<double>());
        good = good && wrong.empty();
        checked["head"] = head;
        shapes->push_back(std::move(checked));
      }
    }
    std::printf("heads of %3d, %-8s, sequences of %d lengths: off by at most %.2g of %.2g\n", head,
                subject.precision, static_cast<int>(lengths.size()), most, subject.allowed);
  }
  return good;
}

bool CheckShapes(const StackDevices* devices, int device, ComputePool* pool,
                 nlohmann::json* shapes) {
  bool good = true;
  for (const StackShape& shape : kShapes) {
    good = CheckShape(shape, {std::begin(kLengths), std::end(kLengths)}, devices, device, pool,
                      shapes) &&
           good;
  }
  return good;
}

}  // namespace sightline::kernels
