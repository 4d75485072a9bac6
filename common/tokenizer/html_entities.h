// HTML's character references in a text, as Python's html.unescape reads them.
#ifndef SIGHTLINE_COMMON_TOKENIZER_HTML_ENTITIES_H_
#define SIGHTLINE_COMMON_TOKENIZER_HTML_ENTITIES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// `text`, which is UTF-8, with each reference replaced once ("&amp;lt;" becomes "&lt;"):
// numbers by the rules of HTML 5 for broken ones ("&#128;" is the euro sign, surrogates
// and what is above U+10FFFF U+FFFD, what is no character nothing), and all 2231 names of
// HTML 5, of which some need no semicolon and then may be followed by letters ("&notit;"
// is "¬it;").  What is no reference stays.  At most a byte longer for each reference; the
// time is linear.
std::string UnescapeHtml(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_HTML_ENTITIES_H_
