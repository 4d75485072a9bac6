// Any bytes as a container.  The first byte chooses: bit 0 makes the header's length and
// checksums right, so that the checks behind them are reached; bit 1 appends zeros up to
// the length that the header claims, so that a short input can be a whole file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/bundle/container.h"

namespace {

constexpr size_t kHeaderLength = 40;
constexpr uint64_t kLongest = 1 << 16;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
T NumberAt(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <typename T>
void Patch(T value, size_t at, std::string* bytes) {
  std::memcpy(&(*bytes)[at], &value, sizeof(value));
}

void Pad(std::string* bytes) {
  const uint64_t claimed = NumberAt<uint64_t>(*bytes, 24);
  if (claimed > bytes->size()) bytes->resize(std::min(claimed, kLongest), '\0');
}

void Repair(std::string* bytes) {
  std::memcpy(&(*bytes)[0], "SIGHTLN1", 8);
  Patch(static_cast<uint64_t>(bytes->size()), 24, bytes);
  const uint64_t table =
      std::min<uint64_t>(NumberAt<uint64_t>(*bytes, 16), bytes->size() - kHeaderLength);
  Patch(sightline::Crc32c(absl::string_view(*bytes).substr(kHeaderLength, table)), 32, bytes);
  Patch(sightline::Crc32c(absl::string_view(*bytes).substr(0, 36)), 36, bytes);
}

void CheckContainer(const sightline::Container& container, absl::string_view file) {
  const char* end = file.data() + file.size();
  for (const sightline::Section& section : container.sections()) {
    Require(section.data >= file.data() && section.data <= end);
    Require(section.length >= 0 && section.length <= end - section.data);
    Require(section.shape.size() == 1 || section.shape.size() == 2);
    Require(container.Find(section.name) == &section);
    if (sightline::DtypeSize(section.dtype) != 0) {
      Require(section.shape[0] * section.row_stride_bytes == section.length);
    }
  }
  const absl::Status verified = container.Verify();
  Require(verified.ok() || absl::IsDataLoss(verified));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (bytes.size() >= kHeaderLength) {
    if ((data[0] & 2) != 0) Pad(&bytes);
    if ((data[0] & 1) != 0) Repair(&bytes);
  }
  // Of just the right length, so that the sanitizer sees the first byte too many.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const absl::string_view file(copy.data(), copy.size());
  const auto container = sightline::Container::FromBytes(file);
  if (container.ok()) {
    CheckContainer(**container, file);
  } else {
    Require(absl::IsDataLoss(container.status()) || absl::IsFailedPrecondition(container.status()));
  }
  return 0;
}
