#include "common/formats/safetensors.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr uint64_t kMaxHeaderLength = 100'000'000;  // the reference implementation's
constexpr size_t kMaxRank = 16;
constexpr size_t kMaxTensors = 65536;
constexpr absl::string_view kMetadataKey = "__metadata__";

struct DtypeEntry {
  const char* name;
  TensorDtype dtype;
  size_t size;
};

constexpr DtypeEntry kDtypes[] = {
    {"F64", TensorDtype::kF64, 8},   {"F32", TensorDtype::kF32, 4}, {"F16", TensorDtype::kF16, 2},
    {"BF16", TensorDtype::kBf16, 2}, {"I64", TensorDtype::kI64, 8}, {"I32", TensorDtype::kI32, 4},
    {"I16", TensorDtype::kI16, 2},   {"I8", TensorDtype::kI8, 1},   {"U8", TensorDtype::kU8, 1},
    {"BOOL", TensorDtype::kBool, 1},
};

const DtypeEntry& EntryOf(TensorDtype dtype) {
  return *std::find_if(std::begin(kDtypes), std::end(kDtypes),
                       [&](const DtypeEntry& entry) { return entry.dtype == dtype; });
}

// For messages: a name from a hostile file, short and printable.
std::string Shown(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), text.size() > 100 ? "..." : "",
                      "'");
}

// One tensor as the header describes it.
struct Entry {
  TensorDtype dtype = TensorDtype::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> data_offsets;
  std::set<std::string> fields;  // that were given
};

// Takes the header's JSON event by event, so that there is never a tree whose size or
// depth the file decides, and a key that comes twice is seen.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string problem;  // of the first event that was refused

  bool start_object(std::size_t) override {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    if (depth_ != 1) return Refuse("an object where none belongs");
    depth_ = 2;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) {
      const Entry& entry = entries[name_];
      if (entry.fields.size() != 3) return Refuse("dtype, shape or data_offsets is missing");
      if (entry.data_offsets.size() != 2) return Refuse("data_offsets are not two numbers");
    }
    --depth_;
    return true;
  }

  bool key(std::string& key) override {
    if (depth_ == 2) return Field(key);
    name_ = key;
    in_metadata_ = key == kMetadataKey;
    if (in_metadata_) {
      if (std::exchange(has_metadata_, true)) return Refuse("it comes twice");
      return true;
    }
    if (entries.size() >= kMaxTensors) return Refuse("more than 65536 tensors");
    if (!entries.emplace(key, Entry()).second) return Refuse("it comes twice");
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ != 2 || in_array_) return Refuse("a text where none belongs");
    if (in_metadata_) {
      metadata[field_] = value;
      return true;
    }
    if (field_ != "dtype") return Refuse(absl::StrCat(field_, " is a text"));
    for (const DtypeEntry& known : kDtypes) {
      if (value == known.name) {
        entries[name_].dtype = known.dtype;
        return true;
      }
    }
    return Refuse(absl::StrCat("dtype ", Shown(value), " is not supported"));
  }

  bool start_array(std::size_t) override {
    const bool expected = depth_ == 2 && !in_metadata_ && !in_array_ &&
                          (field_ == "shape" || field_ == "data_offsets");
    if (!expected) return Refuse("an array where none belongs");
    in_array_ = true;
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (!in_array_) return Refuse("a number where none belongs");
    if (value > INT64_MAX) return Refuse(absl::StrCat(field_, " holds ", value));
    Entry& entry = entries[name_];
    std::vector<int64_t>& numbers = field_ == "shape" ? entry.shape : entry.data_offsets;
    if (numbers.size() == kMaxRank) return Refuse(absl::StrCat(field_, " is too long"));
    numbers.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool null() override { return Refuse("null"); }
  bool boolean(bool) override { return Refuse("a truth value"); }
  bool number_integer(int64_t value) override { return Refuse(absl::StrCat("the number ", value)); }
  bool number_float(double, const std::string&) override {
    return Refuse("a number that is not whole");
  }
  bool binary(nlohmann::json::binary_t&) override { return Refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem = absl::StrCat("the header is not JSON at byte ", position);
    return false;
  }

 private:
  bool Field(const std::string& field) {
    field_ = field;
    if (in_metadata_) {
      return metadata.emplace(field, "").second || Refuse("a key comes twice");
    }
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return Refuse(absl::StrCat("unknown field ", Shown(field)));
    }
    return entries[name_].fields.insert(field).second ||
           Refuse(absl::StrCat(field, " comes twice"));
  }

  bool Refuse(absl::string_view why) {
    problem = name_.empty() ? absl::StrCat("malformed header: ", why)
                            : absl::StrCat("tensor ", Shown(name_), ": ", why);
    return false;
  }

  int depth_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
  bool has_metadata_ = false;
  std::string name_;   // key at depth 1
  std::string field_;  // key at depth 2
};

absl::StatusOr<int64_t> ByteCount(const Entry& entry) {
  auto count = static_cast<int64_t>(TensorDtypeSize(entry.dtype));
  bool overflow = false;
  for (const int64_t extent : entry.shape) {
    overflow = overflow || __builtin_mul_overflow(count, extent, &count);
  }
  if (overflow) return absl::DataLossError("the shape gives more than 2^63 bytes");
  return count;
}

