// ZIP archives, made without a library.
//
//   ZipWriter zip;
//   zip.Add("a.npy", content, /*deflate=*/true);
//   std::string bytes = zip.Finish();
#ifndef SIGHTLINE_TESTS_COMMON_FORMATS_ZIP_WRITER_H_
#define SIGHTLINE_TESTS_COMMON_FORMATS_ZIP_WRITER_H_

#include <zlib.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sightline {

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value);
  return text;
}

inline uint32_t Crc32(absl::string_view content) {
  return crc32(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
}

inline std::string Deflated(absl::string_view content) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = content.size();
  stream.next_out = reinterpret_cast<Bytef*>(&out[0]);
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Local headers are as numpy writes them, their sizes in ZIP64 fields.
class ZipWriter {
 public:
  // With `zip64`, all numbers stand where archives beyond 4 GB have them, behind an extra
  // field of another kind.
  explicit ZipWriter(bool zip64 = false) : zip64_(zip64) {}

  void Add(absl::string_view name, absl::string_view content, bool deflate = false) {
    const std::string raw = deflate ? Deflated(content) : std::string(content);
    const std::string sizes =
        absl::StrCat(LittleEndian(content.size(), 8), LittleEndian(raw.size(), 8));
    const std::string offset = LittleEndian(bytes_.size(), 8);
    const std::string local_extra = absl::StrCat(LittleEndian(1, 2), LittleEndian(16, 2), sizes);
    const std::string time(5, 't');
    const std::string extra =
        zip64_ ? absl::StrCat("UT", LittleEndian(time.size(), 2), time, LittleEndian(1, 2),
                              LittleEndian(24, 2), sizes, offset)
               : "";
    const std::string common =
        absl::StrCat(LittleEndian(20, 2), LittleEndian(0, 2), LittleEndian(deflate ? 8 : 0, 2),
                     LittleEndian(0, 4), LittleEndian(Crc32(content), 4));
    absl::StrAppend(&bytes_, "PK\x03\x04", common, LittleEndian(kElsewhere, 4),
                    LittleEndian(kElsewhere, 4), LittleEndian(name.size(), 2),
                    LittleEndian(local_extra.size(), 2), name, local_extra, raw);
    absl::StrAppend(&directory_, "PK\x01\x02", LittleEndian(20, 2), common, Short(raw.size()),
                    Short(content.size()), LittleEndian(name.size(), 2),
                    LittleEndian(extra.size(), 2), std::string(10, '\0'),
                    zip64_ ? LittleEndian(kElsewhere, 4) : offset.substr(0, 4), name, extra);
    ++count_;
  }

  std::string Finish(absl::string_view comment = "") const {
    const std::string count = zip64_ ? LittleEndian(0xFFFF, 2) : LittleEndian(count_, 2);
    return absl::StrCat(bytes_, directory_, zip64_ ? End64() : "", "PK\x05\x06", LittleEndian(0, 4),
                        count, count, Short(directory_.size()), Short(bytes_.size()),
                        LittleEndian(comment.size(), 2), comment);
  }

 private:
  static constexpr uint64_t kElsewhere = 0xFFFFFFFF;

  std::string Short(uint64_t number) const { return LittleEndian(zip64_ ? kElsewhere : number, 4); }

  std::string End64() const {
    return absl::StrCat("PK\x06\x06", LittleEndian(44, 8), LittleEndian(0, 12),
                        LittleEndian(count_, 8), LittleEndian(count_, 8),
                        LittleEndian(directory_.size(), 8), LittleEndian(bytes_.size(), 8),
                        "PK\x06\x07", LittleEndian(0, 4),
                        LittleEndian(bytes_.size() + directory_.size(), 8), LittleEndian(1, 4));
  }

  const bool zip64_;
  std::string bytes_, directory_;
  int count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_FORMATS_ZIP_WRITER_H_
