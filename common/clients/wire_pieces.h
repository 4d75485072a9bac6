// A protobuf message on its way out, in pieces, so that what is big is sent from where it
// lies instead of being copied into a message, and out of that into gRPC's buffers, for each
// attempt of a call.
//
//   WirePieces query;
//   query.AddBytes(v1::EncodableQuery::kImageFieldNumber, *image, image.owner());
//   WirePieces request;
//   request.AddFields(head);                                        // all that is small
//   request.AddMessage(v1::EncodeQueriesRequest::kQueriesFieldNumber, std::move(query));
//   grpc::ByteBuffer bytes = std::move(request).ToByteBuffer();
//
// Protobuf's encoding: a message is its fields, in any order; one of bytes or of a message is
// a varint of number * 8 + 2, a varint of its length, and its content.
#ifndef SIGHTLINE_COMMON_CLIENTS_WIRE_PIECES_H_
#define SIGHTLINE_COMMON_CLIENTS_WIRE_PIECES_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace google {
namespace protobuf {
class MessageLite;
}  // namespace protobuf
}  // namespace google

namespace sightline {

// The fields of one message.  Not thread-safe; the buffer it becomes may go to any thread.
class WirePieces {
 public:
  // Copies the fields that `message`, of the same type, has.
  void AddFields(const google::protobuf::MessageLite& message);

  // `bytes` as the field of that number.  They are not copied, and `owner`, which they live as
  // long as, is kept until gRPC has sent them.
  void AddBytes(int field, absl::string_view bytes, std::shared_ptr<const void> owner);

  // `message` as the field of that number.
  void AddMessage(int field, WirePieces message);

  grpc::ByteBuffer ToByteBuffer() &&;

 private:
  void AddHeader(int field, size_t length);
  void CloseTail();

  size_t length_ = 0;                // of it all:
  std::vector<grpc::Slice> slices_;  // these,
  std::string tail_;                 // then this
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_WIRE_PIECES_H_
