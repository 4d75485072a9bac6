// Where a sequence of items is cut into pieces, decided by the items themselves.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ID_CUTS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ID_CUTS_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"

namespace sightline {

// A piece ends with an item whose hash comes out right, as in content-defined chunking: an
// item that comes or goes changes the piece that it belongs to, not all that follow.  Pieces
// have `average` items, a little less in truth, and twice that at most; such a forced end
// may shift the next few.
class IdCuts {
 public:
  // `purpose` makes cuts of one kind fall elsewhere than those of another, and than shards.
  IdCuts(absl::string_view purpose, int64_t average)
      : purpose_(absl::StrCat(purpose, ":")), average_(std::max<int64_t>(average, 1)) {}

  // Adds the item of that id; true if the piece ends with it.
  bool EndsWith(absl::string_view id) {
    ++length_;
    if (length_ < 2 * average_ && HashOf(id) % average_ != 0) return false;
    length_ = 0;
    return true;
  }

 private:
  int64_t HashOf(absl::string_view id) const {
    Sha256 hash;
    hash.Update(purpose_);
    hash.Update(id);
    const std::string raw = hash.Raw();
    int64_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(raw[i]);
    return value;
  }

  const std::string purpose_;
  const int64_t average_;
  int64_t length_ = 0;  // of the piece so far
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ID_CUTS_H_
