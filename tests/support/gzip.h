// Text as gzip keeps it.
#ifndef SIGHTLINE_TESTS_SUPPORT_GZIP_H_
#define SIGHTLINE_TESTS_SUPPORT_GZIP_H_

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace sightline {

inline std::string Gzip(std::string text) {
  z_stream stream = {};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("no deflate");
  }
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw std::runtime_error("deflate did not end");
  return packed;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_GZIP_H_
