// What stack_check compares: passes of made-up rows through made-up blocks, and who computes them.
#ifndef SIGHTLINE_DEPLOY_GPU_STACK_SUBJECTS_H_
#define SIGHTLINE_DEPLOY_GPU_STACK_SUBJECTS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/device_stack.h"

namespace sightline::kernels {

// Weights of one block, the same for every block; those of products deviate so far from zero, of
// trained models about 0.02.
class MadeUpBlock {
 public:
  MadeUpBlock(const StackShape& shape, float deviation);
  const BlockWeights& weights() const { return weights_; }

 private:
  const float* Numbers(int64_t count, float mean, float deviation);
  LinearWeights Linear(int64_t outputs, int64_t inputs);
  NormWeights Norm(int64_t size);

  const float deviation_;
  std::mt19937 random_{1};
  std::deque<std::vector<float>> numbers_;
  BlockWeights weights_;
};

// Rows of sequences of these lengths, and, if it has one, a bias of each row as a key.
struct Pass {
  Pass(std::vector<int64_t> lengths, int64_t columns, bool has_bias);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  std::vector<int64_t> lengths;
  std::vector<float> rows, bias;
  RowPart part;
  Sequences sequences;
};

// What is read of the last layer, as the CPU computes it in the precision of `stack`.
std::vector<float> OfCpu(const BlockStack& stack, const Pass& pass, int64_t columns,
                         StackReadout readout, ComputePool* pool);

// Whoever computes passes in one precision.
struct Subject {
  const char* precision;
  double allowed;  // off what the CPU makes of it in float32
  int64_t bytes;   // of weights
  // Writes what is read of the last layer.  Whether it went as it was recorded, where that can be.
  std::function<bool(const Pass&, StackReadout, std::vector<float>*)> run;
};

// Of `layers` times the same block.  The CPU in each precision that it has a kernel for.
std::vector<Subject> SubjectsOnCpu(const StackShape& shape, const BlockWeights& weights, int layers,
                                   ComputePool* pool);

// Ends the program with 3 where the device cannot be used.
std::vector<Subject> SubjectsOn(const StackDevices& devices, int device, const StackShape& shape,
                                const BlockWeights& weights, int layers);

double RootMeanSquare(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_DEPLOY_GPU_STACK_SUBJECTS_H_
