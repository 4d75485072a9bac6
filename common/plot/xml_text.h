// Text from anybody, put into XML and HTML.
#ifndef SIGHTLINE_COMMON_PLOT_XML_TEXT_H_
#define SIGHTLINE_COMMON_PLOT_XML_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// `text` as character data or as an attribute's value in double quotes, in XML 1.0 and in
// HTML.  Bytes that are no UTF-8 become U+FFFD; characters that XML 1.0 forbids even when
// escaped (controls, U+FFFE, U+FFFF) are left out.  Tabs and line ends stay, of which XML (not
// HTML) makes spaces in attributes.
std::string XmlText(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_PLOT_XML_TEXT_H_
