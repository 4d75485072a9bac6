#include "common/index/index_file.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// What the container says is wrong, with a reason.
absl::Status WithSomeReason(const absl::Status& status) {
  if (!absl::IsDataLoss(status) || GetReason(status).has_value()) return status;
  return WithReason(status, reasons::kContentInvalid);
}

}  // namespace

absl::Status InvalidIndexFile(absl::string_view path, absl::string_view problem) {
  return MakeError(reasons::kContentInvalid,
                   absl::StrCat(path, ": ", problem, "; build the index again"));
}

absl::StatusOr<std::unique_ptr<Container>> OpenIndexFile(absl::string_view path) {
  auto container = Container::Open(path);
  if (!container.ok()) return WithSomeReason(container.status());
  return container;
}

absl::StatusOr<const Section*> RequireSection(const Container& container, absl::string_view name,
                                              Dtype dtype, const std::vector<int64_t>& shape) {
  const auto section = container.Require(name, dtype, static_cast<int>(shape.size()));
  if (!section.ok()) return WithSomeReason(section.status());
  auto bytes = static_cast<int64_t>(DtypeSize(dtype));
  for (const int64_t extent : shape) bytes *= extent;
  if ((*section)->shape != shape || (*section)->length != bytes) {
    return InvalidIndexFile(
        container.path(), absl::StrCat("section ", name, " has ", (*section)->length, " bytes, of ",
                                       (*section)->shape[0], " rows; the manifest makes it ", bytes,
                                       ", of ", shape[0]));
  }
  return section;
}

absl::StatusOr<SectionBytes> LoadSection(const Container& container, absl::string_view name,
                                         Dtype dtype, const std::vector<int64_t>& shape,
                                         const CallContext& call) {
  ASSIGN_OR_RETURN(const Section* const section, RequireSection(container, name, dtype, shape));
  return container.Load(*section, call);
}

}  // namespace sightline
