// Words that the name of a picture without captions says of it.  Half of a collection may
// have nothing but names, and "flags/africa/capeverde" teaches more than no caption at all.
#ifndef SIGHTLINE_SERVICES_TRAINER_ITEM_NAMES_H_
#define SIGHTLINE_SERVICES_TRAINER_ITEM_NAMES_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// Turns item ids into captions to learn from.  Not thread-safe.
class ItemNames {
 public:
  // A name that is worn out says nothing: a thousand stars need no thousand lessons.
  static constexpr int kMostOfAName = 8;

  // The captions of "clipart/flags/africa/capeverde_01": "capeverde", then "flags africa
  // capeverde".  The first part of the id is the corpus's and left out; so are runs of
  // digits, words with digits inside, and words of a single letter.  Words are lower case
  // and parted where case rises ("MatieresExplosives").  Without a word in the last part
  // the folders make the only caption.  Empty if no word remains, or once kMostOfAName
  // earlier items had the same first caption.
  std::vector<std::string> CaptionsOf(absl::string_view item_id);

 private:
  std::unordered_map<std::string, int> uses_;  // by first caption
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_ITEM_NAMES_H_
