// Texts and numbers in a row of bytes: numbers little-endian, a text with its length (u32)
// before it.
#ifndef SIGHTLINE_COMMON_BASE_BYTE_READER_H_
#define SIGHTLINE_COMMON_BASE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/little_endian.h"

namespace sightline {

// Those of a vector or span of numbers, as they lie in memory.
template <typename Numbers>
absl::string_view BytesOfNumbers(const Numbers& numbers) {
  return absl::string_view(reinterpret_cast<const char*>(numbers.data()),
                           numbers.size() * sizeof(*numbers.data()));
}

// `text` has less than 2^32 bytes.
inline void AppendText(absl::string_view text, std::string* bytes) {
  AppendLittleEndian(static_cast<uint32_t>(text.size()), bytes);
  bytes->append(text.data(), text.size());
}

// Reads them back from bytes that need not be right: what is not there reads as zero or
// empty, and ok() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    const absl::string_view raw = Bytes(sizeof(T));
    return ok_ ? LoadLittleEndian<T>(raw.data()) : T();
  }

  // Into the bytes.
  absl::string_view Bytes(size_t count) {
    ok_ = ok_ && count <= bytes_.size();
    if (!ok_) return absl::string_view();
    const absl::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  absl::string_view Text() { return Bytes(Number<uint32_t>()); }

  bool ok() const { return ok_; }
  size_t left() const { return bytes_.size(); }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_BYTE_READER_H_
