#include "tests/integration/grpcurl.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <regex>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc_status.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/support/raw_call.h"

namespace sightline {
namespace {

namespace pb = ::google::protobuf;
namespace reflection = ::grpc::reflection::v1alpha;

// Every file that `service` is made of, into `files`.
absl::Status FetchFiles(const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
                        pb::SimpleDescriptorDatabase* files) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto stub = reflection::ServerReflection::NewStub(channel);
  const auto stream = stub->ServerReflectionInfo(&context);
  std::vector<reflection::ServerReflectionRequest> questions(1);
  questions[0].set_file_containing_symbol(service);
  pb::FileDescriptorProto known;
  while (!questions.empty()) {
    reflection::ServerReflectionResponse answer;
    const bool asked = stream->Write(questions.back());
    questions.pop_back();
    if (!asked || !stream->Read(&answer)) return FromGrpcStatus(stream->Finish());
    if (answer.has_error_response()) {
      return absl::NotFoundError(
          absl::StrCat("reflection of ", service, ": ", answer.error_response().error_message()));
    }
    for (const std::string& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
      pb::FileDescriptorProto file;
      if (!file.ParseFromString(bytes)) return absl::DataLossError("an unreadable descriptor");
      if (files->FindFileByName(file.name(), &known)) continue;
      files->Add(file);
      for (const std::string& dependency : file.dependency()) {
        questions.emplace_back().set_file_by_filename(dependency);
      }
    }
  }
  stream->WritesDone();
  return FromGrpcStatus(stream->Finish());
}

}  // namespace

absl::StatusOr<std::vector<GrpcurlCommand>> FindGrpcurlCommands(const std::string& text) {
  static const std::regex* const kCommand = new std::regex(
      R"(^\s*(?:\$ )?grpcurl -plaintext -d '([^']*)' ([\w.]+:\d+) ([\w.]+)/(\w+)\s*$)");
  static const std::regex* const kWithData = new std::regex(R"(^\s*(?:\$ )?grpcurl .*-d )");
  std::vector<GrpcurlCommand> commands;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (std::regex_match(line, parts, *kCommand)) {
      commands.push_back({parts[1], parts[2], parts[3], parts[4]});
    } else if (std::regex_search(line, *kWithData)) {
      return absl::InvalidArgumentError(absl::StrCat("not a command that can be run: ", line));
    }
  }
  return commands;
}

Grpcurl::Grpcurl(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)), pool_(&files_), factory_(&pool_) {}

absl::StatusOr<const pb::MethodDescriptor*> Grpcurl::Describe(const std::string& service,
                                                              const std::string& method) {
  RETURN_IF_ERROR(FetchFiles(channel_, service, &files_));
  const pb::ServiceDescriptor* const found = pool_.FindServiceByName(service);
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no service ", service));
  const pb::MethodDescriptor* const described = found->FindMethodByName(method);
  if (described == nullptr) {
    return absl::NotFoundError(absl::StrCat("service ", service, " has no method ", method));
  }
  return described;
}

absl::StatusOr<std::unique_ptr<pb::Message>> Grpcurl::Call(const std::string& service,
                                                           const std::string& method,
                                                           const std::string& json) {
  ASSIGN_OR_RETURN(const pb::MethodDescriptor* const described, Describe(service, method));
  const std::unique_ptr<pb::Message> request(factory_.GetPrototype(described->input_type())->New());
  const auto parsed = pb::util::JsonStringToMessage(json, request.get());
  if (!parsed.ok()) return absl::InvalidArgumentError(parsed.ToString());
  std::string bytes;
  RETURN_IF_ERROR(FromGrpcStatus(RawCall(channel_, absl::StrCat("/", service, "/", method),
                                         request->SerializeAsString(), &bytes)));
  std::unique_ptr<pb::Message> response(factory_.GetPrototype(described->output_type())->New());
  if (!response->ParseFromString(bytes)) {
    return absl::DataLossError(absl::StrCat("the answer is no ", described->output_type()->name()));
  }
  return response;
}

}  // namespace sightline
