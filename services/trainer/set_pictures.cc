#include "services/trainer/set_pictures.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
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
    const bool is_text =
        token != tokenizer.cls_id() && token != tokenizer.sep_id() && token != tokenizer.unk_id();
    if (!is_text) continue;
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
        tokenizer_(std::move(tokenizer)),
        pictures_sum_(Sha256Hex(
            absl::string_view(reinterpret_cast<const char*>(set_->pictures()),
                              static_cast<size_t>(set_->row_count() * set_->picture_bytes())))) {}

  // Before all else.
  absl::Status FindShown() {
    for (const int64_t row : set_->CaptionedRows(/*with_validation=*/true)) {
      const bool is_changed = set_->use(row) == TrainingUse::kTrain;
      for (int64_t copy = 0; copy <= (is_changed ? options_.changed_copies : 0); ++copy) {
        const std::string id = copy == 0 ? ids_[row] : absl::StrCat(ids_[row], "~", copy);
        if (shown_.emplace(id, ShownRow{row, copy}).second) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("two pictures of ", options_.folder, " are to be ", id));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ListTo(ListingSink& sink) const override {
    for (const auto& [id, shown] : shown_) RETURN_IF_ERROR(GiveItem(ItemOf(id, shown), sink));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    const ShownRow shown = shown_.at(item.item_id);
    ASSIGN_OR_RETURN(const std::string planes, PlanesOf(shown));
    ASSIGN_OR_RETURN(std::string png, PngFileOf(PixelsOf(planes, set_->image_size())));
    if (static_cast<int64_t>(png.size()) <= max_bytes) return png;
    return absl::InvalidArgumentError(
        absl::StrCat("picture of ", png.size(), " bytes is larger than ", max_bytes));
  }

  std::string PictureVersion(const CorpusItem& item) const override {
    const ShownRow shown = shown_.at(item.item_id);
    std::string version = absl::StrCat(pictures_sum_, " ", shown.row);
    if (shown.copy == 0) return version;
    absl::StrAppend(&version, " ", shown.copy, " ", options_.seed);
    const AugmentOptions& o = options_.augment;
    for (const double range :
         {o.scale, o.shift, o.rotation_degrees, o.flip_probability, o.brightness, o.contrast,
          o.saturation, o.grey_probability, o.erase_probability, o.erase_side}) {
      absl::StrAppendFormat(&version, " %.17g", range);
    }
    return version;
  }

 private:
  absl::StatusOr<std::string> PlanesOf(const ShownRow& shown) const {
    if (shown.copy > 0) {
      Random random(RowSeed(options_.seed, RandomStream::kVariants, shown.copy, shown.row));
      return ChangedPicture(*set_, shown.row, options_.augment, &random);
    }
    return std::string(reinterpret_cast<const char*>(set_->picture(shown.row)),
                       static_cast<size_t>(set_->picture_bytes()));
  }

  CorpusItem ItemOf(const std::string& id, const ShownRow& shown) const {
    CorpusItem item;
    item.item_id = id;
    item.path = options_.folder;
    item.split = set_->use(shown.row) == TrainingUse::kTrain ? Split::kTrain : Split::kValidation;
    for (const int64_t caption : set_->captions(shown.row)) {
      const std::string text = CleanCaption(Spelled(*tokenizer_, set_->tokens(caption)));
      if (text.empty()) continue;
      item.captions.push_back({set_->languages()[set_->language(caption)], text});
    }
    return item;
  }

  const SetPicturesOptions options_;
  const std::unique_ptr<TrainingSet> set_;
  const std::vector<std::string> ids_;  // of rows
  const std::unique_ptr<Tokenizer> tokenizer_;
  const std::string pictures_sum_;
  std::unordered_map<std::string, ShownRow> shown_;  // by item id
};

// Of what can be indexed by the set's numbers.
absl::Status CheckAgree(const TrainingSet& set, size_t ids, const Tokenizer& tokenizer,
                        absl::string_view folder) {
  const SpecialTokens& special = set.special_tokens();
  const bool agree = static_cast<int64_t>(ids) == set.row_count() &&
                     tokenizer.vocabulary_size() == set.vocabulary_size() &&
                     tokenizer.cls_id() == special.cls && tokenizer.sep_id() == special.sep &&
                     tokenizer.unk_id() == special.unk;
  if (agree) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      folder, ": the set has ", set.row_count(), " pictures and ", set.vocabulary_size(),
      " tokens, ", kItemsFile, " ", ids, " and ", kVocabularyFile, " ", tokenizer.vocabulary_size(),
      ", or other special ones; run `trainer prepare` again"));
}

// A file of the folder, which the set was made with.
absl::StatusOr<std::string> ReadPart(absl::string_view folder, absl::string_view name,
                                     absl::string_view expected_sum) {
  const std::string path = JoinPath(folder, name);
  ASSIGN_OR_RETURN(std::string contents, ReadFile(path));
  if (Sha256Hex(contents) == expected_sum) return contents;
  return absl::FailedPreconditionError(absl::StrCat(path, " is not the one that ", kTrainingSetFile,
                                                    " beside it was made with; run `trainer "
                                                    "prepare` again"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenSetPictures(const SetPicturesOptions& options,
                                                              const CallContext& call) {
  const std::string& folder = options.folder;
  ASSIGN_OR_RETURN(std::unique_ptr<TrainingSet> set,
                   TrainingSet::Open(JoinPath(folder, kTrainingSetFile), call));
  if (set->image_size() != options.image_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " has pictures of ", set->image_size(), " x ", set->image_size(),
                     " pixels, and the model sees ", options.image_size, " x ", options.image_size,
                     "; prepare a set with its --model-config"));
  }
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadPart(folder, kVocabularyFile, set->vocabulary_sha256()));
  ASSIGN_OR_RETURN(const std::string items, ReadPart(folder, kItemsFile, set->items_sha256()));
  ASSIGN_OR_RETURN(std::vector<std::string> ids, Within(kItemsFile, ParseItemIds(items)));
  // For spelling alone, which is the same with capitals and without.
  ASSIGN_OR_RETURN(
      std::unique_ptr<Tokenizer> tokenizer,
      Within(kVocabularyFile, WordPieceTokenizer::Create(vocabulary, WordPieceOptions())));
  RETURN_IF_ERROR(CheckAgree(*set, ids.size(), *tokenizer, folder));
  auto pictures =
      std::make_unique<SetPictures>(options, std::move(set), std::move(ids), std::move(tokenizer));
  RETURN_IF_ERROR(pictures->FindShown());
  return pictures;
}

}  // namespace sightline
