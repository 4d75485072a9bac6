// What a family learns in three optimiser steps, held to what plain PyTorch computed
// (tests/testdata/goldens/training_steps.py).
#ifndef SIGHTLINE_TESTS_PARITY_GOLDEN_TRAINING_H_
#define SIGHTLINE_TESTS_PARITY_GOLDEN_TRAINING_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// The whole program: on a device of LibTorch, "cpu" or "cuda:1", the folder's model, or that of the
// folder beside it that training.json names, with its manifest changed as that says, takes the
// steps of training.json, by its objective, decay, clipping and schedule.  Losses, norms, gradients
// of the named tensors, what the steps changed of them and running statistics are compared; `out`
// has a line for each that differs and ends with `max_relative_error: X over N of training's
// numbers`. 0 if X is at most 1e-3; 1 if not, or something expected is missing; 2 if the folder
// cannot be read or the device is not here.
int CheckGoldenTraining(absl::string_view directory, const std::string& device, std::ostream& out);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_PARITY_GOLDEN_TRAINING_H_
