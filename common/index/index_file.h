// Reading the files of an index, which are containers (common/bundle).  Whatever is wrong with one
// is told in one way: DataLoss with a reason, CHECKSUM_MISMATCH or CONTENT_INVALID, as
// IndexKind::open promises.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_FILE_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_FILE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/container.h"

namespace sightline {

// DataLoss (CONTENT_INVALID): the file at `path` has this problem.
absl::Status InvalidIndexFile(absl::string_view path, absl::string_view problem);

// Errors as Container::Open.
absl::StatusOr<std::unique_ptr<Container>> OpenIndexFile(absl::string_view path);

// The section of that name, dtype and shape, whose rows lie one behind another.
absl::StatusOr<const Section*> RequireSection(const Container& container, absl::string_view name,
                                              Dtype dtype, const std::vector<int64_t>& shape);

// The same, and its bytes.  Errors as Container::Load.
absl::StatusOr<SectionBytes> LoadSection(const Container& container, absl::string_view name,
                                         Dtype dtype, const std::vector<int64_t>& shape,
                                         const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_FILE_H_
