#include "common/index/ivf_stages.h"

#include <cstdint>
#include <memory>

#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"

namespace sightline {
namespace {

std::string PathOf(absl::string_view directory, absl::string_view name) {
  return JoinPath(directory, name);
}

absl::StatusOr<std::string> ReadSection(const Container& container, absl::string_view name) {
  ASSIGN_OR_RETURN(const Section* section, container.Require(name, Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(const SectionBytes bytes, container.Load(*section, CallContext::Unbounded()));
  return std::string(bytes.view());
}

}  // namespace

absl::optional<std::string> IvfStages::Find(absl::string_view name, int64_t byte_count) const {
  const auto container = Container::Open(PathOf(directory_, name));
  if (!container.ok()) return absl::nullopt;
  const auto fingerprint = ReadSection(**container, "fingerprint");
  if (!fingerprint.ok() || *fingerprint != fingerprint_) return absl::nullopt;
  auto content = ReadSection(**container, "content");
  if (!content.ok() || static_cast<int64_t>(content->size()) != byte_count) return absl::nullopt;
  return *std::move(content);
}

absl::Status IvfStages::Keep(absl::string_view name, absl::string_view content) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(PathOf(directory_, name)));
  RETURN_IF_ERROR(
      writer->Declare("fingerprint", Dtype::kBytes, {static_cast<int64_t>(fingerprint_.size())}));
  RETURN_IF_ERROR(
      writer->Declare("content", Dtype::kBytes, {static_cast<int64_t>(content.size())}));
  RETURN_IF_ERROR(writer->Append(fingerprint_));
  RETURN_IF_ERROR(writer->Append(content));
  return writer->Finish().status();
}

}  // namespace sightline
