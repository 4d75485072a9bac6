#include "services/trainer/caption_vocabulary.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/vocabulary_builder.h"

namespace sightline {
namespace {

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

constexpr CodePoints kLatin[] = {
    {0x21, 0x7E},      // ASCII
    {0xA1, 0xFF},      // Latin-1
    {0x100, 0x24F},    // Latin Extended-A and -B
    {0x250, 0x2AF},    // IPA Extensions: letters of many African languages
    {0x1E00, 0x1EFF},  // Latin Extended Additional
    {0x2010, 0x2015},  // hyphens and dashes
    {0x2018, 0x201F},  // quotation marks
    {0x2022, 0x2022},  // bullet
    {0x2026, 0x2026},  // ellipsis
    {0x20AC, 0x20AC},  // euro sign
};

// Below U+10000, as all of the above are.
void AppendUtf8(uint32_t c, std::string* text) {
  if (c < 0x80) {
    text->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text->push_back(static_cast<char>(0xC0 | (c >> 6)));
    text->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    text->push_back(static_cast<char>(0xE0 | (c >> 12)));
    text->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    text->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

}  // namespace

std::string LatinAlphabet() {
  std::string alphabet;
  for (const CodePoints& range : kLatin) {
    for (uint32_t c = range.first; c <= range.last; ++c) {
      if (!alphabet.empty()) alphabet += ' ';
      AppendUtf8(c, &alphabet);
    }
  }
  return alphabet;
}

absl::StatusOr<std::string> MakeCaptionVocabulary(const std::vector<absl::string_view>& captions,
                                                  const std::vector<absl::string_view>& background,
                                                  bool lowercase, int size) {
  VocabularyOptions options;
  options.lowercase = lowercase;
  options.max_size = size;
  VocabularyBuilder builder(options);
  RETURN_IF_ERROR(builder.AddAlphabet(LatinAlphabet()));
  for (const absl::string_view caption : captions) RETURN_IF_ERROR(builder.Add(caption));
  for (const absl::string_view text : background) RETURN_IF_ERROR(builder.AddBackground(text));
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, builder.Build());
  return absl::StrCat(absl::StrJoin(tokens, "\n"), "\n");
}

}  // namespace sightline
