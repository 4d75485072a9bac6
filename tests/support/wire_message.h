// A request as its message, by the way that it takes over the wire.
#ifndef SIGHTLINE_TESTS_SUPPORT_WIRE_MESSAGE_H_
#define SIGHTLINE_TESTS_SUPPORT_WIRE_MESSAGE_H_

#include <cstdlib>
#include <string>

#include "common/clients/upload_wire.h"
#include "tests/support/raw_call.h"

namespace sightline {

template <typename Message>
Message Parsed(const OnWire<Message>& wire) {
  Message message;
  // A bug of the writer, in a helper that has no test to fail.
  if (!message.ParseFromString(ToBytes(wire.bytes))) std::abort();
  return message;
}

inline void ToProto(const EncodeRequest& request, v1::EncodeQueriesRequest* out) {
  *out = Parsed(ToWire(request));
}
inline void ToProto(const RerankRequest& request, v1::RerankCandidatesRequest* out) {
  *out = Parsed(ToWire(request));
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_WIRE_MESSAGE_H_
