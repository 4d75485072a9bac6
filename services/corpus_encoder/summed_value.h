// Reading a value that has a checksum of its own.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SUMMED_VALUE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SUMMED_VALUE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"

namespace sightline {

// Reads `to` from byte `begin` of `section` on, which must have as many, and compares it with
// `checksum`, its CRC32C: for values that are much smaller than the MiB that the container's
// checksums cover.  What differs is read again, past what the system keeps in memory: DataLoss,
// naming file and place, if it still differs.  Otherwise as Container::Read.
absl::Status ReadSummed(const Container& container, const Section& section, int64_t begin,
                        uint32_t checksum, absl::Span<char> to);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SUMMED_VALUE_H_
