// The protos that programs of different releases share only grow: what was there then is there
// today, with its number and its type, or is reserved.
#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/compatibility/wire_samples.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::ServiceDescriptorProto;

// All that the wire hangs on: what it is, by its full name.
class Contents {
 public:
  explicit Contents(const FileDescriptorSet& files) {
    for (const auto& file : files.file()) {
      const std::string& package = file.package();
      for (const DescriptorProto& message : file.message_type()) Add(package, message);
      for (const EnumDescriptorProto& type : file.enum_type()) Add(package, type);
      for (const ServiceDescriptorProto& service : file.service()) Add(package, service);
    }
  }

  // What is there and is another one, or none, in `later`.
  std::vector<std::string> ChangedIn(const Contents& later) const {
    std::vector<std::string> changed;
    for (const auto& [name, what] : elements_) {
      const auto found = later.elements_.find(name);
      const bool reserved = found == later.elements_.end() && later.reserved_.count(name) > 0 &&
                            later.reserved_.count(numbers_.at(name)) > 0;
      if (!reserved && (found == later.elements_.end() || found->second != what)) {
        changed.push_back(name);
      }
    }
    return changed;
  }

  size_t size() const { return elements_.size(); }

 private:
  void AddElement(const std::string& name, const std::string& what, const std::string& number) {
    elements_[name] = what;
    numbers_[name] = number;
  }

  void Add(const std::string& scope, const DescriptorProto& message) {
    const std::string self = absl::StrCat(scope, ".", message.name());
    AddElement(self, "message", "");
    for (FieldDescriptorProto field : message.field()) {
      // By its name: numbers of oneofs shift.
      std::string oneof;
      if (field.has_oneof_index() && !field.proto3_optional()) {
        oneof = message.oneof_decl(field.oneof_index()).name();
      }
      field.clear_oneof_index();
      AddElement(absl::StrCat(self, ".", field.name()),
                 absl::StrCat(field.ShortDebugString(), " ", oneof),
                 absl::StrCat(self, " ", field.number()));
    }
    for (const std::string& name : message.reserved_name()) {
      reserved_[absl::StrCat(self, ".", name)] = true;
    }
    for (const auto& range : message.reserved_range()) {
      for (int number = range.start(); number < range.end(); ++number) {
        reserved_[absl::StrCat(self, " ", number)] = true;
      }
    }
    for (const DescriptorProto& nested : message.nested_type()) Add(self, nested);
    for (const EnumDescriptorProto& type : message.enum_type()) Add(self, type);
  }

  void Add(const std::string& scope, const EnumDescriptorProto& type) {
    for (const auto& value : type.value()) {
      AddElement(absl::StrCat(scope, ".", type.name(), ".", value.name()),
                 absl::StrCat(value.number()), "");
    }
  }

  void Add(const std::string& scope, const ServiceDescriptorProto& service) {
    for (const auto& method : service.method()) {
      AddElement(absl::StrCat(scope, ".", service.name(), "/", method.name()),
                 method.ShortDebugString(), "");
    }
  }

  std::map<std::string, std::string> elements_;
  std::map<std::string, std::string> numbers_;
  std::map<std::string, bool> reserved_;
};

FileDescriptorSet Stored() {
  const auto bytes = ReadFile(JoinPath("tests/testdata/compatibility", kSharedProtosFile));
  REQUIRE(bytes.ok());
  FileDescriptorSet files;
  REQUIRE(files.ParseFromString(*bytes));
  return files;
}

TEST_CASE("protos only grow") {
  const Contents before(Stored()), now(SharedProtos());
  CHECK(before.size() > 300);
  CHECK(now.size() >= before.size());
  for (const std::string& name : before.ChangedIn(now)) FAIL_CHECK(name << " is gone or changed");
}

using Names = std::vector<std::string>;

DescriptorProto* Find(FileDescriptorSet* files, const std::string& name) {
  for (auto& file : *files->mutable_file()) {
    for (DescriptorProto& message : *file.mutable_message_type()) {
      if (message.name() == name) return &message;
    }
  }
  FAIL("no message " << name);
  return nullptr;
}

// After `damage` to today's protos.
template <typename Damage>
Names Noticed(const Damage& damage) {
  FileDescriptorSet files = SharedProtos();
  damage(&files);
  return Contents(SharedProtos()).ChangedIn(Contents(files));
}

TEST_CASE("a field of another number, type or name, or in another oneof, is noticed") {
  const Names noticed = {"sightline.v1.GenerationKey.space"};
  const auto change = [](const auto& how) {
    return Noticed(
        [&](FileDescriptorSet* files) { how(Find(files, "GenerationKey")->mutable_field(2)); });
  };
  CHECK(change([](FieldDescriptorProto* field) { field->set_number(4); }) == noticed);
  CHECK(change([](FieldDescriptorProto* field) {
          field->set_type(FieldDescriptorProto::TYPE_BYTES);
        }) == noticed);
  CHECK(change([](FieldDescriptorProto* field) { field->set_name("room"); }) == noticed);
  CHECK(Noticed([](FileDescriptorSet* files) {
          Find(files, "PairText")->mutable_field(0)->clear_oneof_index();
        }) == Names{"sightline.v1.PairText.text"});
}

TEST_CASE("a field may go if its number and its name are reserved") {
  const auto remove = [](bool name, bool number) {
    return Noticed([=](FileDescriptorSet* files) {
      DescriptorProto* const key = Find(files, "GenerationKey");
      key->mutable_field()->RemoveLast();
      if (name) key->add_reserved_name("space");
      if (!number) return;
      key->add_reserved_range()->set_start(3);
      key->mutable_reserved_range(0)->set_end(4);
    });
  };
  const Names noticed = {"sightline.v1.GenerationKey.space"};
  CHECK(remove(false, false) == noticed);
  CHECK(remove(true, false) == noticed);
  CHECK(remove(false, true) == noticed);
  CHECK(remove(true, true).empty());
}

TEST_CASE("a value of an enum or a method that changes is noticed") {
  CHECK(Noticed([](FileDescriptorSet* files) {
          Find(files, "Combination")->mutable_enum_type(0)->mutable_value(1)->set_number(7);
        }) == Names{"sightline.v1.Combination.Kind.REPLACE"});
  CHECK(Noticed([](FileDescriptorSet* files) {
          for (auto& file : *files->mutable_file()) {
            if (file.name() != "sightline/v1/admin.proto") continue;
            file.mutable_service(0)->mutable_method(0)->set_name("GetState");
          }
        }) == Names{"sightline.v1.Admin/GetStatus"});
}

}  // namespace
}  // namespace sightline
