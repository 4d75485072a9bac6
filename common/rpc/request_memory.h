// What a request will take in memory, told from its bytes before protobuf unfolds them.
//
// The length on the wire is no measure of it: two bytes ("a message, empty") become an object
// of its own, so a few megabytes of them are a gigabyte of objects, made before anybody can
// count how many there are.
#ifndef SIGHTLINE_COMMON_RPC_REQUEST_MEMORY_H_
#define SIGHTLINE_COMMON_RPC_REQUEST_MEMORY_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>

#include "absl/types/optional.h"

namespace sightline {

struct RequestSize {
  int64_t wire_bytes = 0;    // as it arrived
  int64_t memory_bytes = 0;  // MemoryOfMessage
};

// How many times what a field holds can be in memory at once, at most: the packed numbers of
// regions and vectors, as they came and beside them as float32, which of float16 is twice as
// long.
inline constexpr int kMostCopies = 3;

// An upper bound of what the message of `type` takes that the next `length` bytes of `input`
// hold, from its parse until its handler has made plain structs of it:
// - each object, unknown fields too, with what lists waste while they grow and what the
//   allocator adds;
// - `bytes` once, since they are moved out of the message (PackedVectors.data: kMostCopies);
//   `string` twice, since most are copied.
//
// Counts no further than to the first number above `most`, so that the worst request costs
// little time.  Takes no memory itself.  None if the bytes are no message: a field that goes
// beyond its end, more than 100 messages in each other.  Protobuf refuses all of these, and
// some that are let pass here (a string that is not UTF-8), which take no more than was told.
absl::optional<int64_t> MemoryOfMessage(google::protobuf::io::ZeroCopyInputStream* input,
                                        int64_t length, const google::protobuf::Descriptor& type,
                                        int64_t most);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_REQUEST_MEMORY_H_
