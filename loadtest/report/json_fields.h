// A document's fields, named once for both ways.  A description is a template over who walks
// it: JsonWriter makes JSON of the values it is pointed to, JsonReader sets them from JSON.
//
//   template <typename Json, typename T>  // T: Second, or const Second to be written
//   void DescribeSecond(Json& json, T* second) {
//     json.Int("sent", &second->sent, 0, kMaxCount);
//     json.Object("tally", [&](Json& tally) { DescribeTally(tally, &second->tally); });
//   }
//
// The writer looks at no bounds.  The reader takes JSON from anybody: the first thing that is
// wrong is kept, with the path of its key ("seconds[3].tally.ok must be ..."), and what comes
// after it is read as nothing.
#ifndef SIGHTLINE_LOADTEST_REPORT_JSON_FIELDS_H_
#define SIGHTLINE_LOADTEST_REPORT_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// The fields of one object.  Points to `object`, which outlives it.
class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;  // keys in the order in which they are described

  explicit JsonWriter(Json* object) : json_(*object) {}

  // Numbers, true or false, strings, and lists and maps of these.
  template <typename T>
  void Int(const char* key, const T* value, int64_t /*low*/, int64_t /*high*/) {
    json_[key] = *value;
  }
  void Number(const char* key, const double* value, double /*low*/, double /*high*/) {
    json_[key] = *value;
  }
  template <typename T>
  void Plain(const char* key, const T* value) {
    json_[key] = *value;
  }
  void Counts(const char* key, const std::map<std::string, int64_t>* counts, int64_t /*high*/) {
    json_[key] = *counts;
  }
  // None: not there.
  void OptionalCounts(const char* key, const std::map<std::string, int64_t>* counts, int64_t high) {
    if (!counts->empty()) Counts(key, counts, high);
  }

  // Whole nanoseconds.
  void Nanoseconds(const char* key, const absl::Duration* value, absl::Duration /*high*/) {
    json_[key] = absl::ToInt64Nanoseconds(*value);
  }
  // Null for what is not there, or never ends.
  void Nanoseconds(const char* key, const absl::optional<absl::Duration>* value,
                   absl::Duration high) {
    json_[key] = nullptr;
    if (value->has_value()) Nanoseconds(key, &**value, high);
  }
  void NanosecondsOrNever(const char* key, const absl::Duration* value, absl::Duration high) {
    json_[key] = nullptr;
    if (*value != absl::InfiniteDuration()) Nanoseconds(key, value, high);
  }
  void Time(const char* key, const absl::Time* value) {
    json_[key] = absl::FormatTime(absl::RFC3339_full, *value, absl::UTCTimeZone());
  }
  // One of `values`, by its name.
  template <typename T>
  void Named(const char* key, const T* value, std::initializer_list<T> /*values*/,
             const char* (*name)(T)) {
    json_[key] = name(*value);
  }
  // Null for none.
  void Index(const char* key, const absl::optional<int>* value, size_t /*count*/) {
    json_[key] = value->has_value() ? Json(**value) : Json();
  }

  template <typename F>
  void Object(const char* key, F describe) {
    JsonWriter object(&(json_[key] = Json::object()));
    describe(object);
  }
  // No key for none.
  template <typename T, typename F>
  void OptionalObject(const char* key, const absl::optional<T>* value, F describe) {
    if (value->has_value()) Object(key, [&](JsonWriter& object) { describe(object, &**value); });
  }
  // Lists and maps of objects.
  template <typename T, typename F>
  void List(const char* key, const std::vector<T>* values, F describe) {
    Json& list = json_[key] = Json::array();
    for (const T& value : *values) {
      list.push_back(Json::object());
      JsonWriter element(&list.back());
      describe(element, &value);
    }
  }
  // No key for none.
  template <typename T, typename F>
  void OptionalList(const char* key, const std::vector<T>* values, F describe) {
    if (!values->empty()) List(key, values, describe);
  }
  template <typename T, typename F>
  void Map(const char* key, const std::map<std::string, T>* values, F describe) {
    Json& map = json_[key] = Json::object();
    for (const auto& [name, value] : *values) {
      JsonWriter member(&(map[name] = Json::object()));
      describe(member, &value);
    }
  }

  // For what is described otherwise than it is kept.
  Json& operator[](const char* key) { return json_[key]; }

 private:
  Json& json_;
};

