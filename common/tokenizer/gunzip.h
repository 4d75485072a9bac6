// Files that people keep gzipped.
#ifndef SIGHTLINE_COMMON_TOKENIZER_GUNZIP_H_
#define SIGHTLINE_COMMON_TOKENIZER_GUNZIP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// The content of a gzip file (of all its members, as gunzip has it); `bytes` themselves if
// they do not begin like one.
//
// InvalidArgument if the file is damaged or cut off, or its content, or what is no gzip
// file, has more than `max_bytes`: a small file can unpack to a thousand times its size.
absl::StatusOr<std::string> GunzipIfGzipped(absl::string_view bytes, size_t max_bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_GUNZIP_H_
