#include "common/formats/json_elements.h"

#include <algorithm>
#include <exception>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <streambuf>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kPieceBytes = int64_t{64} << 10;

// For messages: a key from a hostile file, short and printable.
std::string Shown(absl::string_view key) {
  return absl::StrCat("\"", EscapeUnlessPrintable(key.substr(0, 100)),
                      key.size() > 100 ? "..." : "", "\"");
}

// The file piece by piece.  It ends early, with status(), when a read fails or when too many
// bytes go by without a call of Mark: else the parser would gather a text of any length.
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(const RandomAccessFile* file)
      : file_(file), piece_(static_cast<size_t>(kPieceBytes)) {}

  const absl::Status& status() const { return status_; }
  int64_t position() const { return end_ - (egptr() - gptr()); }
  void Mark() { mark_ = position(); }
  bool IsTooFar() const { return position() - mark_ > kMaxJsonElementBytes; }

 protected:
  int_type underflow() override {
    const int64_t length = std::min(kPieceBytes, file_->size() - end_);
    if (!status_.ok() || length == 0) return traits_type::eof();
    if (IsTooFar()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("at byte ", position(), ": what began before byte ", mark_,
                       " is longer than ", kMaxJsonElementBytes, " bytes"));
      return traits_type::eof();
    }
    status_ = file_->Read(end_, length, piece_.data());
    if (!status_.ok()) return traits_type::eof();
    end_ += length;
    setg(piece_.data(), piece_.data(), piece_.data() + length);
    return traits_type::to_int_type(piece_[0]);
  }

 private:
  const RandomAccessFile* const file_;
  std::vector<char> piece_;
  int64_t end_ = 0;   // of what has been read
  int64_t mark_ = 0;  // where the parser held nothing
  absl::Status status_;
};

// Takes the file's JSON event by event.  depth_ 1 is inside of the outermost object, 2 of an
// array at one of its keys, 3 of an element.
class ElementHandler : public nlohmann::json_sax<Json> {
 public:
  ElementHandler(const std::map<std::string, TakeJsonElement>& arrays, FileBuffer* file)
      : arrays_(arrays), file_(file) {}

  // How it ended.
  absl::Status status() const {
    if (!status_.ok()) return status_;
    for (const auto& array : arrays_) {
      if (seen_.count(array.first) == 0) {
        return absl::InvalidArgumentError(absl::StrCat("has no array ", Shown(array.first)));
      }
    }
    return absl::OkStatus();
  }

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(int64_t value) override { return Value(value); }
  bool number_unsigned(uint64_t value) override { return Value(value); }
  bool number_float(double value, const std::string&) override { return Value(value); }
  bool string(std::string& value) override { return Value(std::move(value)); }
  bool binary(Json::binary_t&) override { return Refuse("binary data"); }
  bool start_object(std::size_t) override { return Open(Json::value_t::object); }
  bool start_array(std::size_t) override { return Open(Json::value_t::array); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& key) override {
    if (!open_.empty()) {
      key_ = std::move(key);
      return Go();
    }
    if (depth_ != 1) return Go();
    const auto array = arrays_.find(key);
    take_ = array == arrays_.end() ? nullptr : &array->second;
    array_ = std::move(key);
    index_ = 0;
    if (take_ != nullptr && !seen_.insert(array_).second) {
      return Refuse(absl::StrCat(Shown(array_), " comes twice"));
    }
    return Go();
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return Refuse("not JSON, or not UTF-8");
  }

 private:
  // After an event: whether to go on.
  bool Go() {
    if (open_.empty()) {
      file_->Mark();
    } else if (file_->IsTooFar()) {
      return Refuse(absl::StrCat(Element(), " is longer than ", kMaxJsonElementBytes, " bytes"));
    }
    return true;
  }

