// Emoji: the pictures of a colour bitmap font, named by the Unicode CLDR.
//
// An item is a single code point that has a picture in the font and a name in English;
// its id is `emoji/<hex code point>`.  Captions of a language are the name and then the
// keywords, joined, from `annotations/<language>.xml`; English keywords are its tags too.
#ifndef SIGHTLINE_COMMON_DATASET_EMOJI_READER_H_
#define SIGHTLINE_COMMON_DATASET_EMOJI_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct EmojiOptions {
  std::string font = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf";
  std::string annotations = "/usr/share/unicode/cldr/common/annotations";
  // Which captions to read, each from a file of that name; empty reads English alone.
  std::vector<std::string> languages = {"en"};
};

// Maps the font now: NotFound if it is not there, InvalidArgument if it holds no
// pictures.  List: NotFound or InvalidArgument for a language's file.
absl::StatusOr<std::unique_ptr<CorpusReader>> NewEmojiReader(const EmojiOptions& options);

// What one language says of a code point.
struct EmojiAnnotation {
  std::string name;                   // may be empty
  std::vector<std::string> keywords;  // the name left out
};

// The annotations of single code points in one CLDR file.  Values that only point to a
// parent language are left out.  Errors as ReadXmlFile.
absl::StatusOr<std::map<uint32_t, EmojiAnnotation>> ReadEmojiAnnotations(absl::string_view path);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_EMOJI_READER_H_
