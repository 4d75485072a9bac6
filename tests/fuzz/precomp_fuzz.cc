// Any arrays and captions of SCAN.  The first byte chooses: 'd' the corpus is the folder, 'f' the
// file of arrays, 'n' the same without captions.  The rest up to where an npy file begins is
// x_caps.txt, and what is from there on, x_ims.npy.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/dataset/item_path.h"
#include "common/dataset/precomp_reader.h"
#include "common/image/region_set.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

using sightline::CorpusItem;
using sightline::CorpusListing;
using sightline::CorpusReader;

constexpr int64_t kMaxBytes = 256;
constexpr size_t kMaxRead = 64;  // items whose regions are read
constexpr absl::string_view kNpyBegin("\x93NUMPY", 6);

void Require(bool condition) {
  if (!condition) std::abort();
}

// One caption or five for each item, each of which is there or warned of.
void CheckListing(const CorpusListing& listing, absl::string_view captions) {
  absl::ConsumeSuffix(&captions, "\n");
  const size_t lines = 1 + static_cast<size_t>(std::count(captions.begin(), captions.end(), '\n'));
  Require(lines == listing.items.size() || lines == 5 * listing.items.size());
  Require(listing.rejected.empty());
  size_t told = listing.warnings.size();
  for (const CorpusItem& item : listing.items) {
    Require(sightline::CheckItemId(item.item_id).ok());
    told += item.captions.size();
    for (const auto& caption : item.captions) {
      Require(!caption.text.empty() && caption.text.size() <= sightline::kMaxCaptionBytes);
    }
  }
  Require(told == lines);
}

void CheckRegions(const CorpusReader& reader, const CorpusItem& item) {
  const auto regions = reader.ReadRegions(item, kMaxBytes);
  if (!regions.ok()) {
    Require(absl::IsInvalidArgument(regions.status()));
    return;
  }
  Require(sightline::CheckRegionSet(*regions).ok());
  Require(regions->feature_size == reader.region_feature_size());
  Require(regions->count >= 1);
  const auto numbers = static_cast<size_t>(regions->count * regions->feature_size);
  Require(regions->features.size() == numbers && numbers * sizeof(float) <= kMaxBytes);
  Require(regions->boxes.empty() && regions->confidences.empty());
}

void CheckItems(const CorpusReader& reader, const std::string& arrays,
                const CorpusListing& listing) {
  const size_t count = listing.items.size();
  for (size_t i = 0; i < std::min(count, kMaxRead); ++i) CheckRegions(reader, listing.items[i]);
  CheckRegions(reader, listing.items.back());
  Require(absl::IsFailedPrecondition(reader.ReadPicture(listing.items[0], kMaxBytes).status()));
  for (const int64_t row : {int64_t{-1}, static_cast<int64_t>(count)}) {
    CorpusItem no_item;
    no_item.path = sightline::ItemPath(arrays, row);
    Require(absl::IsNotFound(reader.ReadRegions(no_item, kMaxBytes).status()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sightline::ScratchFolder folder("precomp_fuzz");
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t begin = std::min(bytes.find(kNpyBegin), bytes.size());
  const absl::string_view captions = bytes.substr(0, begin);
  const std::string arrays = folder.Write("x_ims.npy", bytes.substr(begin));
  folder.Write("x_caps.txt", captions);
  if (data[0] == 'n') folder.Remove("x_caps.txt");

  sightline::PrecompOptions options;
  options.root = data[0] == 'd' ? folder.path() : arrays;
  const auto reader = sightline::NewPrecompReader(options);
  if (!reader.ok()) {
    Require(absl::IsInvalidArgument(reader.status()));
    return 0;
  }
  Require((*reader)->region_feature_size() >= 1);
  const auto listing = (*reader)->List();
  if (listing.ok()) {
    CheckListing(*listing, captions);
    CheckItems(**reader, arrays, *listing);
  } else if (data[0] == 'n') {
    Require(absl::IsNotFound(listing.status()));
  } else {
    Require(absl::IsInvalidArgument(listing.status()));
  }
  return 0;
}
