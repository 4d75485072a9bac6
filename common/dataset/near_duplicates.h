// Which pictures of a corpus are the same to the eye.
//
// Collections hold the same drawing under several names, recoloured by a shade or saved
// anew.  A training picture whose twin is a test picture would make the test easy, so
// twins are found and kept together.
//
//   for (...) prints.push_back(FingerprintOf(pixels));
//   const std::vector<int64_t> groups = GroupNearDuplicates(prints);
//
// The fingerprint is a difference hash (dHash): the grey picture averaged down to 9 x 8
// cells, and for each cell whether it is brighter than the next one to its right.  It
// sees shapes and no colours, so the mean colour stands beside it.
#ifndef SIGHTLINE_COMMON_DATASET_NEAR_DUPLICATES_H_
#define SIGHTLINE_COMMON_DATASET_NEAR_DUPLICATES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/image/image_input.h"

namespace sightline {

struct PictureFingerprint {
  // Bit 8 * y + x: cell (x, y) is brighter than cell (x + 1, y).
  uint64_t difference_hash = 0;
  // Of R, G and B, 0 to 255.
  std::array<double, 3> mean_color = {0, 0, 0};
};

inline constexpr int kMaxHashDistance = 4;
inline constexpr double kMaxColorDistance = 8;

// Of a picture with at least one pixel, width * height * 3 bytes.  Computed in whole
// numbers up to the last division: the same on every machine.  Grey is that of ITU-R
// BT.601: 0.299 R + 0.587 G + 0.114 B.
PictureFingerprint FingerprintOf(const Pixels& pixels);

// Whether the hashes differ in at most kMaxHashDistance bits and no channel's mean by more
// than kMaxColorDistance.  Symmetric, not transitive.
bool AreNearDuplicates(const PictureFingerprint& a, const PictureFingerprint& b);

// The groups that near duplicates form: a picture belongs to the group of each of its
// near duplicates.  For each picture the smallest index in its group.  Compares all
// pairs: 10 000 pictures take a fraction of a second.
std::vector<int64_t> GroupNearDuplicates(absl::Span<const PictureFingerprint> pictures);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_NEAR_DUPLICATES_H_
