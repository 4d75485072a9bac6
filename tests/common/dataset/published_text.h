// What a published set has been read to be, as text.
#ifndef SIGHTLINE_TESTS_COMMON_DATASET_PUBLISHED_TEXT_H_
#define SIGHTLINE_TESTS_COMMON_DATASET_PUBLISHED_TEXT_H_

#include <string>

#include "common/dataset/published_captions.h"

namespace sightline {

// "id file split: en:a dog|de:ein Hund [STOP]", a picture a line.
inline std::string TextOf(const PublishedCaptions& set) {
  std::string text;
  for (const PublishedPicture& picture : set.pictures) {
    text += picture.id + " " + picture.file + " " + picture.split + ":";
    const char* gap = " ";
    for (const CorpusCaption& caption : picture.captions) {
      text += gap + caption.language + ":" + caption.text;
      gap = "|";
    }
    for (const std::string& token : picture.ocr_tokens) text += " [" + token + "]";
    text += "\n";
  }
  return text;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_DATASET_PUBLISHED_TEXT_H_
