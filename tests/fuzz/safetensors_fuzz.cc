// Any bytes as a safetensors file, behind a header length that is right: the first two
// bytes give the length of the data, the rest is the header and then the data.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/formats/safetensors.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckFile(const sightline::Safetensors& file, absl::string_view data) {
  size_t total = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    Require(tensor.bytes.data() >= data.data());
    Require(tensor.bytes.data() + tensor.bytes.size() <= data.data() + data.size());
    int64_t bytes = static_cast<int64_t>(sightline::TensorDtypeSize(tensor.dtype));
    for (const int64_t extent : tensor.shape) bytes *= extent;
    Require(bytes == static_cast<int64_t>(tensor.bytes.size()));
    total += tensor.bytes.size();
  }
  Require(total == data.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t content = size - 2;
  const size_t data_length = std::min<size_t>(data[0] + 256 * data[1], content);
  const uint64_t header_length = content - data_length;
  std::vector<char> file(sizeof(header_length) + content);
  std::memcpy(file.data(), &header_length, sizeof(header_length));
  if (content > 0) std::memcpy(file.data() + sizeof(header_length), data + 2, content);

  const absl::string_view bytes(file.data(), file.size());
  const auto opened = sightline::Safetensors::FromBytes(bytes);
  if (!opened.ok()) {
    Require(absl::IsDataLoss(opened.status()));
    return 0;
  }
  CheckFile(**opened, bytes.substr(bytes.size() - data_length));
  // What was read is written in one way only.
  const std::string written =
      sightline::SerializeSafetensors((*opened)->tensors(), (*opened)->metadata());
  const auto again = sightline::Safetensors::FromBytes(written);
  Require(again.ok());
  Require(sightline::SerializeSafetensors((*again)->tensors(), (*again)->metadata()) == written);
  return 0;
}
