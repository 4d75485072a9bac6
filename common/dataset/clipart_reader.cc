#include "common/dataset/clipart_reader.h"

#include <algorithm>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/formats/xml.h"

namespace sightline {
namespace {

// Collects title and keywords.  pugixml walks in a loop, whatever the depth.
class DublinCoreWalker : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (node.type() != pugi::node_element) return true;
    const absl::string_view name = LocalName(node.name());
    if (name == "title" && text_.title.empty() && LocalName(node.parent().name()) == "Work") {
      text_.title = CleanCaption(node.text().get());
    } else if (name == "li" && LocalName(node.parent().parent().name()) == "subject" &&
               text_.keywords.size() < limits::kMaxWords) {
      std::string keyword = CleanCaption(node.text().get());
      if (!keyword.empty()) text_.keywords.push_back(std::move(keyword));
    }
    return true;
  }

  ClipArtText TakeText() { return std::move(text_); }

 private:
  ClipArtText text_;
};

class ClipArtReader : public CorpusReader {
 public:
  explicit ClipArtReader(const ClipArtOptions& options) : options_(options) {}

  absl::Status ListTo(ListingSink& sink) const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> pngs, ListFilesBelow(options_.png_root));
    ASSIGN_OR_RETURN(const std::vector<std::string> svgs, ListFilesBelow(options_.svg_root));

    std::vector<std::pair<CorpusItem, ClipArtText>> items;
    ClipArtCaptionRule rule;
    for (const std::string& png : pngs) {
      absl::string_view stem = png;
      if (!absl::ConsumeSuffix(&stem, ".png")) continue;
      const std::string svg = absl::StrCat(stem, ".svg");
      if (!std::binary_search(svgs.begin(), svgs.end(), svg)) continue;
      CorpusItem item;
      item.item_id = absl::StrCat("clipart/", stem);
      item.path = JoinPath(options_.png_root, png);
      if (!CheckItemId(item.item_id).ok()) {
        RETURN_IF_ERROR(GiveItem(std::move(item), sink));
        continue;
      }
      ASSIGN_OR_RETURN(ClipArtText text, TextOf(item, JoinPath(options_.svg_root, svg), sink));
      rule.Count(text.title);
      items.emplace_back(std::move(item), std::move(text));
    }
    // A title's worth is known only when all have been counted.
    for (auto& [item, text] : items) {
      item.tags = DescribingKeywords(text.keywords);
      if (WantsLanguage(options_.languages, "en")) {
        for (std::string& caption : rule.CaptionsOf(text)) {
          item.captions.push_back({"en", std::move(caption)});
        }
      }
      RETURN_IF_ERROR(GiveItem(std::move(item), sink));
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<ClipArtText> TextOf(const CorpusItem& item, const std::string& svg_path,
                                            ListingSink& sink) {
    absl::StatusOr<ClipArtText> text = ReadClipArtText(svg_path);
    if (text.ok()) return text;
    RETURN_IF_ERROR(sink.Warning(
        {item.item_id, svg_path, absl::StrCat("no captions: ", text.status().message())}));
    return ClipArtText();
  }

  const ClipArtOptions options_;
};

}  // namespace

absl::StatusOr<ClipArtText> ReadClipArtText(absl::string_view svg_path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<pugi::xml_document> document, ReadXmlFile(svg_path));
  DublinCoreWalker walker;
  document->traverse(walker);
  return walker.TakeText();
}

std::unique_ptr<CorpusReader> NewClipArtReader(const ClipArtOptions& options) {
  return std::make_unique<ClipArtReader>(options);
}

}  // namespace sightline
