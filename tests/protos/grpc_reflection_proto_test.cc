// Our reflection proto says what the one in gRPC's library says, so that either can read
// what the other writes.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>

#include <fstream>
#include <string>

#include "tests/support/catch.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

const char kService[] = "grpc.reflection.v1alpha.ServerReflection";

const FileDescriptor* BuildOurs(DescriptorPool* pool) {
  std::ifstream in("protos/descriptors.binpb", std::ios::binary);
  FileDescriptorSet files;
  REQUIRE(files.ParseFromIstream(&in));
  for (const FileDescriptorProto& file : files.file()) {
    REQUIRE(pool->BuildFile(file) != nullptr);
  }
  return pool->FindFileContainingSymbol(kService);
}

// What the wire knows of a message.
std::string Wire(const Descriptor& message) {
  DescriptorProto proto;
  message.CopyTo(&proto);
  // protoc writes JSON's names into a file of descriptors and not into code.
  for (auto& field : *proto.mutable_field()) field.clear_json_name();
  return proto.DebugString();
}

}  // namespace

TEST_CASE("the reflection proto has the messages and the method of gRPC's own") {
  // Whoever links the library has its descriptors; this makes the linker keep it.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  const FileDescriptor* const theirs =
      DescriptorPool::generated_pool()->FindFileContainingSymbol(kService);
  REQUIRE(theirs != nullptr);
  DescriptorPool pool;
  const FileDescriptor* const ours = BuildOurs(&pool);
  REQUIRE(ours != nullptr);
  CHECK(ours->package() == theirs->package());
  REQUIRE(ours->message_type_count() == theirs->message_type_count());
  for (int i = 0; i < theirs->message_type_count(); ++i) {
    const auto* const message = ours->FindMessageTypeByName(theirs->message_type(i)->name());
    INFO(theirs->message_type(i)->name());
    REQUIRE(message != nullptr);
    CHECK(Wire(*message) == Wire(*theirs->message_type(i)));
  }
  CHECK(ours->service(0)->DebugString() == theirs->service(0)->DebugString());
}
