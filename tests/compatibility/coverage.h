// Which fields and which values of enums messages have, and which they could have.
#ifndef SIGHTLINE_TESTS_COMPATIBILITY_COVERAGE_H_
#define SIGHTLINE_TESTS_COMPATIBILITY_COVERAGE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <set>
#include <string>
#include <vector>

namespace sightline {

using Names = std::set<std::string>;

// Adds the full names of what is set in `message` and in those that it holds.
inline void AddWhatIsSet(const google::protobuf::Message& message, Names* names) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    names->insert(field->full_name());
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        AddWhatIsSet(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                          : reflection.GetMessage(message, field),
                     names);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
        names->insert((field->is_repeated() ? reflection.GetRepeatedEnum(message, field, i)
                                            : reflection.GetEnum(message, field))
                          ->full_name());
      }
    }
  }
}

inline void AddEnum(const google::protobuf::EnumDescriptor& type, Names* names) {
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names->insert(type.value(i)->full_name());
  }
}

inline void AddMessage(const google::protobuf::Descriptor& type, Names* names) {
  for (int i = 0; i < type.field_count(); ++i) names->insert(type.field(i)->full_name());
  for (int i = 0; i < type.enum_type_count(); ++i) AddEnum(*type.enum_type(i), names);
  for (int i = 0; i < type.nested_type_count(); ++i) AddMessage(*type.nested_type(i), names);
}

// What the messages of a file could have set, the zeros of enums aside.
inline Names WhatCouldBeSet(const google::protobuf::FileDescriptor& file) {
  Names names;
  for (int i = 0; i < file.enum_type_count(); ++i) AddEnum(*file.enum_type(i), &names);
  for (int i = 0; i < file.message_type_count(); ++i) AddMessage(*file.message_type(i), &names);
  return names;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMPATIBILITY_COVERAGE_H_
