// Open Clip Art: drawings as PNG, their captions in the metadata of the SVG they came
// from.
//
// An item is a PNG with an SVG of the same path in the other tree; its id is
// `clipart/<path without .png>`.  Captions are English, made of the SVG's Dublin Core
// title and keywords by the rule of caption_rule.h; the keywords are its tags too.
#ifndef SIGHTLINE_COMMON_DATASET_CLIPART_READER_H_
#define SIGHTLINE_COMMON_DATASET_CLIPART_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/caption_rule.h"
#include "common/dataset/corpus.h"

namespace sightline {

struct ClipArtOptions {
  std::string png_root = "/usr/share/openclipart/png";
  std::string svg_root = "/usr/share/openclipart/svg";
  // Which captions to read; empty reads all.  There are English ones only.
  std::vector<std::string> languages = {"en"};
};

// List: NotFound if a folder is not there.  A clip art whose SVG cannot be parsed is
// listed without captions, with a warning.
std::unique_ptr<CorpusReader> NewClipArtReader(const ClipArtOptions& options);

// Dublin Core title and keywords of an SVG: the title of the work (its makers have
// titles too) and the list below its subject.  Empty where there are none.
// InvalidArgument as ReadXmlFile.
absl::StatusOr<ClipArtText> ReadClipArtText(absl::string_view svg_path);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_CLIPART_READER_H_
