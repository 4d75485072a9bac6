#include "services/corpus_encoder/summed_value.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"

namespace sightline {

absl::Status ReadSummed(const Container& container, const Section& section, int64_t begin,
                        uint32_t checksum, absl::Span<char> to) {
  const auto length = static_cast<int64_t>(to.size());
  const absl::string_view value(to.data(), to.size());
  RETURN_IF_ERROR(container.ReadUnchecked(section, begin, length, to.data()));
  if (Crc32c(value) == checksum) return absl::OkStatus();
  RETURN_IF_ERROR(container.ReadAgain(section, begin, length, to.data()));
  if (Crc32c(value) == checksum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(container.path(), ": section ", section.name, ": the ",
                                          length, " bytes from ", begin,
                                          " on do not have their checksum"));
}

}  // namespace sightline
