// What a detector has found in one picture, as a query.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_REGIONS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_REGIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/image/image_input.h"

namespace sightline {

// `FILE.npz`, of UNITER's extractor; `SPLIT_ims.npy#ROW`, of SCAN's; or `FILE#ROW` of a region
// file, as hits print it, with its tags and OCR tokens (`FILE` will do if it holds one item).
// InvalidArgument, naming the file, for what cannot be read or is more than a request may carry;
// NotFound for a row that SCAN's array has not; otherwise as the files' readers have it.
absl::StatusOr<ImageInput> ReadQueryRegions(const std::string& place);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_QUERY_REGIONS_H_
