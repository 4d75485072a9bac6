#include "common/formats/npy.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clean_text.h"
#include "common/base/float16.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderLength = 1 << 16;

absl::Status Malformed(absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("not an npy array: ", problem));
}

int64_t SizeOf(NpyType type) {
  switch (type) {
    case NpyType::kFloat16:
      return 2;
    case NpyType::kFloat32:
      return 4;
    case NpyType::kFloat64:
      return 8;
  }
  return 0;
}

// Reads the header's dictionary, a Python literal with exactly the keys descr,
// fortran_order and shape.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<NpyArray> Parse() {
    RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      ASSIGN_OR_RETURN(const absl::string_view key, String());
      RETURN_IF_ERROR(Expect(':'));
      RETURN_IF_ERROR(Value(key));
      if (Take(',')) continue;
      RETURN_IF_ERROR(Expect('}'));
      break;
    }
    SkipSpace();
    if (!rest_.empty()) return Malformed("its header goes on behind the dictionary");
    if (!has_type_ || !has_order_ || !has_shape_) {
      return Malformed("its header lacks one of descr, fortran_order and shape");
    }
    return array_;
  }

 private:
  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Malformed(absl::StrCat("its header wants a '", std::string(1, c), "' before \"",
                                  EscapeUnlessPrintable(rest_.substr(0, 20)), "\""));
  }

  absl::StatusOr<absl::string_view> String() {
    const char quote = Take('\'') ? '\'' : '"';
    if (quote == '"') RETURN_IF_ERROR(Expect('"'));
    const size_t end = rest_.find(quote);
    if (end == absl::string_view::npos) return Malformed("a string of its header does not end");
    const absl::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::Status Value(absl::string_view key) {
    bool* const known = key == "descr"           ? &has_type_
                        : key == "fortran_order" ? &has_order_
                        : key == "shape"         ? &has_shape_
                                                 : nullptr;
    if (known == nullptr || *known) {
      return Malformed(absl::StrCat("its header has the key \"",
                                    EscapeUnlessPrintable(key.substr(0, 40)),
                                    "\", unknown or for the second time"));
    }
    *known = true;
    if (known == &has_type_) return Type();
    return known == &has_order_ ? Order() : Shape();
  }

  absl::Status Type() {
    SkipSpace();
    if (absl::StartsWith(rest_, "[")) {
      return absl::InvalidArgumentError("an array of records; save each field by itself");
    }
    ASSIGN_OR_RETURN(const absl::string_view type, String());
    if (type == "<f2") {
      array_.type = NpyType::kFloat16;
    } else if (type == "<f4") {
      array_.type = NpyType::kFloat32;
    } else if (type == "<f8") {
      array_.type = NpyType::kFloat64;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("an array of type ", EscapeUnlessPrintable(type.substr(0, 40)),
                       "; <f2, <f4 and <f8 are read",
                       absl::StrContains(type, "O") ? ", pickled Python objects never" : ""));
    }
    return absl::OkStatus();
  }

  absl::Status Order() {
    SkipSpace();
    array_.fortran_order = absl::ConsumePrefix(&rest_, "True");
    if (array_.fortran_order || absl::ConsumePrefix(&rest_, "False")) return absl::OkStatus();
    return Malformed("fortran_order is neither True nor False");
  }

  absl::Status Shape() {
    RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      SkipSpace();
      const size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t extent = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, length), &extent)) {
        return Malformed("its shape is no tuple of numbers");
      }
      rest_.remove_prefix(length);
      if (array_.shape.size() == kMaxNpyRank) {
        return Malformed(absl::StrCat("more than ", kMaxNpyRank, " dimensions"));
      }
      array_.shape.push_back(extent);
      if (Take(',')) continue;
      RETURN_IF_ERROR(Expect(')'));
      break;
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
  NpyArray array_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

absl::Status CheckLength(const NpyArray& array) {
  int64_t length = SizeOf(array.type);
  bool too_long = false;
  for (const int64_t extent : array.shape) {
    too_long = too_long || __builtin_mul_overflow(length, extent, &length);
  }
  if (!too_long && length == static_cast<int64_t>(array.data.size())) return absl::OkStatus();
  return Malformed(absl::StrCat("its ", array.data.size(),
                                " bytes of data are not what its shape says; the file is "
                                "truncated or damaged"));
}

}  // namespace

int64_t NpyArray::element_count() const {
  return static_cast<int64_t>(data.size()) / SizeOf(type);
}

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, kMagic.size()) != kMagic) {
    return Malformed("it does not begin as one");
  }
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) return Malformed(absl::StrCat("format version ", version));
  const size_t begin = version == 1 ? 10 : 12;
  const size_t length = version == 1 ? LoadLittleEndian<uint16_t>(bytes.data() + 8)
                                     : LoadLittleEndian<uint32_t>(bytes.data() + 8);
  if (length > kMaxHeaderLength || length > bytes.size() - begin) {
    return Malformed(absl::StrCat("a header of ", length, " bytes in a file of ", bytes.size()));
  }
  ASSIGN_OR_RETURN(NpyArray array, HeaderParser(bytes.substr(begin, length)).Parse());
  if (array.fortran_order && array.shape.size() > 2) {
    return absl::InvalidArgumentError(
        "an array of more than two dimensions in Fortran order; save numpy.ascontiguousarray "
        "of it");
  }
  array.data = bytes.substr(begin + length);
  RETURN_IF_ERROR(CheckLength(array));
  return array;
}

void ReadNpyElements(const NpyArray& array, int64_t begin, int64_t count, float* to) {
  const char* const from = array.data.data() + begin * SizeOf(array.type);
  switch (array.type) {
    case NpyType::kFloat16:
      Float16ToFloat32(from, static_cast<size_t>(count), to);
      break;
    case NpyType::kFloat32:
      if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      break;
    case NpyType::kFloat64:
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(LoadLittleEndian<double>(from + i * 8));
      }
      break;
  }
}

std::vector<float> NpyValues(const NpyArray& array) {
  std::vector<float> lying(static_cast<size_t>(array.element_count()));
  ReadNpyElements(array, 0, array.element_count(), lying.data());
  if (!array.fortran_order || array.shape.size() != 2 || lying.empty()) return lying;
  const int64_t rows = array.shape[0], columns = array.shape[1];
  std::vector<float> values(lying.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      values[row * columns + column] = lying[column * rows + row];
    }
  }
  return values;
}

}  // namespace sightline
