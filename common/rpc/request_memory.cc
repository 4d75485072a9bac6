#include "common/rpc/request_memory.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>

#include "sightline/v1/types.pb.h"

namespace sightline {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Lists double when they are full, and for a moment the old one is there beside the new.
constexpr int kListGrowth = 3;

// An entry of a list: of pointers, of numbers or of unknown fields, which have 16 bytes.
constexpr int64_t kEntryBytes = kListGrowth * 16;

// A std::string without what it holds, and what holds it if it is no short one.
constexpr int64_t kStringBytes = 48;
constexpr int64_t kHeapBytes = 32;

// A message: the object without its fields, the head of its unknown fields, and their
// allocations.  The greatest field is a list's head.
constexpr int64_t kMessageBytes = 112;
constexpr int64_t kFieldBytes = 24;

// Protobuf's own bound.
constexpr int kMostDepth = 100;

int64_t BytesOfObject(const Descriptor* type) {
  return kMessageBytes + (type == nullptr ? 0 : kFieldBytes * type->field_count());
}

// Of one number in a list of that type.
int64_t BytesOfNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

// The fewest bytes of the wire that such a number has.
int64_t LeastWireBytes(FieldDescriptor::Type type) {
  switch (type) {
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
    case FieldDescriptor::TYPE_DOUBLE:
      return 8;
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
    case FieldDescriptor::TYPE_FLOAT:
      return 4;
    default:
      return 1;
  }
}

bool IsPackedVectorsData(const FieldDescriptor& field) {
  return field.number() == v1::PackedVectors::kDataFieldNumber &&
         field.containing_type() == v1::PackedVectors::descriptor();
}

// Of a string, of bytes, of an unknown field or of packed numbers; `field` is null if it is
// unknown.
int64_t BytesOfBlock(const FieldDescriptor* field, int64_t length) {
  int copies = 1;
  if (field != nullptr && field->is_packable()) {
    return kEntryBytes +
           kListGrowth * BytesOfNumber(*field) * (length / LeastWireBytes(field->type()) + 1);
  }
  if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING) copies = 2;
  if (field != nullptr && IsPackedVectorsData(*field)) copies = kMostCopies;
  return kEntryBytes + kStringBytes + (length > 0 ? copies * (length + kHeapBytes) : 0);
}

class Walk {
 public:
  Walk(google::protobuf::io::ZeroCopyInputStream* input, int64_t most)
      : input_(input), most_(most) {}

  absl::optional<int64_t> Run(int64_t length, const Descriptor& type) {
    if (length > std::numeric_limits<int>::max()) return absl::nullopt;
    if (!Message(&type, static_cast<int>(length), 0)) return absl::nullopt;
    return bytes_;
  }

 private:
  bool enough() const { return bytes_ > most_; }

  bool Message(const Descriptor* type, int length, int depth) {
    if (depth > kMostDepth) return false;
    bytes_ += BytesOfObject(type);
    const auto outer = input_.PushLimit(length);
    while (!enough()) {
      const uint32_t tag = input_.ReadTag();
      if (tag == 0) {
        // The end of the message, or of the input before it, or what is no tag.
        if (!input_.ConsumedEntireMessage() || input_.BytesUntilLimit() != 0) return false;
        break;
      }
      if (!Field(type, tag, depth)) return false;
    }
    input_.PopLimit(outer);
    return true;
  }

  // An unknown one, up to its end tag.
  bool Group(int number, int depth) {
    if (depth > kMostDepth) return false;
    bytes_ += BytesOfObject(nullptr);
    while (!enough()) {
      const uint32_t tag = input_.ReadTag();
      if (tag == 0) return false;
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_END_GROUP) {
        return WireFormatLite::GetTagFieldNumber(tag) == number;
      }
      if (!Field(nullptr, tag, depth)) return false;
    }
    return true;
  }

  // `type` is null within a group.
  bool Field(const Descriptor* type, uint32_t tag, int depth) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    if (number == 0) return false;
    uint64_t varint = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        bytes_ += kEntryBytes;
        return input_.ReadVarint64(&varint);
      case WireFormatLite::WIRETYPE_FIXED64:
        bytes_ += kEntryBytes;
        return input_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        bytes_ += kEntryBytes;
        return input_.Skip(4);
      case WireFormatLite::WIRETYPE_START_GROUP:
        bytes_ += kEntryBytes;
        return Group(number, depth + 1);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Block(type == nullptr ? nullptr : type->FindFieldByNumber(number), depth);
      default:
        return false;
    }
  }

  bool Block(const FieldDescriptor* field, int depth) {
    int length = 0;
    if (!input_.ReadVarintSizeAsInt(&length) || length > input_.BytesUntilLimit()) return false;
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
      bytes_ += kEntryBytes;
      return Message(field->message_type(), length, depth + 1);
    }
    bytes_ += BytesOfBlock(field, length);
    return enough() || input_.Skip(length);
  }

  google::protobuf::io::CodedInputStream input_;
  const int64_t most_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::optional<int64_t> MemoryOfMessage(google::protobuf::io::ZeroCopyInputStream* input,
                                        int64_t length, const Descriptor& type, int64_t most) {
  return Walk(input, most).Run(length, type);
}

}  // namespace sightline
