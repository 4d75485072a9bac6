// `describe`: what lies on disk.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/command.h"
#include "services/sightlinectl/store_place.h"

namespace sightline {

int RunDescribe(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kDescribeCommand = {
    "describe",
    "sightlinectl describe PATH | describe ID {--store DIR | --object-store URL} [--tensors] "
    "[--verify]",
    "tells what a model bundle, a generation, a container or a safetensors file is", RunDescribe};

struct DescribeOptions {
  // Where ids are looked up; not needed for paths.
  StorePlace place;
  // Whether the tensors of a bundle's weights are listed; of a folder's.
  bool tensors = false;
  // Whether everything is read and compared with its checksums; in a folder.
  bool verify = false;
};

// `target` is the folder of a model bundle or of a generation, a container or a
// safetensors file; or, within `options.place`, a model's id, `INDEX/GENERATION`, or
// `INDEX` for its current generation and all that was published before.  InvalidArgument if it is
// none of these; otherwise the errors of common/bundle and, of an object store, of ObjectStore.
absl::StatusOr<std::string> Describe(const std::string& target, const DescribeOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_DESCRIBE_COMMAND_H_
