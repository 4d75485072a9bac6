// Blocks as they are learnt: with gradients and, in training mode, with dropout.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_TRAINING_EXECUTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_TRAINING_EXECUTOR_H_

#include <memory>

#include "common/models/network/executor.h"

namespace sightline {

// Computes with the weights of `encoder`, which keeps them, where the gate has tensors.  Of what is
// padded only attention computes anything (PaddedRows).  In bfloat16 if `bfloat16`, as
// AutocastScope; results are float32.
std::unique_ptr<const TransformerExecutor> NewTrainingExecutor(BertEncoder encoder,
                                                               const TensorGate& gate,
                                                               bool bfloat16);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_TRAINING_EXECUTOR_H_