// As JsonWriter, the other way.
class JsonReader {
 public:
  using Json = nlohmann::json;

  // What the readers of all objects of a document share.
  struct Document {
    absl::Status status;
    size_t bytes = 0;  // that histograms take
  };

  // Points to both, which outlive it.
  JsonReader(const Json& object, Document* document) : JsonReader(object, document, "") {}

  template <typename T>
  void Int(const std::string& key, T* value, int64_t low, int64_t high) const {
    *value = static_cast<T>(ReadInt(key, low, high));
  }
  void Number(const char* key, double* value, double low, double high) const;
  void Plain(const char* key, bool* value) const;
  void Plain(const std::string& key, std::string* value) const;
  void Plain(const char* key, std::vector<std::string>* values) const;
  void Plain(const char* key, std::map<std::string, std::string>* values) const;
  void Counts(const char* key, std::map<std::string, int64_t>* counts, int64_t high) const;
  void OptionalCounts(const char* key, std::map<std::string, int64_t>* counts, int64_t high) const {
    if (!Find(key).is_null()) Counts(key, counts, high);
  }
  // Zero to `high`.
  void Nanoseconds(const char* key, absl::Duration* value, absl::Duration high) const;
  void Nanoseconds(const char* key, absl::optional<absl::Duration>* value,
                   absl::Duration high) const;
  void NanosecondsOrNever(const char* key, absl::Duration* value, absl::Duration high) const;
  void Time(const char* key, absl::Time* value) const;
  template <typename T>
  void Named(const char* key, T* value, std::initializer_list<T> values,
             const char* (*name)(T)) const {
    std::string word, allowed;
    Plain(key, &word);
    for (const T one : values) {
      if (word == name(*value = one)) return;
      absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", name(one));
    }
    AddProblem(key, absl::StrCat("must be one of: ", allowed));
  }
  void Index(const char* key, absl::optional<int>* value, size_t count) const;

  template <typename F>
  void Object(const char* key, F describe) const {
    JsonReader object = Inner(key);
    describe(object);
  }
  template <typename T, typename F>
  void OptionalObject(const char* key, absl::optional<T>* value, F describe) const {
    if (!Find(key).is_null())
      Object(key, [&](auto& object) { describe(object, &value->emplace()); });
  }
  template <typename T, typename F>
  void List(const char* key, std::vector<T>* values, F describe) const {
    const Json& list = Array(key);
    for (size_t i = 0; i < list.size() && ok(); ++i) {
      JsonReader element = Open(list[i], absl::StrCat(key, "[", i, "]"));
      describe(element, &values->emplace_back());
    }
  }
  template <typename T, typename F>
  void OptionalList(const char* key, std::vector<T>* values, F describe) const {
    if (!Find(key).is_null()) List(key, values, describe);
  }
  template <typename T, typename F>
  void Map(const char* key, std::map<std::string, T>* values, F describe) const {
    const JsonReader map = Inner(key);
    for (const auto& [name, json] : map.json_.items()) {
      if (!ok()) return;
      JsonReader member = map.Open(json, name);
      describe(member, &(*values)[name]);
    }
  }

  // The array at `key`; a null one after a problem.
  const Json& Array(const char* key) const;
  // Notes that what is at `key` `is_wrong` ("must be ..."), unless something was wrong before.
  void AddProblem(absl::string_view key, absl::string_view is_wrong) const;
  bool ok() const { return document_->status.ok(); }
  Document* document() const { return document_; }

 private:
  JsonReader(const Json& object, Document* document, std::string path)
      : json_(object), document_(document), path_(std::move(path)) {}

  const Json& Find(const std::string& key) const;  // null where there is nothing
  JsonReader Inner(const std::string& key) const { return Open(Find(key), key); }
  // An object inside this one; an empty one after a problem.
  JsonReader Open(const Json& json, absl::string_view key) const;
  int64_t ReadInt(const std::string& key, int64_t low, int64_t high) const;
  std::string PathOf(absl::string_view key) const;

  const Json& json_;
  Document* const document_;
  const std::string path_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_JSON_FIELDS_H_
