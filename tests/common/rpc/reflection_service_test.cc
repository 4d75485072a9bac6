#include "common/rpc/reflection_service.h"

#include <google/protobuf/descriptor.pb.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

namespace reflection = ::grpc::reflection::v1alpha;
using Request = reflection::ServerReflectionRequest;
using Response = reflection::ServerReflectionResponse;

absl::Status Ok(const CallContext&) {
  return absl::OkStatus();
}

// A caller's stream.
struct Stream {
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel)
      : stub(reflection::ServerReflection::NewStub(channel)) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    stream = stub->ServerReflectionInfo(&context);
  }

  Response Ask(const Request& request) {
    REQUIRE(stream->Write(request));
    Response response;
    REQUIRE(stream->Read(&response));
    CHECK(response.original_request().SerializeAsString() == request.SerializeAsString());
    return response;
  }
  Response ListServices() {
    Request request;
    request.set_list_services("*");
    return Ask(request);
  }
  absl::Status Finish() {
    stream->WritesDone();
    return FromGrpcStatus(stream->Finish());
  }

  grpc::ClientContext context;
  const std::unique_ptr<reflection::ServerReflection::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream;
};

std::set<std::string> FilesOf(const Response& response) {
  std::set<std::string> names;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    REQUIRE(file.ParseFromString(bytes));
    CHECK(names.insert(file.name()).second);
  }
  return names;
}

TEST_CASE("The services are listed, reflection with them") {
  TestServer server(Ok);
  Stream stream(server.NewChannel());
  const Response listed = stream.ListServices();
  std::set<std::string> names;
  for (const auto& service : listed.list_services_response().service()) {
    names.insert(service.name());
  }
  CHECK(names == std::set<std::string>{"grpc.health.v1.Health",
                                       "grpc.reflection.v1alpha.ServerReflection",
                                       "sightline.v1.Admin"});
  CHECK(stream.Finish().ok());
}

TEST_CASE("A symbol is described by its file and all that this imports, each once") {
  TestServer server(Ok);
  Stream stream(server.NewChannel());
  Request request;
  request.set_file_containing_symbol("sightline.v1.Admin.GetStatus");
  const std::set<std::string> by_symbol = FilesOf(stream.Ask(request));
  CHECK(by_symbol.count("sightline/v1/admin.proto") == 1);
  CHECK(by_symbol.count("sightline/v1/types.proto") == 1);
  request.set_file_by_filename("sightline/v1/admin.proto");
  CHECK(FilesOf(stream.Ask(request)) == by_symbol);
  CHECK(stream.Finish().ok());
}

TEST_CASE("What the server does not know is an answer, and the stream goes on") {
  TestServer server(Ok);
  Stream stream(server.NewChannel());
  const auto code = [&](const Request& request) {
    return stream.Ask(request).error_response().error_code();
  };
  Request request;
  request.set_file_containing_symbol("sightline.v1.Nobody");
  CHECK(code(request) == grpc::StatusCode::NOT_FOUND);
  request.set_file_by_filename("nothing.proto");
  CHECK(code(request) == grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("sightline.v1.Nobody");
  CHECK(code(request) == grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("google.protobuf.FieldOptions");
  CHECK(code(request) == grpc::StatusCode::NOT_FOUND);
  CHECK(code(Request()) == grpc::StatusCode::INVALID_ARGUMENT);
  request.set_all_extension_numbers_of_type("sightline.v1.GetStatusRequest");
  CHECK(stream.Ask(request).all_extension_numbers_response().extension_number_size() == 0);
  CHECK(stream.Finish().ok());
}

TEST_CASE("A question that is too long ends its stream") {
  TestServer server(Ok);
  Stream stream(server.NewChannel());
  Request request;
  request.set_host(std::string(ReflectionService::kMaxQuestionBytes, 'x'));
  REQUIRE(stream.stream->Write(request));
  Response response;
  CHECK_FALSE(stream.stream->Read(&response));
  CHECK(absl::IsInvalidArgument(stream.Finish()));
}

TEST_CASE("Streams that stay open hold no thread that calls need") {
  RpcServerOptions options;
  options.max_concurrent_calls = 1;
  TestServer server(Ok, options);
  const auto channel = server.NewChannel();
  std::vector<std::unique_ptr<Stream>> streams;
  while (streams.size() < ReflectionService::kMaxStreams) {
    streams.push_back(std::make_unique<Stream>(channel));
    streams.back()->ListServices();  // it is there, and has had an answer
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  CHECK(server.Call(&context).ok());

  Stream one_more(channel);
  Response response;
  CHECK_FALSE(one_more.stream->Read(&response));
  const absl::Status refused = one_more.Finish();
  CHECK(absl::IsResourceExhausted(refused));
  CHECK(HasReason(refused, reasons::kServerBusy));

  CHECK(streams.back()->Finish().ok());
  streams.pop_back();
  // The server hears of the end of one before it hears of the next on the same connection,
  // but may take note of it after.
  absl::Status again;
  do {
    Stream stream(channel);
    Request request;
    request.set_list_services("*");
    stream.stream->Write(request);
    stream.stream->Read(&response);
    again = stream.Finish();
  } while (absl::IsResourceExhausted(again));
  CHECK(again.ok());
}

TEST_CASE("Open streams do not keep a server from ending") {
  std::vector<std::unique_ptr<Stream>> streams;
  {
    RpcServerOptions options;
    options.drain_timeout = absl::ZeroDuration();
    TestServer server(Ok, options);
    for (int i = 0; i < 3; ++i) {
      streams.push_back(std::make_unique<Stream>(server.NewChannel()));
      streams.back()->ListServices();
    }
  }
  for (const auto& stream : streams) CHECK_FALSE(stream->Finish().ok());
}

TEST_CASE("A server that is not to describe itself does not") {
  RpcServerOptions options;
  options.reflection = false;
  TestServer server(Ok, options);
  Stream stream(server.NewChannel());
  Response response;
  CHECK_FALSE(stream.stream->Read(&response));
  CHECK(stream.Finish().code() == absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sightline
