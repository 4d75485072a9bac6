// What a file of a store is: a container, or weights.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_FILE_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/formats/safetensors.h"

namespace sightline {

// Said once all has been read that `--verify` reads.
inline constexpr char kVerified[] = "verified: everything was read and matches its checksums\n";

// As Describe; `verify` compares a container with its checksums.  InvalidArgument if it is neither
// a container nor a safetensors file, or has no checksums.
absl::StatusOr<std::string> DescribeFile(const std::string& path, bool verify);

// Numbers in all tensors together.
int64_t ParameterCount(const Safetensors& weights);

// A line for each tensor.
std::string TensorTable(const Safetensors& weights);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_FILE_H_
