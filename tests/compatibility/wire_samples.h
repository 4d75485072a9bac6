// What travels between programs, each a piece made of plain values by today's code: a message
// of every call, page tokens, the details of errors.
//
// The values never change: tests/testdata/compatibility has what earlier code made of them.
#ifndef SIGHTLINE_TESTS_COMPATIBILITY_WIRE_SAMPLES_H_
#define SIGHTLINE_TESTS_COMPATIBILITY_WIRE_SAMPLES_H_

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sightline {

struct WireSample {
  std::string name;  // of its file
  // What the values are on the wire.  Of messages the deterministic serialization; what clients
  // send may have its fields in another order.
  std::string bytes;
  // Reads bytes as whoever receives them does, and gives what is written of the plain values
  // that were read.
  std::function<absl::StatusOr<std::string>(const std::string& bytes)> read_and_written;
  // Its type; null for what is no message.
  const google::protobuf::Message* type = nullptr;
};

std::vector<WireSample> WireSamples();

// Every proto that programs of different releases share, over a wire or a disk.
google::protobuf::FileDescriptorSet SharedProtos();

inline constexpr char kSharedProtosFile[] = "protos.binpb";

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMPATIBILITY_WIRE_SAMPLES_H_
