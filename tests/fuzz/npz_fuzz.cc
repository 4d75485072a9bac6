// Any bytes as region features of numpy.  The first byte chooses: 'z' the rest is an archive,
// 'n' an array, 'a' three arrays of an archive that is whole, the lengths of the first two in
// two bytes each before them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/dataset/npz_reader.h"
#include "common/formats/npy.h"
#include "common/image/region_set.h"
#include "tests/common/formats/npz_writer.h"

namespace {

constexpr int64_t kMaxBytes = 1 << 20;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Of just the right length, so that the sanitizer sees the first byte too many.
class Exact {
 public:
  explicit Exact(absl::string_view bytes) : copy_(bytes.begin(), bytes.end()) {}
  absl::string_view bytes() const { return absl::string_view(copy_.data(), copy_.size()); }

 private:
  const std::vector<char> copy_;
};

void CheckArray(absl::string_view bytes) {
  const auto array = sightline::ParseNpy(bytes);
  if (!array.ok()) {
    Require(absl::IsInvalidArgument(array.status()));
    return;
  }
  Require(array->data.size() <= bytes.size());
  Require(sightline::NpyValues(*array).size() == static_cast<size_t>(array->element_count()));
}

void CheckArchive(absl::string_view bytes) {
  const auto labels = sightline::ParseNpzSoftLabels(bytes, kMaxBytes);
  if (labels.ok()) {
    Require(labels->size() * sizeof(float) <= kMaxBytes);
  } else {
    Require(absl::IsInvalidArgument(labels.status()));
  }
  const auto regions = sightline::ParseNpzRegions(bytes, kMaxBytes);
  if (!regions.ok()) {
    Require(absl::IsInvalidArgument(regions.status()));
    return;
  }
  Require(sightline::CheckRegionSet(*regions).ok());
  Require(regions->features.size() * sizeof(float) <= kMaxBytes);
  Require(std::is_sorted(regions->confidences.rbegin(), regions->confidences.rend()));
}

std::string ArchiveOf(absl::string_view bytes) {
  sightline::ZipWriter zip;
  for (const char* name : {"features.npy", "norm_bb.npy"}) {
    if (bytes.size() < 2) return zip.Finish();
    const size_t length =
        static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    zip.Add(name, std::string(bytes.substr(0, length)), /*deflate=*/false);
    bytes.remove_prefix(std::min(length, bytes.size()));
  }
  zip.Add("conf.npy", std::string(bytes), /*deflate=*/true);
  return zip.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'z') CheckArchive(Exact(bytes).bytes());
  if (data[0] == 'n') CheckArray(Exact(bytes).bytes());
  if (data[0] == 'a') CheckArchive(Exact(ArchiveOf(bytes)).bytes());
  return 0;
}
