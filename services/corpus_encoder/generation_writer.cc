#include "services/corpus_encoder/generation_writer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/unit_file.h"

namespace sightline {
namespace {

constexpr absl::string_view kContentFile = "content.json";
constexpr int64_t kMaxContentBytes = 1 << 20;

std::string ContentJson(const GenerationSpec& spec) {
  const nlohmann::ordered_json json = {{"content_sha256", spec.content}};
  return absl::StrCat(json.dump(2), "\n");
}

// The generation as it was written before; NotFound if it was not, or not to its end.
absl::StatusOr<bundle::v1::GenerationManifest> FindWritten(const GenerationSpec& spec) {
  ASSIGN_OR_RETURN(bundle::v1::GenerationManifest manifest,
                   ReadGenerationManifest(spec.store, spec.index, spec.generation));
  const std::string directory = GenerationDirectory(spec.store, spec.index, spec.generation);
  const absl::StatusOr<std::string> content =
      ReadFile(JoinPath(directory, kContentFile), kMaxContentBytes);
  if (!content.ok() || *content != ContentJson(spec)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "index ", spec.index, " has a generation ", spec.generation,
        " of other content, and generations never change; give this one another name"));
  }
  return manifest;
}

int64_t BytesOf(const bundle::v1::GenerationManifest& manifest) {
  int64_t bytes = 0;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    bytes += shard.vectors().byte_count() + shard.features().byte_count();
  }
  return bytes;
}

EncodedItem MakeItem(UnitRow row, std::string caption, const CorpusItem& image) {
  EncodedItem item;
  item.record.item_id = std::move(row.item_id);
  item.record.caption = std::move(caption);
  item.record.uri = Printable(image.path);
  item.embedding = std::move(row.embedding);
  item.features = std::move(row.features);
  return item;
}

// Collects the items of one shard out of all units.
class ShardCollector {
 public:
  ShardCollector(const GenerationSpec& spec, int shard) : spec_(spec), shard_(shard) {}

  absl::Status AddUnit(const WorkUnit& unit) {
    ASSIGN_OR_RETURN(UnitResult result,
                     ReadUnitFile(UnitFilePath(spec_.work_directory, unit.hash), unit.hash,
                                  spec_.embedding.dimension(), /*verify=*/false));
    return spec_.item_kind == bundle::v1::IMAGE ? AddImages(unit, std::move(result))
                                                : AddCaptions(unit, std::move(result));
  }

  std::vector<EncodedItem> TakeItems() { return std::move(items_); }

 private:
  bool Belongs(const UnitRow& row) const {
    return row.rejected.empty() && ShardOf(row.item_id, spec_.shard_count) == shard_;
  }

  absl::Status AddImages(const WorkUnit& unit, UnitResult result) {
    if (result.images.size() != unit.pictures.size()) return Mismatch(unit);
    for (size_t i = 0; i < unit.pictures.size(); ++i) {
      const CorpusItem& image = unit.pictures[i].item;
      if (result.images[i].item_id != image.item_id) return Mismatch(unit);
      if (!Belongs(result.images[i])) continue;
      const CorpusCaption* caption = image.FirstCaption(spec_.caption_language);
      items_.push_back(
          MakeItem(std::move(result.images[i]), caption == nullptr ? "" : caption->text, image));
      items_.back().record.tags = image.tags;
    }
    return absl::OkStatus();
  }

  absl::Status AddCaptions(const WorkUnit& unit, UnitResult result) {
    size_t next = 0;
    for (size_t i = 0; i < unit.pictures.size(); ++i) {
      const CorpusItem& image = unit.pictures[i].item;
      if (i >= result.images.size() || !result.images[i].rejected.empty()) continue;
      for (CaptionItem& caption : CaptionItemsOf(image, spec_.caption_language)) {
        if (next == result.captions.size() || result.captions[next].item_id != caption.item_id) {
          return Mismatch(unit);
        }
        UnitRow& row = result.captions[next++];
        if (Belongs(row)) {
          items_.push_back(MakeItem(std::move(row), std::move(caption.text), image));
        }
      }
    }
    return next == result.captions.size() ? absl::OkStatus() : Mismatch(unit);
  }

  absl::Status Mismatch(const WorkUnit& unit) const {
    return absl::DataLossError(absl::StrCat(UnitFilePath(spec_.work_directory, unit.hash),
                                            " does not hold the items of its unit"));
  }

  const GenerationSpec& spec_;
  const int shard_;
  std::vector<EncodedItem> items_;
};

absl::StatusOr<bundle::v1::GenerationManifest> MakeManifest(const GenerationSpec& spec) {
  bundle::v1::GenerationManifest manifest;
  manifest.set_index(spec.index);
  manifest.set_generation(spec.generation);
  manifest.set_item_kind(spec.item_kind);
  *manifest.mutable_embedding() = spec.embedding;
  manifest.set_encoder_model(spec.encoder_model);
  manifest.set_reranker_model(spec.reranker_model);
  absl::StatusOr<bundle::v1::CurrentGeneration> current = ReadCurrent(spec.store, spec.index);
  if (current.ok()) {
    manifest.set_parent_generation(current->generation());
  } else if (!absl::IsNotFound(current.status())) {
    return current.status();
  }
  return manifest;
}

}  // namespace

absl::StatusOr<WrittenGeneration> WriteGeneration(const GenerationSpec& spec,
                                                  absl::Span<const WorkUnit> units,
                                                  const CallContext& call, Progress* progress) {
  const absl::StatusOr<bundle::v1::GenerationManifest> written = FindWritten(spec);
  if (written.ok()) {
    return WrittenGeneration{written->item_count(), BytesOf(*written), /*already_there=*/true};
  }
  if (!absl::IsNotFound(written.status())) return written.status();

  const std::string directory = GenerationDirectory(spec.store, spec.index, spec.generation);
  ASSIGN_OR_RETURN(bundle::v1::GenerationManifest manifest, MakeManifest(spec));
  progress->Begin(absl::StrCat("write ", spec.index), "units",
                  static_cast<int64_t>(units.size()) * spec.shard_count);
  int64_t item_count = 0;
  for (int shard = 0; shard < spec.shard_count; ++shard) {
    ShardCollector collector(spec, shard);
    for (const WorkUnit& unit : units) {
      RETURN_IF_ERROR(call.Check("writing the generation"));
      RETURN_IF_ERROR(collector.AddUnit(unit));
      progress->Advance(1);
    }
    ASSIGN_OR_RETURN(*manifest.add_shards(),
                     WriteShard(directory, shard, spec.shard_count, spec.embedding.dimension(),
                                spec.reranker_model, collector.TakeItems()));
    item_count += manifest.shards(shard).item_count();
  }
  progress->End();
  manifest.set_item_count(item_count);
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kQuarantineFile), spec.quarantine));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kContentFile), ContentJson(spec)));
  RETURN_IF_ERROR(WriteGenerationManifest(spec.store, manifest));
  return WrittenGeneration{item_count, BytesOf(manifest), /*already_there=*/false};
}

}  // namespace sightline
