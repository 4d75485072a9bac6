// The id under which all processes log one request.
#ifndef SIGHTLINE_COMMON_RPC_REQUEST_ID_H_
#define SIGHTLINE_COMMON_RPC_REQUEST_ID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// Metadata key of the request id, from callers, to backends and back.
inline constexpr char kRequestIdKey[] = "x-request-id";

// 32 hex digits, unique for practical purposes.  Thread-safe.
std::string NewRequestId();

// `offered` if it is 1 to 128 visible ASCII characters, else a new one: an id is copied
// into metadata and logs of every process, so it must not be able to hurt them.
std::string RequestIdOr(absl::string_view offered);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_REQUEST_ID_H_
