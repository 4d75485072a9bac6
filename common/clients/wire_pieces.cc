#include "common/clients/wire_pieces.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace sightline {
namespace {

constexpr uint32_t kLengthDelimited = 2;
constexpr size_t kMostHeaderBytes = 10;  // two varints of 32 bits

using Owner = std::shared_ptr<const void>;

void DropOwner(void* owner) {
  delete static_cast<Owner*>(owner);
}

}  // namespace

void WirePieces::AddFields(const google::protobuf::MessageLite& message) {
  const size_t before = tail_.size();
  message.AppendToString(&tail_);
  length_ += tail_.size() - before;
}

void WirePieces::AddHeader(int field, size_t length) {
  using Out = google::protobuf::io::CodedOutputStream;
  uint8_t header[kMostHeaderBytes];
  uint8_t* end =
      Out::WriteVarint32ToArray(static_cast<uint32_t>(field) << 3 | kLengthDelimited, header);
  end = Out::WriteVarint32ToArray(static_cast<uint32_t>(length), end);
  tail_.append(header, end);
  length_ += static_cast<size_t>(end - header);
}

void WirePieces::CloseTail() {
  if (tail_.empty()) return;
  slices_.emplace_back(tail_);
  tail_.clear();
}

void WirePieces::AddBytes(int field, absl::string_view bytes, std::shared_ptr<const void> owner) {
  AddHeader(field, bytes.size());
  CloseTail();
  // gRPC does not write to what it sends.
  slices_.emplace_back(const_cast<char*>(bytes.data()), bytes.size(), DropOwner,
                       new Owner(std::move(owner)));
  length_ += bytes.size();
}

void WirePieces::AddMessage(int field, WirePieces message) {
  AddHeader(field, message.length_);
  if (!message.slices_.empty()) CloseTail();
  slices_.insert(slices_.end(), std::make_move_iterator(message.slices_.begin()),
                 std::make_move_iterator(message.slices_.end()));
  tail_ += message.tail_;
  length_ += message.length_;
}

grpc::ByteBuffer WirePieces::ToByteBuffer() && {
  CloseTail();
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

}  // namespace sightline
