// Arrays and archives of numpy, made without it, well or badly.
#ifndef SIGHTLINE_TESTS_COMMON_DATASET_NPZ_WRITER_H_
#define SIGHTLINE_TESTS_COMMON_DATASET_NPZ_WRITER_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/float16.h"

namespace sightline {

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// An npy file of format version 1 with this header and data.
inline std::string NpyOf(std::string header, const std::string& data) {
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return absl::StrCat("\x93NUMPY", std::string("\x01\x00", 2), LittleEndian(header.size(), 2),
                      header, data);
}

inline std::string NpyHeader(const std::string& type, const std::vector<int64_t>& shape,
                             bool fortran = false) {
  return absl::StrCat("{'descr': '", type, "', 'fortran_order': ", fortran ? "True" : "False",
                      ", 'shape': (", absl::StrJoin(shape, ", "),
                      shape.size() == 1 ? ",), }" : "), }");
}

// `values` as a type of numpy: <f2, <f4 or <f8.
inline std::string NpyBytes(const std::string& type, const std::vector<float>& values) {
  std::string data;
  for (const float value : values) {
    char raw[8];
    const double wide = value;
    if (type == "<f2") Float32ToFloat16(&value, 1, raw);
    if (type == "<f4") std::memcpy(raw, &value, 4);
    if (type == "<f8") std::memcpy(raw, &wide, 8);
    data.append(raw, type[2] - '0');
  }
  return data;
}

inline std::string Npy(const std::string& type, const std::vector<int64_t>& shape,
                       const std::vector<float>& values) {
  return NpyOf(NpyHeader(type, shape), NpyBytes(type, values));
}

inline std::string Deflated(const std::string& content) {
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

// What the directory says of an entry, if that is not the truth.
struct ZipLies {
  int method = -1;
  int64_t stored_bytes = -1, byte_count = -1, crc32 = -1, header_offset = -1, flags = 0;
};

// A ZIP archive as numpy writes it: sizes in the local headers left to ZIP64 fields.
class ZipWriter {
 public:
  void Add(const std::string& name, const std::string& content, bool deflate,
           const ZipLies& lies = {}) {
    const std::string stored = deflate ? Deflated(content) : content;
    const uint64_t offset = bytes_.size();
    const std::string zip64 =
        absl::StrCat(LittleEndian(1, 2), LittleEndian(16, 2), LittleEndian(content.size(), 8),
                     LittleEndian(stored.size(), 8));
    const auto either = [](int64_t lie, int64_t truth) { return lie >= 0 ? lie : truth; };
    const uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string common =
        absl::StrCat(LittleEndian(20, 2), LittleEndian(lies.flags, 2),
                     LittleEndian(either(lies.method, deflate ? 8 : 0), 2), LittleEndian(0, 4),
                     LittleEndian(either(lies.crc32, crc), 4));
    absl::StrAppend(&bytes_, "PK\x03\x04", common, LittleEndian(0xFFFFFFFF, 4),
                    LittleEndian(0xFFFFFFFF, 4), LittleEndian(name.size(), 2),
                    LittleEndian(zip64.size(), 2), name, zip64, stored);
    absl::StrAppend(&directory_, "PK\x01\x02", LittleEndian(20, 2), common,
                    LittleEndian(either(lies.stored_bytes, stored.size()), 4),
                    LittleEndian(either(lies.byte_count, content.size()), 4),
                    LittleEndian(name.size(), 2), LittleEndian(0, 12),
                    LittleEndian(either(lies.header_offset, offset), 4), name);
    ++count_;
  }

  std::string Finish(const std::string& comment = "") const {
    return absl::StrCat(bytes_, directory_, "PK\x05\x06", LittleEndian(0, 4),
                        LittleEndian(count_, 2), LittleEndian(count_, 2),
                        LittleEndian(directory_.size(), 4), LittleEndian(bytes_.size(), 4),
                        LittleEndian(comment.size(), 2), comment);
  }

 private:
  std::string bytes_, directory_;
  int count_ = 0;
};

// What UNITER's extractor leaves of a picture: `count` regions of `size` numbers, all 0.25, 0.5
// and so on apart, boxes of six numbers, falling confidences, soft labels.
inline std::string SomeNpz(int count, int size, const std::string& type = "<f2",
                           bool deflate = false) {
  std::vector<float> features, boxes, conf;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < size; ++k) features.push_back(0.25f * static_cast<float>(i + k + 1));
    const float x = 0.5f * static_cast<float>(i) / static_cast<float>(count);
    boxes.insert(boxes.end(), {x, 0.25f, x + 0.5f, 0.75f, 0.5f, 0.5f});
    conf.push_back(1.0f - static_cast<float>(i) / 128);
  }
  ZipWriter zip;
  zip.Add("norm_bb.npy", Npy(type, {count, 6}, boxes), deflate);
  zip.Add("features.npy", Npy(type, {count, size}, features), deflate);
  zip.Add("conf.npy", Npy(type, {count}, conf), deflate);
  zip.Add("soft_labels.npy", Npy(type, {count, 1}, conf), deflate);
  return zip.Finish();
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_DATASET_NPZ_WRITER_H_
