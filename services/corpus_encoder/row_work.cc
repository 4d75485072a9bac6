#include "services/corpus_encoder/row_work.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/id_cuts.h"
#include "services/corpus_encoder/work_seal.h"

namespace sightline {
namespace {

constexpr absl::string_view kRowsFormat = "sightline rows 3";
constexpr int64_t kPicturesPerFile = 4096;  // on average
// Of one row file: they are open until it is written.
constexpr size_t kMostUnits = 256;

// Collects rows of pictures.
class RowCollector {
 public:
  RowCollector(const RowWorkshop& shop, RowFileWriter& writer)
      : shop_(shop), writer_(writer), base_(*shop.base) {}

  // Takes the rows of a unit by their ids, and reads all that they have.  `file` must live until
  // the rows are written.
  absl::Status AddUnit(const WorkUnit& unit, const UnitFile& file) {
    UnitFile::Reader reader(file);
    const absl::Status mismatch = absl::DataLossError(
        absl::StrCat(shop_.folder->UnitPath(unit.hash), " does not hold the items of its unit"));
    if (file.images().size() != unit.pictures.size()) return mismatch;
    auto caption_row = file.captions().begin();
    for (size_t i = 0; i < unit.pictures.size(); ++i) {
      const ScannedPicture& picture = unit.pictures[i];
      const UnitFile::Row& image = file.images()[i];
      if (image.item_id != picture.item.item_id) return mismatch;
      if (!image.rejected.empty()) {
        writer_.judgement().bad_images.push_back(
            {image.item_id, picture.item.path, image.rejected});
        writer_.judgement().dropped_caption_count +=
            static_cast<int64_t>(CaptionsOf(picture).size());
        continue;
      }
      ASSIGN_OR_RETURN(ItemRow image_row, FromUnit(file, image, reader));
      ASSIGN_OR_RETURN(const absl::Span<const float> of_image, reader.Embedding(image));
      AddImage(picture, of_image, std::move(image_row));
      for (const CaptionItem& caption : CaptionsOf(picture)) {
        if (caption_row == file.captions().end() || caption_row->item_id != caption.item_id) {
          return mismatch;
        }
        const UnitFile::Row& row = *caption_row++;
        if (!row.rejected.empty()) {
          writer_.judgement().bad_captions.push_back({row.item_id, "", row.rejected});
          continue;
        }
        ASSIGN_OR_RETURN(ItemRow caption_of, FromUnit(file, row, reader));
        ASSIGN_OR_RETURN(const absl::Span<const float> embedding, reader.Embedding(row));
        AddCaption(picture, caption, embedding, std::move(caption_of));
      }
    }
    return caption_row == file.captions().end() ? absl::OkStatus() : mismatch;
  }

