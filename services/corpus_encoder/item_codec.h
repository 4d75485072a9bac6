// Values as bytes and back, for what the job puts aside.
//
// A struct says once what it consists of, in the order in which its fields lie:
//
//   inline auto FieldsOf(Stretch& stretch) { return std::tie(stretch.hash, stretch.count); }
//
// Numbers and texts are those of byte_reader.h; a vector's elements follow their number (u32).
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CODEC_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CODEC_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "common/base/byte_reader.h"
#include "common/dataset/corpus.h"

namespace sightline {

class ItemCodec {
 public:
  // A pointer to a reader is kept as its place among `readers`, which must outlive what is read
  // back; null is kept, too.
  explicit ItemCodec(absl::Span<const std::unique_ptr<CorpusReader>> readers = {}) {
    for (const auto& reader : readers) readers_.push_back(reader.get());
    readers_.push_back(nullptr);
  }

  void Append(const CorpusReader* reader, std::string* bytes) const {
    const auto place = std::find(readers_.begin(), readers_.end(), reader);
    AppendLittleEndian(static_cast<uint32_t>(place - readers_.begin()), bytes);
  }
  void Append(const std::string& text, std::string* bytes) const { AppendText(text, bytes); }
  template <typename T>
  void Append(const std::vector<T>& elements, std::string* bytes) const {
    AppendLittleEndian(static_cast<uint32_t>(elements.size()), bytes);
    for (const T& element : elements) Append(element, bytes);
  }
  template <typename T>
  void Append(const T& value, std::string* bytes) const {
    if constexpr (std::is_enum_v<T>) {
      AppendLittleEndian(static_cast<std::underlying_type_t<T>>(value), bytes);
    } else if constexpr (std::is_arithmetic_v<T>) {
      AppendLittleEndian(value, bytes);
    } else {
      // Nothing is written through it.
      std::apply([&](const auto&... fields) { (Append(fields, bytes), ...); },
                 FieldsOf(const_cast<T&>(value)));
    }
  }

  // False if the bytes are not what Append has made of such a value.
  bool Read(ByteReader& bytes, const CorpusReader** reader) const {
    const auto place = bytes.Number<uint32_t>();
    if (!bytes.ok() || place >= readers_.size()) return false;
    *reader = readers_[place];
    return true;
  }
  bool Read(ByteReader& bytes, std::string* text) const {
    *text = std::string(bytes.Text());
    return bytes.ok();
  }
  bool Read(ByteReader& bytes, bool* value) const {
    *value = bytes.Number<uint8_t>() != 0;
    return bytes.ok();
  }
  template <typename T>
  bool Read(ByteReader& bytes, std::vector<T>* elements) const {
    elements->clear();
    const auto count = bytes.Number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      if (!Read(bytes, &elements->emplace_back())) return false;
    }
    return bytes.ok();
  }
  template <typename T>
  bool Read(ByteReader& bytes, T* value) const {
    if constexpr (std::is_enum_v<T>) {
      *value = static_cast<T>(bytes.Number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_arithmetic_v<T>) {
      *value = bytes.Number<T>();
    } else {
      return std::apply([&](auto&... fields) { return (Read(bytes, &fields) && ...); },
                        FieldsOf(*value));
    }
    return bytes.ok();
  }

 private:
  std::vector<const CorpusReader*> readers_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CODEC_H_
