#include "common/dataset/clipart_reader.h"

#include <algorithm>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/dataset/xml.h"

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

  absl::StatusOr<CorpusListing> List() const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> pngs, ListFilesBelow(options_.png_root));
    ASSIGN_OR_RETURN(const std::vector<std::string> svgs, ListFilesBelow(options_.svg_root));

    CorpusListing listing;
    std::vector<ClipArtText> texts;  // beside listing.items
    ClipArtCaptionRule rule;
    for (const std::string& png : pngs) {
      absl::string_view stem = png;
      if (!absl::ConsumeSuffix(&stem, ".png")) continue;
      const std::string svg = absl::StrCat(stem, ".svg");
      if (!std::binary_search(svgs.begin(), svgs.end(), svg)) continue;
      if (!Add(png, stem, listing)) continue;
      texts.push_back(TextOf(JoinPath(options_.svg_root, svg), listing));
      rule.Count(texts.back().title);
    }
    // A title's worth is known only when all have been counted.
    for (size_t i = 0; i < listing.items.size(); ++i) {
      listing.items[i].tags = DescribingKeywords(texts[i].keywords);
      if (!WantsLanguage(options_.languages, "en")) continue;
      for (std::string& caption : rule.CaptionsOf(texts[i])) {
        listing.items[i].captions.push_back({"en", std::move(caption)});
      }
    }
    FinishListing(listing);
    return listing;
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    return ReadPictureFile(item.path, max_bytes);
  }

 private:
  // False if it was rejected.
  bool Add(const std::string& png, absl::string_view stem, CorpusListing& listing) const {
    CorpusItem item;
    item.item_id = absl::StrCat("clipart/", stem);
    item.path = JoinPath(options_.png_root, png);
    if (const absl::Status good = CheckItemId(item.item_id); !good.ok()) {
      listing.rejected.push_back({EscapeUnlessPrintable(item.item_id),
                                  EscapeUnlessPrintable(item.path), std::string(good.message())});
      return false;
    }
    listing.items.push_back(std::move(item));
    return true;
  }

  // Of the item that was added last.
  static ClipArtText TextOf(const std::string& svg_path, CorpusListing& listing) {
    absl::StatusOr<ClipArtText> text = ReadClipArtText(svg_path);
    if (text.ok()) return *std::move(text);
    listing.warnings.push_back({listing.items.back().item_id, svg_path,
                                absl::StrCat("no captions: ", text.status().message())});
    return {};
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
