#include "common/dataset/stamps_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kLanguageMark = ".utf8=";
constexpr int64_t kMaxTextBytes = 1 << 20;

class StampsReader : public CorpusReader {
 public:
  explicit StampsReader(const StampsOptions& options) : options_(options) {}

  absl::StatusOr<CorpusListing> List() const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFilesBelow(options_.root));
    CorpusListing listing;
    for (const std::string& file : files) {
      absl::string_view stem = file;
      if (!absl::ConsumeSuffix(&stem, ".png")) continue;
      const std::string text = absl::StrCat(stem, ".txt");
      if (!std::binary_search(files.begin(), files.end(), text)) continue;
      Add(file, stem, text, listing);
    }
    FinishListing(listing);
    return listing;
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    return ReadPictureFile(item.path, max_bytes);
  }

 private:
  void Add(const std::string& file, absl::string_view stem, const std::string& text_file,
           CorpusListing& listing) const {
    CorpusItem item;
    item.item_id = absl::StrCat("stamps/", stem);
    item.path = JoinPath(options_.root, file);
    if (const absl::Status good = CheckItemId(item.item_id); !good.ok()) {
      listing.rejected.push_back({EscapeUnlessPrintable(item.item_id),
                                  EscapeUnlessPrintable(item.path), std::string(good.message())});
      return;
    }
    const std::string path = JoinPath(options_.root, text_file);
    const absl::StatusOr<std::string> text = ReadFile(path, kMaxTextBytes);
    if (text.ok()) {
      item.captions = ParseStampText(*text, options_.languages);
    } else {
      listing.warnings.push_back({item.item_id, path, std::string(text.status().message())});
    }
    listing.items.push_back(std::move(item));
  }

  const StampsOptions options_;
};

}  // namespace

std::vector<CorpusCaption> ParseStampText(absl::string_view text,
                                          const std::vector<std::string>& languages) {
  std::vector<CorpusCaption> captions;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view language = "en";
    absl::string_view caption = line;
    if (!first) {
      const size_t mark = line.find(kLanguageMark);
      if (mark == absl::string_view::npos || mark == 0 || mark > 32) continue;
      language = line.substr(0, mark);
      caption = line.substr(mark + kLanguageMark.size());
    }
    first = false;
    if (!WantsLanguage(languages, language)) continue;
    std::string clean = CleanCaption(caption);
    if (clean.empty() || captions.size() == kMaxCaptionsPerItem) continue;
    captions.push_back({std::string(language), std::move(clean)});
  }
  return captions;
}

std::unique_ptr<CorpusReader> NewStampsReader(const StampsOptions& options) {
  return std::make_unique<StampsReader>(options);
}

}  // namespace sightline
