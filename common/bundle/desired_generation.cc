#include "common/bundle/desired_generation.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"

namespace sightline {

absl::StatusOr<DesiredGeneration> ReadDesiredGeneration(absl::string_view store,
                                                        absl::string_view index) {
  absl::StatusOr<bundle::v1::CurrentGeneration> current = ReadCurrent(store, index);
  if (absl::IsNotFound(current.status())) {
    return absl::NotFoundError(absl::StrCat("index '", index, "' has no CURRENT generation in '",
                                            store, "'; publish one with corpus_encoder (",
                                            current.status().message(), ")"));
  }
  RETURN_IF_ERROR(current.status());
  DesiredGeneration desired;
  desired.sequence = current->sequence();
  ASSIGN_OR_RETURN(desired.manifest, ReadGenerationManifest(store, index, current->generation()));
  return desired;
}

}  // namespace sightline
