#include "loadtest/report/json_fields.h"

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

std::string JsonReader::PathOf(absl::string_view key) const {
  return absl::StrCat(path_, path_.empty() ? "" : ".", CleanText(key, kMaxShownBytes));
}

void JsonReader::AddProblem(absl::string_view key, absl::string_view is_wrong) const {
  if (ok())
    document_->status = absl::InvalidArgumentError(absl::StrCat(PathOf(key), " ", is_wrong));
}

const Json& JsonReader::Find(const std::string& key) const {
  const auto found = json_.find(key);
  return found == json_.end() ? Null() : *found;
}

JsonReader JsonReader::Open(const Json& json, absl::string_view key) const {
  if (!json.is_object()) {
    AddProblem(key, absl::StrCat("must be an object, not ", json.type_name()));
  }
  return JsonReader(json.is_object() ? json : Null(), document_, PathOf(key));
}

const Json& JsonReader::Array(const char* key) const {
  const Json& value = Find(key);
  if (value.is_array()) return value;
  AddProblem(key, absl::StrCat("must be an array, not ", value.type_name()));
  return Null();
}

int64_t JsonReader::ReadInt(const std::string& key, int64_t low, int64_t high) const {
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

void JsonReader::Number(const char* key, double* value, double low, double high) const {
  const Json& json = Find(key);
  *value = json.is_number() ? json.get<double>() : low - 1;
  if (*value >= low && *value <= high) return;
  AddProblem(key, absl::StrCat("must be a number of ", low, " to ", high));
  *value = low;
}

void JsonReader::Plain(const char* key, bool* value) const {
  const Json& json = Find(key);
  *value = json.is_boolean() && json.get<bool>();
  if (!json.is_boolean()) AddProblem(key, "must be true or false");
}

void JsonReader::Plain(const std::string& key, std::string* value) const {
  const Json& json = Find(key);
  if (json.is_string()) {
    *value = json.get<std::string>();
  } else {
    AddProblem(key, absl::StrCat("must be a string, not ", json.type_name()));
  }
}

void JsonReader::Plain(const char* key, std::vector<std::string>* values) const {
  for (const Json& text : Array(key)) {
    if (!text.is_string()) return AddProblem(key, "must be an array of strings");
    values->push_back(text.get<std::string>());
  }
}

void JsonReader::Plain(const char* key, std::map<std::string, std::string>* values) const {
  const JsonReader map = Inner(key);
  for (const auto& [name, json] : map.json_.items()) map.Plain(name, &(*values)[name]);
}

void JsonReader::Counts(const char* key, std::map<std::string, int64_t>* counts,
                        int64_t high) const {
  const JsonReader map = Inner(key);
  for (const auto& [name, json] : map.json_.items()) map.Int(name, &(*counts)[name], 0, high);
}

void JsonReader::Nanoseconds(const char* key, absl::Duration* value, absl::Duration high) const {
  *value = absl::Nanoseconds(ReadInt(key, 0, absl::ToInt64Nanoseconds(high)));
}

void JsonReader::Nanoseconds(const char* key, absl::optional<absl::Duration>* value,
                             absl::Duration high) const {
  if (!Find(key).is_null()) Nanoseconds(key, &value->emplace(), high);
}

void JsonReader::NanosecondsOrNever(const char* key, absl::Duration* value,
                                    absl::Duration high) const {
  *value = absl::InfiniteDuration();
  if (!Find(key).is_null()) Nanoseconds(key, value, high);
}

void JsonReader::Time(const char* key, absl::Time* value) const {
  std::string text, why;
  Plain(key, &text);
  if (!absl::ParseTime(absl::RFC3339_full, text, value, &why)) {
    AddProblem(key, "must be a time such as 2026-01-31T12:00:00Z");
  }
}

void JsonReader::Index(const char* key, absl::optional<int>* value, size_t count) const {
  if (!Find(key).is_null()) {
    Int(key, &value->emplace(), 0, static_cast<int64_t>(count) - 1);
  }
}

}  // namespace sightline