  absl::Status AddCarried(const CarriedPicture& carried) {
    const ScannedPicture& picture = carried.picture;
    ASSIGN_OR_RETURN(const std::vector<float> of_image, base_.images->Embedding(carried.image));
    AddImage(picture, of_image, FromBase(carried.image));
    const std::vector<CaptionItem> captions = CaptionsOf(picture);
    for (size_t i = 0; i < captions.size(); ++i) {
      const BaseIndex::Place& place = carried.captions[i];
      ASSIGN_OR_RETURN(const std::vector<float> embedding, base_.captions->Embedding(place));
      AddCaption(picture, captions[i], embedding, FromBase(place));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<CaptionItem> CaptionsOf(const ScannedPicture& picture) const {
    return CaptionItemsOf(picture.item, shop_.context->caption_language);
  }

  static absl::StatusOr<ItemRow> FromUnit(const UnitFile& file, const UnitFile::Row& row,
                                          UnitFile::Reader& reader) {
    ItemRow item;
    item.unit = &file;
    item.row = &row;
    ASSIGN_OR_RETURN(const absl::Span<const float> embedding, reader.Embedding(row));
    item.embedding_checksum = Crc32c(BytesOfNumbers(embedding));
    for (const UnitFile::Tensor& tensor : row.tensors) {
      ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Bytes(tensor));
      item.tensor_checksums.push_back(Crc32c(bytes));
    }
    return item;
  }

  static ItemRow FromBase(const BaseIndex::Place& place) {
    ItemRow item;
    item.base = place;
    return item;
  }

  void AddImage(const ScannedPicture& picture, absl::Span<const float> embedding, ItemRow row) {
    writer_.judgement().images.Add(picture.sha256, embedding);
    const CorpusCaption* const caption = picture.item.FirstCaption(shop_.context->caption_language);
    row.record = {picture.item.item_id, caption == nullptr ? "" : caption->text,
                  EscapeUnlessPrintable(picture.item.path), picture.item.tags};
    row.content_hash = ImageContentHash(picture, *shop_.context);
    writer_.Add(ItemIndex::kImages, std::move(row));
  }

  void AddCaption(const ScannedPicture& picture, const CaptionItem& caption,
                  absl::Span<const float> embedding, ItemRow row) {
    writer_.judgement().captions.Add(caption.text, embedding);
    row.record = {
        caption.item_id, std::string(caption.text), EscapeUnlessPrintable(picture.item.path), {}};
    row.content_hash = CaptionContentHash(caption, *shop_.context);
    writer_.Add(ItemIndex::kCaptions, std::move(row));
  }

  const RowWorkshop& shop_;
  RowFileWriter& writer_;
  BaseReaders base_;
};

bool IsWhole(const RowWorkshop& shop, const std::string& name) {
  return RowFile::Open(shop.folder->RowsPath(name), shop.shard_count, shop.dimension,
                       /*verify=*/true)
      .ok();
}

// Of what the seals say.
std::string DigestOf(const std::vector<std::string>& seals) {
  FieldHash hash;
  for (const std::string& seal : seals) hash.Add(seal);
  return hash.Hex();
}

}  // namespace

RowWork::RowWork(const RowWorkshop& workshop) : shop_(workshop) {
  FieldHash hash;
  hash.Add("sightline seal 2");
  hash.Add(shop_.content);
  hash.Add(shop_.base->name());
  hash.AddNumber(shop_.share.workers);  // they decide which rows are whose
  seal_ = hash.Hex();
}

absl::Status RowWork::AddUnits(std::vector<WorkUnit> units, std::vector<std::string>* names) const {
  std::vector<std::unique_ptr<UnitFile>> files;
  FieldHash hash;
  hash.Add(kRowsFormat);
  hash.Add("units");
  hash.Add(shop_.content);
  for (const WorkUnit& unit : units) {
    ASSIGN_OR_RETURN(std::unique_ptr<UnitFile> file,
                     UnitFile::Open(shop_.folder->UnitPath(unit.hash), unit.hash, shop_.dimension,
                                    /*verify=*/false));
    hash.Add(unit.hash);
    hash.Add(file->Fingerprint());
    files.push_back(std::move(file));
  }
  names->push_back(hash.Hex());
  if (IsWhole(shop_, names->back())) return absl::OkStatus();
  RowFileWriter writer(shop_.shard_count, shop_.dimension);
  RowCollector collector(shop_, writer);
  for (size_t i = 0; i < units.size(); ++i) {
    RETURN_IF_ERROR(collector.AddUnit(units[i], *files[i]));
    units[i].pictures = {};
  }
  return writer.WriteTo(shop_.folder->RowsPath(names->back()));
}

absl::Status RowWork::AddCarried(int worker, const std::vector<CarriedPicture>& pictures,
                                 std::vector<std::string>* names) const {
  FieldHash hash;
  hash.Add(kRowsFormat);
  hash.Add("carried");
  hash.Add(shop_.content);
  hash.Add(shop_.base->name());
  for (const CarriedPicture& picture : pictures) hash.Add(picture.picture.item.item_id);
  const std::string name = hash.Hex();
  if (shop_.share.OwnerOf(name) != worker) return absl::OkStatus();
  names->push_back(name);
  shop_.tally->Note();
  if (IsWhole(shop_, name)) return absl::OkStatus();
  RowFileWriter writer(shop_.shard_count, shop_.dimension);
  RowCollector collector(shop_, writer);
  for (const CarriedPicture& picture : pictures) {
    RETURN_IF_ERROR(collector.AddCarried(picture));
  }
  return writer.WriteTo(shop_.folder->RowsPath(name));
}

absl::Status RowWork::Make(int worker, const UnitSpool& units, const CarriedSpool& carried,
                           const CallContext& call) {
  std::vector<std::string> names;
  std::vector<WorkUnit> some_units;
  IdCuts unit_cuts("rows", kPicturesPerFile / std::max(shop_.unit_size, 1));
  for (UnitSpool::Reader reader(units);;) {
    RETURN_IF_ERROR(call.Check("collecting the units"));
    WorkUnit unit;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&unit));
    if (more && shop_.share.OwnerOf(unit.hash) != worker) continue;
    if (more) some_units.push_back(std::move(unit));
    const bool ends =
        more ? unit_cuts.EndsWith(some_units.back().hash) || some_units.size() == kMostUnits
             : !some_units.empty();
    if (ends) {
      shop_.tally->Note();
      RETURN_IF_ERROR(AddUnits(std::move(some_units), &names));
      some_units.clear();
    }
    if (!more) break;
  }
  std::vector<CarriedPicture> some_carried;
  IdCuts carried_cuts("carried", kPicturesPerFile);
  for (CarriedSpool::Reader reader(carried);;) {
    RETURN_IF_ERROR(call.Check("collecting what is carried over"));
    CarriedPicture picture;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
    if (more) some_carried.push_back(std::move(picture));
    const bool ends = more ? carried_cuts.EndsWith(some_carried.back().picture.item.item_id)
                           : !some_carried.empty();
    if (ends) {
      RETURN_IF_ERROR(AddCarried(worker, some_carried, &names));
      some_carried.clear();
    }
    if (!more) break;
  }
  RETURN_IF_ERROR(WriteSeal(SealPath(worker), absl::StrJoin(names, "\n")));
  checked_.insert(names.begin(), names.end());
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<std::vector<std::string>>> RowWork::ReadSeals() const {
  std::vector<std::string> seals;
  for (int worker = 0; worker < shop_.share.workers; ++worker) {
    absl::StatusOr<std::string> seal = ReadFile(SealPath(worker));
    if (absl::IsNotFound(seal.status())) return absl::nullopt;
    RETURN_IF_ERROR(seal.status());
    seals.push_back(*std::move(seal));
  }
  return seals;
}

absl::StatusOr<bool> RowWork::AreSealed(absl::string_view digest) const {
  ASSIGN_OR_RETURN(const absl::optional<std::vector<std::string>> seals, ReadSeals());
  return seals.has_value() && DigestOf(*seals) == digest;
}

absl::StatusOr<std::unique_ptr<RowFile>> RowWork::OpenWhole(const std::string& name) {
  const bool verify = checked_.count(name) == 0;
  absl::StatusOr<std::unique_ptr<RowFile>> file =
      RowFile::Open(shop_.folder->RowsPath(name), shop_.shard_count, shop_.dimension, verify);
  if (file.ok()) checked_.insert(name);
  return file;
}

absl::StatusOr<absl::optional<GenerationRows>> RowWork::Collect(const CallContext& call) {
  const std::string& directory = shop_.folder->path();
  GenerationRows rows{{}, "", 0, 0, Quarantine(directory), Quarantine(directory)};
  CollapseCheck images, captions;
  int64_t dropped_caption_count = 0;
  ASSIGN_OR_RETURN(const absl::optional<std::vector<std::string>> seals, ReadSeals());
  if (!seals.has_value()) return absl::nullopt;
  for (int worker = 0; worker < shop_.share.workers; ++worker) {
    const std::string& seal = (*seals)[static_cast<size_t>(worker)];
    for (const absl::string_view name : absl::StrSplit(seal, '\n', absl::SkipEmpty())) {
      RETURN_IF_ERROR(call.Check("judging the rows"));
      shop_.tally->Note();
      const absl::StatusOr<std::unique_ptr<RowFile>> file = OpenWhole(std::string(name));
      const absl::StatusOr<RowJudgement> found =
          file.ok() ? (*file)->Judgement() : absl::StatusOr<RowJudgement>(file.status());
      if (!found.ok()) {
        checked_.erase(std::string(name));
        return BreakSeal(SealPath(worker), worker, found.status());
      }
      rows.files.push_back(shop_.folder->RowsPath(name));
      rows.image_count += (*file)->size(ItemIndex::kImages);
      rows.caption_count +=
          (*file)->size(ItemIndex::kCaptions) + static_cast<int64_t>(found->bad_captions.size());
      dropped_caption_count += found->dropped_caption_count;
      images.Merge(found->images);
      captions.Merge(found->captions);
      for (const CorpusProblem& bad : found->bad_images) {
        RETURN_IF_ERROR(rows.bad_images.Add(bad));
      }
      for (const CorpusProblem& bad : found->bad_captions) {
        RETURN_IF_ERROR(rows.bad_captions.Add(bad));
      }
    }
  }
  rows.digest = DigestOf(*seals);
  RETURN_IF_ERROR(CheckTotals(rows, dropped_caption_count));
  RETURN_IF_ERROR(images.Check("pictures"));
  RETURN_IF_ERROR(captions.Check("captions"));
  return rows;
}

// A shard takes an item once, so that with the right number of items none is missing.
absl::Status RowWork::CheckTotals(const GenerationRows& rows, int64_t dropped_caption_count) const {
  const int64_t pictures = rows.image_count + rows.bad_images.size();
  const int64_t captions = rows.caption_count + dropped_caption_count;
  if (pictures == shop_.picture_count && captions == shop_.caption_count) return absl::OkStatus();
  for (int worker = 0; worker < shop_.share.workers; ++worker) RemoveSeal(SealPath(worker));
  return absl::AbortedError(absl::StrCat(
      "the rows of all workers hold ", pictures, " pictures and ", captions,
      " captions, and the corpus has ", shop_.picture_count, " and ", shop_.caption_count,
      ": the workers have not divided it alike; run all of them again"));
}

}  // namespace sightline
