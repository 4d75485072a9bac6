#include "services/trainer/set_pictures.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/image/encode_png.h"
#include "common/tokenizer/wordpiece.h"
#include "common/training/changed_picture.h"
#include "common/training/random.h"
#include "common/training/training_set.h"
#include "services/trainer/item_list.h"
#include "services/trainer/prepared_folder.h"

namespace sightline {
namespace {

// Which picture an item is; copy 0 is the one as it is.
struct ShownRow {
  int64_t row = 0;
  int64_t copy = 0;
};

// "[CLS] wom ##bat [SEP]": "wombat".
std::string Spelled(const Tokenizer& tokenizer, absl::Span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    if (token == tokenizer.cls_id() || token == tokenizer.sep_id()) continue;
    const absl::string_view piece = tokenizer.Spelling(token);
    if (absl::StartsWith(piece, "##") && piece.size() > 2) {
      absl::StrAppend(&text, piece.substr(2));
    } else {
      absl::StrAppend(&text, text.empty() ? "" : " ", piece);
    }
  }
  return text;
}

// Of planes R, G and B.
Pixels PixelsOf(absl::string_view planes, int64_t side) {
  Pixels pixels = {static_cast<int>(side), static_cast<int>(side), {}};
  pixels.rgb.reserve(planes.size());
  const int64_t plane = side * side;
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t colour = 0; colour < 3; ++colour) {
      pixels.rgb.push_back(static_cast<uint8_t>(planes[colour * plane + i]));
    }
  }
  return pixels;
}

class SetPictures : public CorpusReader {
 public:
  SetPictures(const SetPicturesOptions& options, std::unique_ptr<TrainingSet> set,
              std::vector<std::string> ids, std::unique_ptr<Tokenizer> tokenizer)
      : options_(options),
        set_(std::move(set)),
        ids_(std::move(ids)),
        tokenizer_(std::move(tokenizer)) {
    for (const int64_t row : set_->CaptionedRows(/*with_validation=*/true)) {
      for (int64_t copy = 0; copy <= CopiesOf(row); ++copy) shown_[IdOf({row, copy})] = {row, copy};
    }
  }

  absl::Status ListTo(ListingSink& sink) const override {
    for (const auto& [id, shown] : shown_) RETURN_IF_ERROR(GiveItem(ItemOf(id, shown), sink));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    const ShownRow shown = shown_.at(item.item_id);
    std::string planes(reinterpret_cast<const char*>(set_->picture(shown.row)),
                       static_cast<size_t>(set_->picture_bytes()));
    if (shown.copy > 0) {
      Random random(RowSeed(options_.seed, RandomStream::kVariants, shown.copy, shown.row));
      ASSIGN_OR_RETURN(planes, ChangedPicture(*set_, shown.row, options_.augment, &random));
    }
    ASSIGN_OR_RETURN(std::string png, PngFileOf(PixelsOf(planes, set_->image_size())));
    if (static_cast<int64_t>(png.size()) <= max_bytes) return png;
    return absl::InvalidArgumentError(
        absl::StrCat("picture of ", png.size(), " bytes is larger than ", max_bytes));
  }

  // By the set, which is a folder's for good, and what is drawn.
  std::string PictureVersion(const CorpusItem& item) const override {
    const AugmentOptions& o = options_.augment;
    const ShownRow shown = shown_.at(item.item_id);
    std::string version = absl::StrCat(set_->items_sha256(), " ", shown.row);
    if (shown.copy == 0) return version;
    absl::StrAppend(&version, " ", options_.seed);
    for (const double drawn :
         {o.scale, o.shift, o.rotation_degrees, o.flip_probability, o.brightness, o.contrast,
          o.saturation, o.grey_probability, o.erase_probability, o.erase_side}) {
      absl::StrAppend(&version, " ", drawn);
    }
    return version;
  }

 private:
  int64_t CopiesOf(int64_t row) const {
    return set_->use(row) == TrainingUse::kTrain ? options_.changed_copies : 0;
  }

  std::string IdOf(const ShownRow& shown) const {
    return shown.copy == 0 ? ids_[shown.row] : absl::StrCat(ids_[shown.row], "~", shown.copy);
  }

  CorpusItem ItemOf(const std::string& id, const ShownRow& shown) const {
    CorpusItem item;
    item.item_id = id;
    item.path = options_.folder;
    item.split = set_->use(shown.row) == TrainingUse::kTrain ? Split::kTrain : Split::kValidation;
    for (const int64_t caption : set_->captions(shown.row)) {
      item.captions.push_back({set_->languages()[set_->language(caption)],
                               Spelled(*tokenizer_, set_->tokens(caption))});
    }
    return item;
  }

  const SetPicturesOptions options_;
  const std::unique_ptr<TrainingSet> set_;
  const std::vector<std::string> ids_;  // of rows
  const std::unique_ptr<Tokenizer> tokenizer_;
  std::unordered_map<std::string, ShownRow> shown_;  // by item id
};

absl::Status CheckSum(const std::string& path, absl::string_view contents,
                      absl::string_view expected) {
  if (Sha256Hex(contents) == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is not the one that ", kTrainingSetFile,
      " beside it was made with; files of two runs are mixed: run `trainer prepare` again"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenSetPictures(const SetPicturesOptions& options,
                                                              const CallContext& call) {
  ASSIGN_OR_RETURN(std::unique_ptr<TrainingSet> set,
                   TrainingSet::Open(JoinPath(options.folder, kTrainingSetFile), call));
  const std::string vocabulary_path = JoinPath(options.folder, kVocabularyFile);
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(vocabulary_path, limits::kMaxVocabularyBytes));
  RETURN_IF_ERROR(CheckSum(vocabulary_path, vocabulary, set->vocabulary_sha256()));
  const std::string items_path = JoinPath(options.folder, kItemsFile);
  ASSIGN_OR_RETURN(const std::string items, ReadFile(items_path));
  RETURN_IF_ERROR(CheckSum(items_path, items, set->items_sha256()));
  ASSIGN_OR_RETURN(std::vector<std::string> ids, ParseItemIds(items));
  if (static_cast<int64_t>(ids.size()) != set->row_count()) {
    return absl::DataLossError(absl::StrCat(items_path, " has ", ids.size(), " items and the set ",
                                            set->row_count(), "; run `trainer prepare` again"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                   WordPieceTokenizer::Create(vocabulary, WordPieceOptions()));
  return std::make_unique<SetPictures>(options, std::move(set), std::move(ids),
                                       std::move(tokenizer));
}

}  // namespace sightline
