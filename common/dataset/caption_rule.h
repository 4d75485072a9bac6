// Which captions a clip art has of its own.
//
// Many clip-art titles are those of a whole collection ("gramastar" 1 375 times), and
// many keywords say how a picture was filed, not what it shows.  The rule:
//
//   - The title, normalised, is a caption unless more than five clip arts share it, it
//     has fewer than three letters, or it ends in "svg" (a file's name).
//   - The keywords, without those that tell of filing, joined, are a second caption,
//     unless they repeat the title.  They need a title beside them: a picture whose
//     title is a collection's has the collection's keywords, and stays without captions.
#ifndef SIGHTLINE_COMMON_DATASET_CAPTION_RULE_H_
#define SIGHTLINE_COMMON_DATASET_CAPTION_RULE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sightline {

// The words of `text` in lower case, one space between them; a word is a run of letters,
// digits and the marks that go with them.  Empty if there are none, or if `text` is not
// UTF-8.
std::string NormalizeWords(absl::string_view text);

// Whether any character of `text` leaves a mark where it is printed; not if `text` is not UTF-8.
bool HasVisibleCharacter(absl::string_view text);

// Whether a keyword tells how a clip art was filed ("unsorted", "icons", "lemon_theme").
bool IsFilingKeyword(absl::string_view keyword);

// What a clip art says of itself.
struct ClipArtText {
  std::string title;
  std::vector<std::string> keywords;
};

// Keywords that describe the picture, lower case, in order, none twice.  A keyword that
// names a path or several words ("signs_and_symbols/weather") is judged part by part.
std::vector<std::string> DescribingKeywords(absl::Span<const std::string> keywords);

// Applies the rule to one clip art.  Built from the titles of all of them.
class ClipArtCaptionRule {
 public:
  static constexpr int kMostSharedTitle = 5;
  static constexpr int kFewestLetters = 3;

  // Counts one clip art's title.
  void Count(absl::string_view title);

  // Normalised captions of one clip art, best first; empty if it has none of its own.
  std::vector<std::string> CaptionsOf(const ClipArtText& text) const;

 private:
  std::map<std::string, int> title_counts_;  // by normalised title
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_CAPTION_RULE_H_
