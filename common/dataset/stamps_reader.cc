#include "common/dataset/stamps_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kLanguageMark = ".utf8=";
constexpr int64_t kMaxTextBytes = 1 << 20;

class StampsReader : public CorpusReader {
 public:
  explicit StampsReader(const StampsOptions& options) : options_(options) {}

  absl::Status ListTo(ListingSink& sink) const override {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFilesBelow(options_.root));
    for (const std::string& file : files) {
      absl::string_view stem = file;
      if (!absl::ConsumeSuffix(&stem, ".png")) continue;
      const std::string text = absl::StrCat(stem, ".txt");
      if (!std::binary_search(files.begin(), files.end(), text)) continue;
      CorpusItem item;
      item.item_id = absl::StrCat("stamps/", stem);
      item.path = JoinPath(options_.root, file);
      if (CheckItemId(item.item_id).ok()) {
        RETURN_IF_ERROR(AddCaptions(JoinPath(options_.root, text), item, sink));
      }
      RETURN_IF_ERROR(GiveItem(std::move(item), sink));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddCaptions(const std::string& path, CorpusItem& item, ListingSink& sink) const {
    const absl::StatusOr<std::string> text = ReadFile(path, kMaxTextBytes);
    if (!text.ok()) {
      return sink.Warning({item.item_id, path, std::string(text.status().message())});
    }
    item.captions = ParseStampText(*text, options_.languages);
    return absl::OkStatus();
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
