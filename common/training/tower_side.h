// One side of a batch that two towers read: its embeddings, and the way back of their gradients, in
// passes and of all processes.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_TOWER_SIDE_H_
#define SIGHTLINE_COMMON_TRAINING_TOWER_SIDE_H_

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/models/network/row_dropout.h"
#include "common/training/passes.h"
#include "common/training/world.h"

namespace sightline {

// Texts or images of a batch, and their embeddings.  Not thread-safe.
class TowerSide {
 public:
  using Encode = std::function<at::Tensor(const std::vector<int64_t>& items)>;

  // Items of so many rows each.  `encode` is asked for the embeddings of some of them, N x D, once
  // or twice for each; what is dropped of them comes from `seed` and their keys.
  TowerSide(const std::vector<int64_t>& lengths, int64_t pass_rows, uint64_t seed,
            std::vector<uint64_t> keys, Encode encode)
      : passes_(PassesOf(lengths, pass_rows)),
        places_(lengths.size()),
        seed_(seed),
        keys_(std::move(keys)),
        encode_(std::move(encode)) {
    int64_t next = 0;
    for (const std::vector<int64_t>& pass : passes_) {
      for (const int64_t item : pass) places_[item] = next++;
    }
  }

  // Embeds this process's items, and tells the others nothing.  Errors as the call's.
  absl::Status Embed(const CallContext& call) {
    if (places_.empty()) {
      own_ = at::empty({0, 0});
    } else if (passes_.size() == 1) {
      own_ = one_pass_ = InOrder(EncodePass(0));
    } else {
      ASSIGN_OR_RETURN(own_, InPasses(call));
    }
    return absl::OkStatus();
  }

  // All processes' embeddings, in the items' order: with gradients if they are of one pass of this
  // one, else a leaf.  REQUIRES: Embed has succeeded in each.
  absl::StatusOr<at::Tensor> Rows(TrainingWorld* world) {
    if (IsAlone(world) && one_pass_.defined()) return one_pass_;
    at::Tensor rows = own_;
    if (!IsAlone(world)) {
      ASSIGN_OR_RETURN(const GatheredRows all, world->GatherRows(own_));
      rows = all.rows;
      begin_ = all.begin;
    }
    leaf_ = rows.detach().set_requires_grad(true);
    return leaf_;
  }

  // Hands on what the leaf's gradient says of this process's items.  Errors as the call's.
  absl::Status Backward(const CallContext& call) {
    if (places_.empty() || !leaf_.defined() || !leaf_.grad().defined()) return absl::OkStatus();
    const at::Tensor own = leaf_.grad().narrow(0, begin_, static_cast<int64_t>(places_.size()));
    if (one_pass_.defined()) {
      one_pass_.backward(own);
      return absl::OkStatus();
    }
    for (size_t i = 0; i < passes_.size(); ++i) {
      RETURN_IF_ERROR(call.Check("train"));
      const at::Tensor items = at::tensor(passes_[i], at::kLong).to(own.device());
      EncodePass(i).backward(own.index_select(0, items));
    }
    return absl::OkStatus();
  }

 private:
  at::Tensor EncodePass(size_t i) {
    std::vector<uint64_t> keys;
    for (const int64_t item : passes_[i]) keys.push_back(keys_[item]);
    const DropoutScope scope(seed_, std::move(keys));
    return encode_(passes_[i]);
  }

  absl::StatusOr<at::Tensor> InPasses(const CallContext& call) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < passes_.size(); ++i) {
      RETURN_IF_ERROR(call.Check("train"));
      parts.push_back(EncodePass(i));
    }
    return InOrder(at::cat(parts));
  }

  at::Tensor InOrder(const at::Tensor& rows) const {
    return rows.index_select(0, at::tensor(places_, at::kLong).to(rows.device()));
  }

  const std::vector<std::vector<int64_t>> passes_;
  std::vector<int64_t> places_;  // of each item, in what the passes give one after another
  const uint64_t seed_;
  const std::vector<uint64_t> keys_;
  const Encode encode_;
  at::Tensor own_;       // of this process
  at::Tensor one_pass_;  // the same with its graph
  at::Tensor leaf_;
  int64_t begin_ = 0;  // of this process's items in it
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TOWER_SIDE_H_
