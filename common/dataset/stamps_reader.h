// The stamps of Tux Paint: photographs and drawings, captioned in 77 languages.
//
// An item is a PNG with a `.txt` of the same name beside it; its id is
// `stamps/<path without .png>`.  The text's first line is the English caption, each
// later one `LANG.utf8=caption`.
#ifndef SIGHTLINE_COMMON_DATASET_STAMPS_READER_H_
#define SIGHTLINE_COMMON_DATASET_STAMPS_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/dataset/corpus.h"

namespace sightline {

struct StampsOptions {
  std::string root = "/usr/share/tuxpaint/stamps";
  // Which captions to read; empty reads all.
  std::vector<std::string> languages = {"en"};
};

// List: NotFound if the folder is not there.  A stamp whose text cannot be read is listed
// without captions, with a warning.
std::unique_ptr<CorpusReader> NewStampsReader(const StampsOptions& options);

// The captions of one stamp's text, in its order.  Lines that are not of the form, not
// UTF-8, or empty are skipped.
std::vector<CorpusCaption> ParseStampText(absl::string_view text,
                                          const std::vector<std::string>& languages);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_STAMPS_READER_H_
