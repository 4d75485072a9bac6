#include "common/scenes/region_net_weights.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"

namespace sightline {
namespace {

constexpr char kBytes[] =
#include "common/scenes/region_net.inc"
    ;

constexpr absl::string_view kSha256 =
    "74e80791e73086ab07d3428004f1b5b00ca5a7b28aef76be7250be1ae6dcb1d8";

}  // namespace

absl::StatusOr<absl::string_view> RegionNetWeights() {
  const absl::string_view bytes(kBytes, sizeof(kBytes) - 1);
  const std::string sha256 = Sha256Hex(bytes);
  if (sha256 == kSha256) return bytes;
  return absl::DataLossError(absl::StrCat("the net of regions has SHA-256 ", sha256, ", not ",
                                          kSha256,
                                          ", by which features are known; "
                                          "build from an unchanged tree"));
}

}  // namespace sightline
