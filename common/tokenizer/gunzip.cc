#include "common/tokenizer/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr size_t kPieceBytes = size_t{1} << 16;

absl::Status TooLong(size_t max_bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("the content has more than the ", max_bytes, " bytes that are taken"));
}

// zlib's state, which must not move.
class Inflater {
 public:
  explicit Inflater(absl::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    // 16: with gzip's header and checksum.
    ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK;
  }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the content of the next member.
  absl::Status AppendMember(size_t max_bytes, std::string* content) {
    if (!ready_) return absl::InternalError("zlib cannot start");
    for (int result = Z_OK; result != Z_STREAM_END;) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
      stream_.avail_out = static_cast<uInt>(piece_.size());
      result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) {
        return absl::InvalidArgumentError(
            absl::StrCat("the gzip file is ", result == Z_BUF_ERROR ? "cut off" : "damaged", ", ",
                         stream_.avail_in, " bytes before its end"));
      }
      const size_t size = piece_.size() - stream_.avail_out;
      if (size > max_bytes - content->size()) return TooLong(max_bytes);
      content->append(piece_.data(), size);
    }
    inflateReset(&stream_);
    return absl::OkStatus();
  }

  bool AtEnd() const { return stream_.avail_in == 0; }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  std::vector<char> piece_ = std::vector<char>(kPieceBytes);
};

}  // namespace

absl::StatusOr<std::string> GunzipIfGzipped(absl::string_view bytes, size_t max_bytes) {
  if (bytes.size() > std::min<size_t>(max_bytes, std::numeric_limits<uInt>::max())) {
    return TooLong(max_bytes);
  }
  if (!absl::StartsWith(bytes, kGzipMagic)) return std::string(bytes);
  std::string content;
  Inflater inflater(bytes);
  do {
    RETURN_IF_ERROR(inflater.AppendMember(max_bytes, &content));
  } while (!inflater.AtEnd());
  return content;
}

}  // namespace sightline
