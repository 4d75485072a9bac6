// Packed sequences as attention takes many of unequal length in one go: padded.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PADDED_ROWS_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PADDED_ROWS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

namespace sightline {

// Where the T rows of B packed sequences lie among B x L of padded ones, L rows being the longest.
// Immutable.
class PaddedRows {
 public:
  // `lengths` of each sequence, at least one of them and each at least 1; what is padded lies on
  // `device`.
  PaddedRows(const std::vector<int64_t>& lengths, c10::Device device);

  int64_t count() const { return count_; }      // B
  int64_t longest() const { return longest_; }  // L
  // B x L, 1 for a row and 0 for padding; undefined if nothing is padded.
  const at::Tensor& mask() const { return mask_; }

  // T x H -> B x L x H.  Rows of padding are finite and hold nothing of use: whoever reads them is
  // to weigh them with 0, and no gradient comes from them.
  at::Tensor Pad(const at::Tensor& rows) const;
  // B x L x H -> T x H.
  at::Tensor Pack(const at::Tensor& padded) const;

 private:
  const int64_t count_;
  int64_t longest_ = 0;
  at::Tensor mask_;
  at::Tensor sources_;  // B * L: the packed row of each, or 0 where there is none
  at::Tensor places_;   // T: where each packed row is
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PADDED_ROWS_H_
