#include "common/dataset/emoji_reader.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/dataset/emoji_font.h"
#include "common/formats/xml.h"

namespace sightline {
namespace {

// CLDR's mark for "as in the parent language".
constexpr absl::string_view kInherited = "\u2191\u2191\u2191";
constexpr absl::string_view kIdPrefix = "emoji/";

// The code point, if `text` is exactly one; else 0.
uint32_t SingleCodePoint(absl::string_view text) {
  if (text.empty() || text.size() > U8_MAX_LENGTH || !IsValidUtf8(text)) return 0;
  int32_t i = 0;
  UChar32 code_point = 0;
  U8_NEXT(text.data(), i, static_cast<int32_t>(text.size()), code_point);
  return i == static_cast<int32_t>(text.size()) ? static_cast<uint32_t>(code_point) : 0;
}

void AddAnnotation(const pugi::xml_node& node, std::map<uint32_t, EmojiAnnotation>& annotations) {
  const uint32_t code_point = SingleCodePoint(node.attribute("cp").value());
  const absl::string_view text = node.text().get();
  if (code_point == 0 || text == kInherited) return;
  EmojiAnnotation& annotation = annotations[code_point];
  if (absl::string_view(node.attribute("type").value()) == "tts") {
    annotation.name = CleanCaption(text);
    return;
  }
  for (const absl::string_view part : absl::StrSplit(text, '|')) {
    std::string keyword = CleanCaption(part);
    if (keyword.empty() || annotation.keywords.size() == limits::kMaxWords) continue;
    annotation.keywords.push_back(std::move(keyword));
  }
}

void DropNameFromKeywords(EmojiAnnotation& annotation) {
  std::vector<std::string>& keywords = annotation.keywords;
  keywords.erase(std::remove(keywords.begin(), keywords.end(), annotation.name), keywords.end());
}

void AddCaptions(const EmojiAnnotation& annotation, const std::string& language, CorpusItem& item) {
  if (annotation.name.empty()) return;
  item.captions.push_back({language, annotation.name});
  std::string keywords = CleanCaption(absl::StrJoin(annotation.keywords, " "));
  if (!keywords.empty()) item.captions.push_back({language, std::move(keywords)});
}

class EmojiReader : public CorpusReader {
 public:
  EmojiReader(const EmojiOptions& options, std::unique_ptr<MappedFile> font,
              const std::vector<EmojiBitmap>& bitmaps)
      : options_(options), font_(std::move(font)) {
    for (const EmojiBitmap& bitmap : bitmaps) pngs_[bitmap.code_point] = bitmap.png;
  }

  absl::Status ListTo(ListingSink& sink) const override {
    using Annotations = std::map<uint32_t, EmojiAnnotation>;
    // English decides which emoji there are, whether its captions are wanted or not.
    ASSIGN_OR_RETURN(const Annotations english, ReadEmojiAnnotations(FileOf("en")));
    std::map<std::string, Annotations> others;
    for (const std::string& language : options_.languages) {
      if (language == "en") continue;
      ASSIGN_OR_RETURN(others[language], ReadEmojiAnnotations(FileOf(language)));
    }
    for (const auto& [code_point, annotation] : english) {
      if (annotation.name.empty() || pngs_.count(code_point) == 0) continue;
      const std::string hex = absl::StrCat(absl::Hex(code_point));
      CorpusItem item;
      item.item_id = absl::StrCat(kIdPrefix, hex);
      item.path = absl::StrCat(options_.font, "#", hex);
      item.tags = annotation.keywords;
      if (WantsLanguage(options_.languages, "en")) AddCaptions(annotation, "en", item);
      for (const auto& [language, annotations] : others) {
        const auto found = annotations.find(code_point);
        if (found != annotations.end()) AddCaptions(found->second, language, item);
      }
      RETURN_IF_ERROR(GiveItem(std::move(item), sink));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    absl::string_view hex = item.item_id;
    uint32_t code_point = 0;
    if (!absl::ConsumePrefix(&hex, kIdPrefix) || !absl::SimpleHexAtoi(hex, &code_point) ||
        pngs_.count(code_point) == 0) {
      return absl::NotFoundError(absl::StrCat(item.item_id, " is no emoji of ", options_.font));
    }
    const absl::string_view png = pngs_.at(code_point);
    if (static_cast<int64_t>(png.size()) > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("picture of ", png.size(), " bytes; the limit is ", max_bytes));
    }
    return std::string(png);
  }

  std::string PictureVersion(const CorpusItem&) const override {
    return FileVersion(options_.font);
  }

 private:
  std::string FileOf(absl::string_view language) const {
    return JoinPath(options_.annotations, absl::StrCat(language, ".xml"));
  }

  const EmojiOptions options_;
  const std::unique_ptr<MappedFile> font_;
  std::map<uint32_t, absl::string_view> pngs_;  // into font_
};

}  // namespace

absl::StatusOr<std::map<uint32_t, EmojiAnnotation>> ReadEmojiAnnotations(absl::string_view path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<pugi::xml_document> document, ReadXmlFile(path));
  std::map<uint32_t, EmojiAnnotation> annotations;
  const pugi::xml_node list = document->child("ldml").child("annotations");
  for (const pugi::xml_node node : list.children("annotation")) AddAnnotation(node, annotations);
  for (auto& [code_point, annotation] : annotations) DropNameFromKeywords(annotation);
  return annotations;
}

absl::StatusOr<std::unique_ptr<CorpusReader>> NewEmojiReader(const EmojiOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> font, MappedFile::Open(options.font));
  ASSIGN_OR_RETURN(const std::vector<EmojiBitmap> bitmaps, ReadEmojiBitmaps(font->bytes()));
  return std::make_unique<EmojiReader>(options, std::move(font), bitmaps);
}

}  // namespace sightline
