#include "tests/services/corpus_encoder/generated_units.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/index/probe_queries.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/corpus_division.h"
#include "services/corpus_encoder/generation_writer.h"
#include "services/corpus_encoder/row_work.h"
#include "services/corpus_encoder/shard_work.h"

namespace sightline {
namespace {

// Of units; and of what is carried over from it.
constexpr char kGeneration[] = "generated";
constexpr char kCarried[] = "carried";

const char* NameOf(const GeneratedUnits& units) {
  return units.carried ? kCarried : kGeneration;
}

WorkFolder FolderOf(const GeneratedUnits& units) {
  return WorkFolder(JoinPath(units.store, "work/images"));
}

UnitContext ContextOf() {
  UnitContext context;
  context.encoder = std::string(64, 'a');
  return context;
}

ScannedPicture PictureOf(int64_t i) {
  ScannedPicture picture;
  picture.item.item_id = absl::StrFormat("generated/%010d", i);
  picture.item.path = absl::StrCat("/corpus/", picture.item.item_id, ".png");
  picture.item.captions = {{"en", absl::StrCat("picture number ", i)}};
  picture.item.tags = {"generated"};
  picture.sha256 = absl::StrFormat("%064x", i);
  return picture;
}

std::vector<float> EmbeddingOf(const std::string& id, int dimension) {
  uint64_t state = std::hash<std::string>()(id);
  std::vector<float> embedding;
  for (int i = 0; i < dimension; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    embedding.push_back(static_cast<float>(state >> 40) / (1 << 23) - 1.0f);
  }
  return embedding;
}

// Shows all units in order.
absl::Status ForEachUnit(const GeneratedUnits& units, const UnitContext& context,
                         const CallContext& call,
                         const std::function<absl::Status(const WorkUnit&)>& visit) {
  UnitCutter cutter(units.unit_size, context);
  for (int64_t i = 0; i < units.item_count / 2; ++i) {
    const absl::optional<WorkUnit> unit = cutter.Add(PictureOf(i));
    if (!unit.has_value()) continue;
    RETURN_IF_ERROR(call.Check("generating units"));
    RETURN_IF_ERROR(visit(*unit));
  }
  const absl::optional<WorkUnit> last = cutter.Finish();
  return last.has_value() ? visit(*last) : absl::OkStatus();
}

UnitResult ResultOf(const WorkUnit& unit, int dimension) {
  UnitResult result;
  const auto row = [&](const std::string& id) {
    UnitRow row;
    row.item_id = id;
    row.embedding = EmbeddingOf(id, dimension);
    return row;
  };
  for (const ScannedPicture& picture : unit.pictures) {
    result.images.push_back(row(picture.item.item_id));
    for (const CaptionItem& caption : CaptionItemsOf(picture.item, "en")) {
      result.captions.push_back(row(caption.item_id));
    }
  }
  return result;
}

GenerationSpec SpecOf(const GeneratedUnits& units, ItemIndex index) {
  GenerationSpec spec;
  spec.store = units.store;
  spec.index = index == ItemIndex::kImages ? "images" : "captions";
  spec.item_kind = index == ItemIndex::kImages ? bundle::v1::IMAGE : bundle::v1::CAPTION;
  spec.generation = NameOf(units);
  if (units.carried) spec.parent = kGeneration;
  spec.shard_count = units.shard_count;
  spec.embedding.set_dimension(units.dimension);
  spec.embedding.set_metric(bundle::v1::EmbeddingSpec::COSINE);
  spec.embedding.set_space(std::string(64, 'a'));
  spec.encoder_model = std::string(64, 'a');
  spec.content = NameOf(units);
  return spec;
}

absl::StatusOr<BaseGeneration> OpenBase(const GeneratedUnits& units) {
  BaseGeneration base;
  if (!units.carried) return base;
  const auto open = [&](ItemIndex index) {
    const GenerationSpec spec = SpecOf(units, index);
    return BaseIndex::Open(units.store, spec.index, kGeneration,
                           {spec.item_kind, spec.embedding, spec.encoder_model, spec.rerankers});
  };
  ASSIGN_OR_RETURN(base.images, open(ItemIndex::kImages));
  ASSIGN_OR_RETURN(base.captions, open(ItemIndex::kCaptions));
  return base;
}

absl::StatusOr<CorpusDivision> Divide(const GeneratedUnits& units, const WorkFolder& folder,
                                      const BaseGeneration& base, const UnitContext& context,
                                      WorkTally& tally, const CallContext& call) {
  const ItemCodec codec;
  ASSIGN_OR_RETURN(PictureSpool pictures, PictureSpool::Create(folder.path(), codec));
  for (int64_t i = 0; i < units.item_count / 2; ++i) {
    RETURN_IF_ERROR(call.Check("generating pictures"));
    RETURN_IF_ERROR(pictures.Add(PictureOf(i)));
  }
  RETURN_IF_ERROR(pictures.Finish());
  DivisionRules rules;
  rules.context = &context;
  rules.unit_size = units.unit_size;
  ASSIGN_OR_RETURN(CorpusDivision division,
                   DivideCorpus(pictures, codec, base, rules, folder, tally, call));
  const int64_t carried = units.carried ? units.item_count / 2 : 0;
  if (division.carried.size() == carried) return division;
  return absl::InternalError(
      absl::StrCat(division.carried.size(), " pictures are carried over, not ", carried));
}

absl::Status Finish(const GeneratedUnits& units, const WorkFolder& folder, const ShardWork& shards,
                    GenerationRows& rows, const CallContext& call) {
  ASSIGN_OR_RETURN(Warnings none, Warnings::Create(folder.path()));
  RETURN_IF_ERROR(none.Finish());
  for (const ItemIndex index : kItemIndexes) {
    // Captions are what is asked of images.
    const ItemIndex asking =
        index == ItemIndex::kImages ? ItemIndex::kCaptions : ItemIndex::kImages;
    const QuerySource queries = [&](int count) {
      return ProbeQueries(
          GenerationDirectory(units.store, SpecOf(units, asking).index, NameOf(units)),
          shards.manifests(asking), units.dimension, count);
    };
    Quarantine& bad = index == ItemIndex::kImages ? rows.bad_images : rows.bad_captions;
    RETURN_IF_ERROR(
        FinishGeneration(SpecOf(units, index), shards.manifests(index), queries, bad, none, call)
            .status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GenerateUnits(const GeneratedUnits& units, const CallContext& call) {
  const WorkFolder folder = FolderOf(units);
  return ForEachUnit(units, ContextOf(), call, [&](const WorkUnit& unit) -> absl::Status {
    const std::string path = folder.UnitPath(unit.hash);
    if (FileExists(path)) return absl::OkStatus();
    return WriteUnitFile(path, unit.hash, units.dimension, ResultOf(unit, units.dimension))
        .status();
  });
}

absl::StatusOr<GenerationTimes> WriteGeneratedUnits(const GeneratedUnits& units,
                                                    const CallContext& call) {
  GenerationTimes times;
  absl::Time start = call.clock()->Now();
  const auto lap = [&] {
    const absl::Time now = call.clock()->Now();
    return now - std::exchange(start, now);
  };
  const WorkFolder folder = FolderOf(units);
  const UnitContext context = ContextOf();
  ASSIGN_OR_RETURN(const BaseGeneration base, OpenBase(units));
  WorkTally tally(folder, {});
  ASSIGN_OR_RETURN(const CorpusDivision plan, Divide(units, folder, base, context, tally, call));
  times.plan = lap();

  RowWorkshop rows_of;
  rows_of.folder = &folder;
  rows_of.content = NameOf(units);
  rows_of.shard_count = units.shard_count;
  rows_of.unit_size = units.unit_size;
  rows_of.dimension = units.dimension;
  rows_of.context = &context;
  rows_of.base = &base;
  rows_of.picture_count = rows_of.caption_count = units.item_count / 2;
  rows_of.tally = &tally;
  RowWork row_work(rows_of);
  RETURN_IF_ERROR(row_work.Make(0, plan.units, plan.carried, call));
  ASSIGN_OR_RETURN(absl::optional<GenerationRows> collected, row_work.Collect(call));
  if (!collected.has_value()) return absl::InternalError("a seal is gone");
  GenerationRows& rows = *collected;
  times.rows = lap();

  const GenerationSpec images = SpecOf(units, ItemIndex::kImages);
  const GenerationSpec captions = SpecOf(units, ItemIndex::kCaptions);
  Progress progress({}, Clock::Real());
  ShardWorkshop shards_of;
  shards_of.folder = &folder;
  shards_of.images = &images;
  shards_of.captions = &captions;
  shards_of.base = &base;
  shards_of.row_work = &row_work;
  shards_of.rows = &rows;
  shards_of.tally = &tally;
  shards_of.progress = &progress;
  ShardWork shards(shards_of);
  ASSIGN_OR_RETURN(const bool written, shards.WriteAll(call));
  if (!written) return absl::InternalError("the rows have changed");
  times.shards = lap();
  RETURN_IF_ERROR(Finish(units, folder, shards, rows, call));
  times.finish = lap();
  return times;
}

absl::StatusOr<std::string> GeneratedManifests(const GeneratedUnits& units) {
  std::string text;
  for (const ItemIndex index : kItemIndexes) {
    const std::string directory =
        GenerationDirectory(units.store, SpecOf(units, index).index, NameOf(units));
    ASSIGN_OR_RETURN(const std::string manifest, ReadFile(JoinPath(directory, kManifestFile)));
    text += manifest;
  }
  return text;
}

void RemoveGenerated(const GeneratedUnits& units) {
  std::error_code ignored;
  for (const char* made : {"work/images/rows", "work/images/seals", "work/images/shards"}) {
    std::filesystem::remove_all(JoinPath(units.store, made), ignored);
  }
  for (const ItemIndex index : kItemIndexes) {
    std::filesystem::remove_all(
        GenerationDirectory(units.store, SpecOf(units, index).index, NameOf(units)), ignored);
  }
}

}  // namespace sightline
