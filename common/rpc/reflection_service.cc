#include "common/rpc/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/error_details.h"
#include "common/rpc/rpc_stream.h"

namespace sightline {
namespace {

namespace pb = ::google::protobuf;
namespace reflection = ::grpc::reflection::v1alpha;

const pb::DescriptorPool& Pool() {
  return *pb::DescriptorPool::generated_pool();
}

void SetNotFound(const std::string& what, reflection::ServerReflectionResponse* response) {
  reflection::ErrorResponse* const error = response->mutable_error_response();
  error->set_error_code(grpc::StatusCode::NOT_FOUND);
  error->set_error_message(absl::StrCat("the server knows no ", what));
}

// `file` and all that it imports, each once.
void AddFiles(const pb::FileDescriptor& file, std::set<const pb::FileDescriptor*>* added,
              reflection::FileDescriptorResponse* out) {
  if (!added->insert(&file).second) return;
  pb::FileDescriptorProto described;
  file.CopyTo(&described);
  out->add_file_descriptor_proto(described.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), added, out);
}

void SetFile(const pb::FileDescriptor* file, const std::string& what,
             reflection::ServerReflectionResponse* response) {
  if (file == nullptr) return SetNotFound(what, response);
  std::set<const pb::FileDescriptor*> added;
  AddFiles(*file, &added, response->mutable_file_descriptor_response());
}

void SetExtension(const reflection::ExtensionRequest& asked,
                  reflection::ServerReflectionResponse* response) {
  const pb::Descriptor* const type = Pool().FindMessageTypeByName(asked.containing_type());
  const pb::FieldDescriptor* const extension =
      type == nullptr ? nullptr : Pool().FindExtensionByNumber(type, asked.extension_number());
  SetFile(extension == nullptr ? nullptr : extension->file(),
          absl::StrCat("extension ", asked.extension_number(), " of ", asked.containing_type()),
          response);
}

void SetExtensionNumbers(const std::string& type_name,
                         reflection::ServerReflectionResponse* response) {
  const pb::Descriptor* const type = Pool().FindMessageTypeByName(type_name);
  if (type == nullptr) return SetNotFound(absl::StrCat("message ", type_name), response);
  std::vector<const pb::FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  reflection::ExtensionNumberResponse* const numbers =
      response->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type_name);
  for (const pb::FieldDescriptor* extension : extensions) {
    numbers->add_extension_number(extension->number());
  }
}

absl::Status TooManyStreams() {
  return MakeError(reasons::kServerBusy,
                   absl::StrCat("the server has ", ReflectionService::kMaxStreams,
                                " reflection streams open, as many as it takes; try again later"));
}

}  // namespace

// One caller's stream: a question is read, answered, and the next one is read.
class ReflectionService::Stream final : public RpcStream {
 public:
  explicit Stream(ReflectionService* service) : service_(service) {}
  ~Stream() override {
    if (is_open_) --service_->open_streams_;
  }

 private:
  void OnOpen() override {
    is_open_ = true;
    ++service_->open_streams_ > kMaxStreams ? Finish(TooManyStreams()) : Read();
  }

  void OnRead(bool ok) override {
    if (!ok) return Finish(absl::OkStatus());  // the caller has no more questions
    if (incoming().bytes.Length() > kMaxQuestionBytes) {
      return Finish(absl::InvalidArgumentError(
          absl::StrCat("the question has ", incoming().bytes.Length(), " bytes; at most ",
                       kMaxQuestionBytes, " are read")));
    }
    Request request;
    if (const absl::Status read = ReadRequest(incoming(), &request); !read.ok()) {
      return Finish(read);
    }
    Write(service_->Answer(request));
  }

  void OnWritten(bool ok) override {
    ok ? Read() : Finish(absl::CancelledError("the caller has gone"));
  }

  ReflectionService* const service_;
  bool is_open_ = false;
};

ReflectionService::ReflectionService(CallGate* calls, std::vector<std::string> services)
    : RpcService(reflection::ServerReflection::service_full_name(), calls),
      services_(std::move(services)) {
  services_.push_back(full_name());
  AddStream("ServerReflectionInfo", [this] { return std::make_unique<Stream>(this); });
}

ReflectionService::Response ReflectionService::Answer(const Request& request) const {
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const std::string& name : services_) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return response;
    case Request::kFileByFilename:
      SetFile(Pool().FindFileByName(request.file_by_filename()),
              absl::StrCat("file ", request.file_by_filename()), &response);
      return response;
    case Request::kFileContainingSymbol:
      SetFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()),
              absl::StrCat("symbol ", request.file_containing_symbol()), &response);
      return response;
    case Request::kFileContainingExtension:
      SetExtension(request.file_containing_extension(), &response);
      return response;
    case Request::kAllExtensionNumbersOfType:
      SetExtensionNumbers(request.all_extension_numbers_of_type(), &response);
      return response;
    case Request::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  response.mutable_error_response()->set_error_code(grpc::StatusCode::INVALID_ARGUMENT);
  response.mutable_error_response()->set_error_message("the question asks nothing");
  return response;
}

}  // namespace sightline
