// The wire keeps its style: package and path agree, everything is commented, names are
// in the right case, enums start unspecified, no unsigned integers, request fields say
// whether they are required.
//
// Reads the descriptor set that protoc wrote with source information.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;

bool IsSnakeCase(const std::string& name) {
  for (const char c : name) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '_') return false;
  }
  return absl::ascii_islower(name[0]);
}

bool IsUpperSnakeCase(const std::string& name) {
  return IsSnakeCase(absl::AsciiStrToLower(name)) && absl::AsciiStrToUpper(name) == name;
}

bool IsCamelCase(const std::string& name) {
  return absl::ascii_isupper(name[0]) && !absl::StrContains(name, "_");
}

// Collects what is wrong with a set of files.
class StyleCheck {
 public:
  void Check(const FileDescriptor& file) {
    const std::string folder = absl::StrReplaceAll(file.package(), {{".", "/"}});
    Expect(absl::StartsWith(file.name(), folder + "/"), file.name(),
           "does not lie in the folder of its package " + file.package());
    for (int i = 0; i < file.service_count(); ++i) Check(*file.service(i));
    for (int i = 0; i < file.message_type_count(); ++i) Check(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) Check(*file.enum_type(i));
  }

  int elements() const { return elements_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Check(const ServiceDescriptor& service) {
    Expect(IsCamelCase(service.name()), service.full_name(), "is not in CamelCase");
    Comment(service);
    for (int i = 0; i < service.method_count(); ++i) {
      const MethodDescriptor& method = *service.method(i);
      Comment(method);
      Expect(method.input_type()->name() == method.name() + "Request", method.full_name(),
             "takes " + method.input_type()->name());
      Expect(method.output_type()->name() == method.name() + "Response", method.full_name(),
             "returns " + method.output_type()->name());
    }
  }

  void Check(const Descriptor& message) {
    Expect(IsCamelCase(message.name()), message.full_name(), "is not in CamelCase");
    Comment(message);
    for (int i = 0; i < message.field_count(); ++i) Check(*message.field(i), message);
    for (int i = 0; i < message.real_oneof_decl_count(); ++i) Comment(*message.oneof_decl(i));
    for (int i = 0; i < message.nested_type_count(); ++i) Check(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) Check(*message.enum_type(i));
  }

  void Check(const FieldDescriptor& field, const Descriptor& message) {
    const std::string comment = Comment(field);
    Expect(IsSnakeCase(field.name()), field.full_name(), "is not in snake_case");
    static const std::set<FieldDescriptor::Type> kUnsigned = {
        FieldDescriptor::TYPE_UINT32, FieldDescriptor::TYPE_UINT64, FieldDescriptor::TYPE_FIXED32,
        FieldDescriptor::TYPE_FIXED64};
    Expect(kUnsigned.count(field.type()) == 0, field.full_name(), "is unsigned");
    if (absl::EndsWith(message.name(), "Request") && field.real_containing_oneof() == nullptr) {
      Expect(absl::StartsWith(comment, " Required.") || absl::StartsWith(comment, " Optional."),
             field.full_name(), "does not begin with Required. or Optional.");
    }
  }

  void Check(const EnumDescriptor& type) {
    Comment(type);
    Expect(IsCamelCase(type.name()), type.full_name(), "is not in CamelCase");
    Expect(type.value(0)->number() == 0 && absl::EndsWith(type.value(0)->name(), "_UNSPECIFIED"),
           type.full_name(), "does not start with an _UNSPECIFIED zero");
    for (int i = 0; i < type.value_count(); ++i) {
      Expect(IsUpperSnakeCase(type.value(i)->name()), type.value(i)->full_name(),
             "is not in UPPER_SNAKE_CASE");
      Comment(*type.value(i));
    }
  }

  template <typename Element>
  std::string Comment(const Element& element) {
    ++elements_;
    SourceLocation location;
    const bool found = element.GetSourceLocation(&location);
    Expect(found && !absl::StripAsciiWhitespace(location.leading_comments).empty(),
           std::string(element.full_name()), "has no comment");
    return location.leading_comments;
  }

  void Expect(bool holds, const std::string& name, const std::string& problem) {
    if (!holds) problems_.push_back(absl::StrCat(name, " ", problem));
  }

  int elements_ = 0;
  std::vector<std::string> problems_;
};

FileDescriptorSet ReadDescriptors() {
  std::ifstream in("protos/descriptors.binpb", std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  FileDescriptorSet files;
  REQUIRE(files.ParseFromString(bytes.str()));
  return files;
}

StyleCheck CheckSightline(const FileDescriptorSet& files) {
  DescriptorPool pool;
  StyleCheck check;
  for (const auto& file : files.file()) {
    const FileDescriptor* built = pool.BuildFile(file);
    REQUIRE(built != nullptr);
    if (absl::StartsWith(built->package(), "sightline.")) check.Check(*built);
  }
  return check;
}

}  // namespace

TEST_CASE("the protos keep their style") {
  const StyleCheck check = CheckSightline(ReadDescriptors());
  CHECK(check.elements() > 200);
  for (const std::string& problem : check.problems()) FAIL_CHECK(problem);
}

TEST_CASE("an unsigned field, a missing comment and a bad name are noticed") {
  FileDescriptorSet files = ReadDescriptors();
  auto* file = files.mutable_file(files.file_size() - 1);
  REQUIRE(absl::StartsWith(file->package(), "sightline."));
  auto* field = file->add_message_type();
  field->set_name("bad_Name");
  auto* number = field->add_field();
  number->set_name("Count");
  number->set_number(1);
  number->set_type(google::protobuf::FieldDescriptorProto::TYPE_UINT32);
  number->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
  const StyleCheck check = CheckSightline(files);
  // The message: name, comment.  The field: comment, name, unsigned.
  CHECK(check.problems().size() == 5);
}