// Whether the tensors fill the `length` bytes of data, without holes and overlaps.
absl::Status CheckOffsets(const std::map<std::string, Entry>& entries, int64_t length) {
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.data_offsets < b->second.data_offsets;
  });
  int64_t end = 0;
  for (const auto* item : order) {
    const std::string& name = item->first;
    const Entry& entry = item->second;
    const int64_t first = entry.data_offsets[0];
    const int64_t last = entry.data_offsets[1];
    const auto refuse = [&](absl::string_view why) {
      return absl::DataLossError(absl::StrCat("tensor ", Shown(name), " at [", first, ", ", last,
                                              ") of ", length, " bytes: ", why));
    };
    if (first > last || last > length) return refuse("outside of the data");
    if (first != end) return refuse(absl::StrCat("overlap or hole, expected to start at ", end));
    const absl::StatusOr<int64_t> bytes = ByteCount(entry);
    if (!bytes.ok()) return refuse(bytes.status().message());
    if (*bytes != last - first) {
      return refuse(absl::StrCat("dtype and shape give ", *bytes, " bytes"));
    }
    end = last;
  }
  if (end != length) {
    return absl::DataLossError(
        absl::StrCat("tensors end at ", end, " of ", length, " bytes of data"));
  }
  return absl::OkStatus();
}

}  // namespace

size_t TensorDtypeSize(TensorDtype dtype) {
  return EntryOf(dtype).size;
}

absl::StatusOr<std::unique_ptr<Safetensors>> Safetensors::Open(absl::string_view path) {
  std::unique_ptr<Safetensors> file(new Safetensors);
  ASSIGN_OR_RETURN(file->file_, MappedFile::Open(path));
  RETURN_IF_ERROR(WithPrefix(file->Parse(file->file_->bytes()), path));
  return file;
}

absl::StatusOr<std::unique_ptr<Safetensors>> Safetensors::FromBytes(absl::string_view bytes) {
  std::unique_ptr<Safetensors> file(new Safetensors);
  RETURN_IF_ERROR(file->Parse(bytes));
  return file;
}

absl::Status Safetensors::Parse(absl::string_view bytes) {
  if (bytes.size() < sizeof(uint64_t)) {
    return absl::DataLossError(absl::StrCat("truncated: ", bytes.size(), " bytes"));
  }
  const auto header_length = LoadLittleEndian<uint64_t>(bytes.data());
  bytes.remove_prefix(sizeof(uint64_t));
  if (header_length > kMaxHeaderLength || header_length > bytes.size()) {
    return absl::DataLossError(absl::StrCat("a header of ", header_length, " bytes in ",
                                            bytes.size(), " (at most ", kMaxHeaderLength, ")"));
  }
  const absl::string_view header = bytes.substr(0, header_length);
  const absl::string_view data = bytes.substr(header_length);
  // The format says so; it keeps a byte order mark and leading blanks out.
  if (header.empty() || header.front() != '{') {
    return absl::DataLossError("the header does not begin with '{'");
  }
  HeaderHandler handler;
  try {
    if (!nlohmann::json::sax_parse(header.begin(), header.end(), &handler)) {
      return absl::DataLossError(handler.problem);
    }
  } catch (const std::exception& error) {
    return absl::DataLossError(absl::StrCat("the header cannot be read: ", error.what()));
  }
  RETURN_IF_ERROR(CheckOffsets(handler.entries, static_cast<int64_t>(data.size())));
  for (auto& [name, entry] : handler.entries) {
    const int64_t begin = entry.data_offsets[0];
    const int64_t length = entry.data_offsets[1] - begin;
    tensors_[name] = TensorView{entry.dtype, std::move(entry.shape), data.substr(begin, length)};
  }
  metadata_ = std::move(handler.metadata);
  return absl::OkStatus();
}

std::string SafetensorsHeader(const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string header = "{";
  const auto begin_entry = [&](const std::string& key) {
    absl::StrAppend(&header, header.size() == 1 ? "" : ",", quoted(key), ":{");
  };
  if (!metadata.empty()) {
    begin_entry(std::string(kMetadataKey));
    const char* separator = "";
    for (const auto& [key, value] : metadata) {
      absl::StrAppend(&header, std::exchange(separator, ","), quoted(key), ":", quoted(value));
    }
    header += "}";
  }
  size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    size_t bytes = TensorDtypeSize(tensor.dtype);
    for (const int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
    begin_entry(name);
    absl::StrAppend(&header, "\"dtype\":\"", EntryOf(tensor.dtype).name, "\",\"shape\":[");
    const char* separator = "";
    for (const int64_t extent : tensor.shape) {
      absl::StrAppend(&header, std::exchange(separator, ","), extent);
    }
    absl::StrAppend(&header, "],\"data_offsets\":[", offset, ",", offset + bytes, "]}");
    offset += bytes;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';

  std::string beginning;
  AppendLittleEndian(static_cast<uint64_t>(header.size()), &beginning);
  return beginning + header;
}

std::string SerializeSafetensors(const std::map<std::string, TensorView>& tensors,
                                 const std::map<std::string, std::string>& metadata) {
  std::string file = SafetensorsHeader(tensors, metadata);
  size_t length = file.size();
  for (const auto& [name, tensor] : tensors) length += tensor.bytes.size();
  file.reserve(length);
  for (const auto& [name, tensor] : tensors) file.append(tensor.bytes.data(), tensor.bytes.size());
  return file;
}

}  // namespace sightline
