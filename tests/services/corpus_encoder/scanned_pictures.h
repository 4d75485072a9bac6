// What a scan has found, in memory.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_SCANNED_PICTURES_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_SCANNED_PICTURES_H_

#include <stdexcept>
#include <utility>
#include <vector>

#include "services/corpus_encoder/corpus_listing.h"

namespace sightline {

inline std::vector<ScannedPicture> AllOf(const PictureSpool& spool) {
  std::vector<ScannedPicture> pictures;
  PictureSpool::Reader reader(spool);
  for (ScannedPicture picture;;) {
    const auto more = reader.Next(&picture);
    if (!more.ok()) throw std::runtime_error(more.status().ToString());
    if (!*more) return pictures;
    pictures.push_back(picture);
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_SCANNED_PICTURES_H_
