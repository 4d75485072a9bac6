// Dropout whose draws belong to items: what is dropped of an item's rows follows from a step's
// seed, the item's key, the layer, the row's place in the item and the column, and from nothing
// else.  So an item is dropped alike in whichever pass it is computed, beside whichever others, by
// whichever process and on whichever device.
//
//   const DropoutScope scope(seed, keys);  // of the items of the next call, in its order
//   network.EncodeTexts(texts);            // layers that learn find the scope
//
// Includes torch: only .cc files of common/models, common/training and tests, and headers that say
// the same.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_ROW_DROPOUT_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_ROW_DROPOUT_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sightline {

// What is dropped on this thread as long as it lives; a scope within another stands for it.
class DropoutScope {
 public:
  // Item i of whatever is computed has keys[i].
  DropoutScope(uint64_t seed, std::vector<uint64_t> keys);
  // Items have no keys: each call draws anew, by the order of calls.
  explicit DropoutScope(uint64_t seed);
  ~DropoutScope();
  DropoutScope(const DropoutScope&) = delete;
  DropoutScope& operator=(const DropoutScope&) = delete;

  // Of all items, with the seed; throws c10::Error if they are not `count`.
  std::vector<uint64_t> ItemKeys(int64_t count) const;

  // Throws c10::Error where there is none.
  static const DropoutScope& Current();

 private:
  const uint64_t seed_;
  const std::optional<std::vector<uint64_t>> keys_;
  mutable uint64_t calls_ = 0;
  const DropoutScope* const outer_;
};

// A key for each row of a tensor.  Not thread-safe.
class RowKeys {
 public:
  RowKeys() = default;
  explicit RowKeys(std::vector<uint64_t> keys) : keys_(std::move(keys)) {}

  const std::vector<uint64_t>& keys() const { return keys_; }
  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  // Lower and upper halves, N x 1 int32 on `device`; taken there once.
  const std::pair<at::Tensor, at::Tensor>& HalvesOn(c10::Device device) const;

 private:
  std::vector<uint64_t> keys_;
  mutable std::pair<at::Tensor, at::Tensor> halves_;
};

// Of the rows of the scope's items, all of them, which are of these lengths, one after another: T.
RowKeys RowKeysOf(const std::vector<int64_t>& lengths);
// Of attention: of what each query of each item pays heed to, by each head, B x heads x Q.
RowKeys AttentionKeysOf(int64_t items, int64_t heads, int64_t queries);
// Likewise of some rows of each item, which are at these places in it: where items have keys, the
// same as among all rows.  Q is how many the item with the most has; keys of padding mean nothing.
RowKeys RowKeysAt(const std::vector<std::vector<int64_t>>& places);
RowKeys AttentionKeysAt(const std::vector<std::vector<int64_t>>& places, int64_t heads);

// What T rows of `columns` numbers are multiplied with, T x columns float32 on `device`: 0 of a
// number that is dropped, as a `share` of all are, else 1 / (1 - share).  `layer` tells layers of
// equal rows apart.
at::Tensor DropoutFactors(const RowKeys& rows, uint64_t layer, int64_t columns, double share,
                          c10::Device device);
// The same by LibTorch's operations, as other devices than CPUs compute it.
at::Tensor DropoutFactorsByTensors(const RowKeys& rows, uint64_t layer, int64_t columns,
                                   double share, c10::Device device);

// A layer without weights.  In training mode it drops a share of all numbers and scales the others;
// else, or with a share of 0, it does nothing and needs no keys.
class RowDropoutImpl : public torch::nn::Module {
 public:
  // 0 to below 1.
  explicit RowDropoutImpl(double share) : share_(share) {}

  bool drops() const { return is_training() && share_ > 0; }
  // `x` as rows of its last dimension, one for each key.  Throws c10::Error if they are not as
  // many, and if something is to be dropped before PrepareDropout.
  at::Tensor forward(const at::Tensor& x, const RowKeys& rows);
  // `x` as a row for each item of the scope.
  at::Tensor OfItems(const at::Tensor& x);

  void set_share(double share) { share_ = share; }
  void set_layer(uint64_t layer) { layer_ = layer; }

 private:
  double share_;
  std::optional<uint64_t> layer_;
};
TORCH_MODULE(RowDropout);

// Numbers all dropout layers of a module, by their names, and sets their share unless it is
// negative.  Before a module learns.
void PrepareDropout(double share, torch::nn::Module* module);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_ROW_DROPOUT_H_
