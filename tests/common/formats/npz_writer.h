// Arrays and archives of numpy, made without it, well or badly.
#ifndef SIGHTLINE_TESTS_COMMON_FORMATS_NPZ_WRITER_H_
#define SIGHTLINE_TESTS_COMMON_FORMATS_NPZ_WRITER_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/float16.h"
#include "tests/common/formats/zip_writer.h"

namespace sightline {

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

// What UNITER's extractor leaves of a picture: `count` regions of `size` numbers, all 0.25, 0.5
// and so on apart, boxes of six numbers, falling confidences, soft labels of two classes, of which
// the second one is as likely as the confidence.
inline std::string SomeNpz(int count, int size, const std::string& type = "<f2",
                           bool deflate = false) {
  std::vector<float> features, boxes, conf, labels;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < size; ++k) features.push_back(0.25f * static_cast<float>(i + k + 1));
    const float x = 0.5f * static_cast<float>(i) / static_cast<float>(count);
    boxes.insert(boxes.end(), {x, 0.25f, x + 0.5f, 0.75f, 0.5f, 0.5f});
    conf.push_back(1.0f - static_cast<float>(i) / 128);
    labels.insert(labels.end(), {1.0f - conf.back(), conf.back()});
  }
  ZipWriter zip;
  zip.Add("norm_bb.npy", Npy(type, {count, 6}, boxes), deflate);
  zip.Add("features.npy", Npy(type, {count, size}, features), deflate);
  zip.Add("conf.npy", Npy(type, {count}, conf), deflate);
  zip.Add("soft_labels.npy", Npy(type, {count, 2}, labels), deflate);
  return zip.Finish();
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_FORMATS_NPZ_WRITER_H_
