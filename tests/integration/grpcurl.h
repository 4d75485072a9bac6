// What the tool grpcurl does, for tests: calls a method that it knows from nothing but the
// server's reflection service, with a request written as JSON.
#ifndef SIGHTLINE_TESTS_INTEGRATION_GRPCURL_H_
#define SIGHTLINE_TESTS_INTEGRATION_GRPCURL_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sightline {

// grpcurl -plaintext -d 'JSON' HOST:PORT SERVICE/METHOD
struct GrpcurlCommand {
  std::string json;
  std::string address;
  std::string service;
  std::string method;
};

// The commands of that form that `text` holds, each on a line of its own.  InvalidArgument
// for a line that calls grpcurl with data in any other form.
absl::StatusOr<std::vector<GrpcurlCommand>> FindGrpcurlCommands(const std::string& text);

// Knows no message type from the start.  Not thread-safe.
class Grpcurl {
 public:
  explicit Grpcurl(std::shared_ptr<grpc::Channel> channel);

  // The answer, which must not outlive this object.  NotFound if the server knows no such
  // service or method, InvalidArgument for JSON that is no request of the method's, or the
  // server's error.
  absl::StatusOr<std::unique_ptr<google::protobuf::Message>> Call(const std::string& service,
                                                                  const std::string& method,
                                                                  const std::string& json);

 private:
  absl::StatusOr<const google::protobuf::MethodDescriptor*> Describe(const std::string& service,
                                                                     const std::string& method);

  const std::shared_ptr<grpc::Channel> channel_;
  google::protobuf::SimpleDescriptorDatabase files_;
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_GRPCURL_H_