  bool Refuse(absl::string_view why) {
    // What the file itself reports comes first: the parser saw no more than an end.
    status_ = file_->status();
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("at byte ", file_->position(), ": ", why));
    }
    return false;
  }

  std::string Element() const { return absl::StrCat("element ", index_, " of ", Shown(array_)); }

  // What may stand where a value or a container begins, before depth_ counts it.
  bool Expects(Json::value_t type) {
    if (depth_ == 0 && type != Json::value_t::object) return Refuse("the file is no JSON object");
    if (take_ == nullptr) return true;
    if (depth_ == 1 && type != Json::value_t::array) {
      return Refuse(absl::StrCat(Shown(array_), " is no array"));
    }
    if (depth_ == 2 && type != Json::value_t::object) {
      return Refuse(absl::StrCat(Element(), " is no object"));
    }
    return true;
  }

  bool Value(Json value) {
    if (!Expects(value.type())) return false;
    if (!open_.empty()) Put(std::move(value));
    return Go();
  }

  bool Open(Json::value_t type) {
    if (!Expects(type)) return false;
    if (depth_ == kMaxJsonDepth) {
      return Refuse(absl::StrCat("more than ", kMaxJsonDepth, " objects and arrays in each other"));
    }
    ++depth_;
    if (take_ != nullptr && depth_ == 3) {
      element_ = Json::object();
      open_ = {&element_};
    } else if (!open_.empty()) {
      open_.push_back(Put(type));
    }
    return Go();
  }

  bool Close() {
    --depth_;
    if (depth_ == 1) take_ = nullptr;
    if (open_.empty()) return Go();
    open_.pop_back();
    if (!Go()) return false;
    if (!open_.empty()) return true;
    const absl::Status taken = (*take_)(element_);
    if (!taken.ok()) {
      status_ = Within(
          absl::StrCat("at byte ", file_->position(), ": ", Element(), ", which ends here"), taken);
      return false;
    }
    ++index_;
    return true;
  }

  // Adds to the innermost container; where it is then, which stays while that is open.
  Json* Put(Json value) {
    Json& parent = *open_.back();
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  const std::map<std::string, TakeJsonElement>& arrays_;
  FileBuffer* const file_;
  absl::Status status_;
  std::set<std::string> seen_;             // of arrays_
  int depth_ = 0;                          // containers that are open
  std::string array_;                      // the key at depth 1
  const TakeJsonElement* take_ = nullptr;  // of that array; null: it is passed over
  int64_t index_ = 0;                      // of the element in it
  Json element_;
  std::vector<Json*> open_;  // containers of the element, innermost last; empty outside
  std::string key_;          // the last one in them
};

absl::Status Parse(const RandomAccessFile& file, int64_t max_bytes,
                   const std::map<std::string, TakeJsonElement>& arrays) {
  if (file.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", file.size(), " bytes; the limit is ", max_bytes));
  }
  FileBuffer buffer(&file);
  std::istream stream(&buffer);
  ElementHandler handler(arrays, &buffer);
  try {
    Json::sax_parse(stream, &handler);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("at byte ", buffer.position(), ": cannot be read: ", error.what()));
  }
  RETURN_IF_ERROR(buffer.status());
  return handler.status();
}

// The value at `key`, of which `is` holds.
absl::StatusOr<const Json*> At(const Json& element, const char* key, bool (*is)(const Json&),
                               absl::string_view what) {
  const auto found = element.find(key);
  if (found == element.end()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is missing"));
  }
  if (is(*found)) return &*found;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" must be ", what, ", not ", found->type_name()));
}

bool IsText(const Json& value) {
  return value.is_string();
}

// Within the range of int64_t.
bool IsInteger(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= INT64_MAX;
  return value.is_number_integer();
}

bool IsArray(const Json& value) {
  return value.is_array();
}

bool IsId(const Json& value) {
  return IsText(value) || IsInteger(value);
}

}  // namespace

absl::Status ForEachJsonElement(absl::string_view path, int64_t max_bytes,
                                const std::map<std::string, TakeJsonElement>& arrays) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  const absl::Status read = Parse(*file, max_bytes, arrays);
  return IsFailedRead(read) ? read : WithPrefix(read, path);
}

absl::StatusOr<std::string> JsonText(const Json& element, const char* key) {
  ASSIGN_OR_RETURN(const Json* value, At(element, key, IsText, "a text"));
  return value->get<std::string>();
}

absl::StatusOr<int64_t> JsonInteger(const Json& element, const char* key) {
  ASSIGN_OR_RETURN(const Json* value, At(element, key, IsInteger, "a whole number"));
  return value->get<int64_t>();
}

absl::StatusOr<const Json*> JsonArray(const Json& element, const char* key) {
  return At(element, key, IsArray, "an array");
}

absl::StatusOr<std::string> JsonId(const Json& element, const char* key) {
  ASSIGN_OR_RETURN(const Json* value, At(element, key, IsId, "a text or a whole number"));
  if (value->is_string()) return value->get<std::string>();
  return absl::StrCat(value->get<int64_t>());
}

}  // namespace sightline
