#include "loadtest/report/json_node.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxShownBytes = 80;

const Json& Null() {
  static const Json* const null = new Json();
  return *null;
}

}  // namespace

std::string JsonNode::PathOf(absl::string_view key) const {
  return absl::StrCat(path_, path_.empty() ? "" : ".", key);
}

void JsonNode::AddProblem(absl::string_view key, absl::string_view is_wrong) const {
  if (!status_->ok()) return;
  *status_ = absl::InvalidArgumentError(absl::StrCat(PathOf(key), " ", is_wrong));
}

const Json& JsonNode::Find(const char* key) const {
  if (!json_->is_object()) return Null();
  const auto found = json_->find(key);
  return found == json_->end() ? Null() : *found;
}

bool JsonNode::Has(const char* key) const {
  return !Find(key).is_null();
}

const Json& JsonNode::Object(const char* key) const {
  const Json& value = Find(key);
  if (value.is_object()) return value;
  AddProblem(key, absl::StrCat("must be an object, not ", value.type_name()));
  return Null();
}

const Json& JsonNode::Array(const char* key) const {
  const Json& value = Find(key);
  if (value.is_array()) return value;
  AddProblem(key, absl::StrCat("must be an array, not ", value.type_name()));
  return Null();
}

JsonNode JsonNode::operator[](const char* key) const {
  return JsonNode(Object(key), status_, PathOf(key));
}

int64_t JsonNode::Int(const char* key, int64_t low, int64_t high) const {
  const Json& value = Find(key);
  // The parser makes unsigned numbers of what has no sign, up to 2^64.
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                        : value.is_number_integer();
  if (fits && value.get<int64_t>() >= low && value.get<int64_t>() <= high) {
    return value.get<int64_t>();
  }
  AddProblem(key, absl::StrCat("must be a whole number of ", low, " to ", high));
  return low;
}

double JsonNode::Number(const char* key, double low, double high) const {
  const Json& value = Find(key);
  if (value.is_number() && value.get<double>() >= low && value.get<double>() <= high) {
    return value.get<double>();
  }
  AddProblem(key, absl::StrCat("must be a number of ", low, " to ", high));
  return low;
}

bool JsonNode::Bool(const char* key) const {
  const Json& value = Find(key);
  if (value.is_boolean()) return value.get<bool>();
  AddProblem(key, "must be true or false");
  return false;
}

std::string JsonNode::String(const char* key) const {
  const Json& value = Find(key);
  if (value.is_string()) return value.get<std::string>();
  AddProblem(key, absl::StrCat("must be a string, not ", value.type_name()));
  return "";
}

absl::Duration JsonNode::Nanoseconds(const char* key, absl::Duration high) const {
  return absl::Nanoseconds(Int(key, 0, absl::ToInt64Nanoseconds(high)));
}

absl::optional<absl::Duration> JsonNode::OptionalNanoseconds(const char* key,
                                                             absl::Duration high) const {
  if (!Has(key)) return absl::nullopt;
  return Nanoseconds(key, high);
}

void JsonNode::ForEach(const char* key,
                       const std::function<void(const JsonNode& element)>& take) const {
  size_t index = 0;
  for (const Json& element : Array(key)) {
    const std::string name = absl::StrCat(key, "[", index++, "]");
    if (!element.is_object()) {
      AddProblem(name, absl::StrCat("must be an object, not ", element.type_name()));
    }
    if (!ok()) return;
    take(JsonNode(element, status_, PathOf(name)));
  }
}

void JsonNode::ForEachMember(
    const char* key,
    const std::function<void(const std::string& name, const JsonNode& value)>& take) const {
  for (const auto& [name, value] : Object(key).items()) {
    const std::string shown = absl::StrCat(key, ".", CleanText(name, kMaxShownBytes));
    if (!value.is_object()) {
      AddProblem(shown, absl::StrCat("must be an object, not ", value.type_name()));
    }
    if (!ok()) return;
    take(name, JsonNode(value, status_, PathOf(shown)));
  }
}

}  // namespace sightline
