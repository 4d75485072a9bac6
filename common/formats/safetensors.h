// Reading and writing weights in the safetensors format: an 8-byte little-endian header
// length, a JSON header {name: {dtype, shape, data_offsets}}, then the data.
#ifndef SIGHTLINE_COMMON_FORMATS_SAFETENSORS_H_
#define SIGHTLINE_COMMON_FORMATS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"

namespace sightline {

// Element types of the format that the models use; files with others are refused.
enum class TensorDtype { kF64, kF32, kF16, kBf16, kI64, kI32, kI16, kI8, kU8, kBool };

// Bytes of one element.
size_t TensorDtypeSize(TensorDtype dtype);

struct TensorView {
  TensorDtype dtype = TensorDtype::kF32;
  std::vector<int64_t> shape;
  absl::string_view bytes;  // into the mapping; not necessarily aligned
};

// A mapped safetensors file.  Immutable, thread-safe.
class Safetensors {
 public:
  // DataLoss: truncated, header too long (100 MB) or malformed, a name twice, offsets
  // outside the file, overlapping or with holes, or a size that dtype and shape do not
  // give.  NotFound, and so on, from opening.
  static absl::StatusOr<std::unique_ptr<Safetensors>> Open(absl::string_view path);
  // The same over bytes in memory that outlive the object.
  static absl::StatusOr<std::unique_ptr<Safetensors>> FromBytes(absl::string_view bytes);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  Safetensors() = default;
  absl::Status Parse(absl::string_view bytes);

  std::unique_ptr<MappedFile> file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// The beginning of the file of `tensors`: the header with its length, up to the first
// tensor's data.  The data follows in name order, as many bytes for each tensor as its
// dtype and shape give; the views' bytes are not looked at.
std::string SafetensorsHeader(const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

// The file's bytes for `tensors`, in name order, the first tensor's data aligned to 8
// bytes; equal input gives equal bytes.  Each view's bytes must be as many as its dtype
// and shape give, and names and metadata UTF-8, or Open will refuse the file.
std::string SerializeSafetensors(const std::map<std::string, TensorView>& tensors,
                                 const std::map<std::string, std::string>& metadata = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_SAFETENSORS_H_
