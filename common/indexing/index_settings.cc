#include "common/indexing/index_settings.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/index/effort_curve.h"
#include "common/index/index_builder.h"
#include "common/index/index_kinds.h"
#include "common/index/spec_defaults.h"

namespace sightline {
namespace {

constexpr int kMostLinks = 128;
constexpr int kMostBuildEffort = 2000;
constexpr int kMostRefine = 1000;
constexpr int64_t kMostBytesPerItem = int64_t{1} << 20;

constexpr char kIvf[] = "ivf";
constexpr char kHnsw[] = "hnsw";

// 0: not said.
absl::StatusOr<double> RecallOf(const std::string& text) {
  if (text.empty()) return 0.0;
  double recall = 0;
  if (absl::SimpleAtod(text, &recall) && recall > 0 && recall <= 1) return recall;
  return absl::InvalidArgumentError(
      absl::StrCat("recall is '", text, "', not a number above 0 and at most 1"));
}

// Names of the parameters that were said, which are of `kind` alone.
std::vector<std::string> SaidOf(absl::string_view kind, const IndexSettings& settings) {
  std::vector<std::string> names;
  const auto add = [&names](bool said, const char* name) {
    if (said) names.emplace_back(name);
  };
  if (kind == kIvf) {
    add(settings.lists != 0, "lists");
    add(settings.pq_parts != 0, "pq_parts");
  } else if (kind == kHnsw) {
    add(settings.links != 0, "links");
    add(settings.build_effort != 0, "build_effort");
  } else {
    add(!settings.code.empty(), "code");
    add(settings.refine != 0, "refine");
  }
  return names;
}

absl::Status CheckTogether(const IndexSettings& settings) {
  const bool has_parameters = settings.kind == kIvf || settings.kind == kHnsw;
  for (const char* kind : {kIvf, kHnsw, ""}) {
    const bool own = *kind == '\0' ? has_parameters : settings.kind == kind;
    if (own) continue;
    const std::vector<std::string> said = SaidOf(kind, settings);
    if (said.empty()) continue;
    const char* const of = *kind == '\0' ? "of kinds ivf and hnsw" : "of another kind";
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(said, ", "), ": ", of, "; ",
                     settings.kind.empty() ? "give a kind too" : "leave it out"));
  }
  if (!settings.kind.empty() && (settings.fastest || settings.bytes_per_item > 0)) {
    return absl::InvalidArgumentError(
        "fastest and bytes_per_item choose a kind; leave them out, or kind");
  }
  if (settings.fastest && settings.bytes_per_item > 0) {
    return absl::InvalidArgumentError(
        "fastest is without a bound of memory; leave it out, or bytes_per_item");
  }
  return absl::OkStatus();
}

bundle::v1::IndexSpec SpecOf(const IndexSettings& settings, double recall) {
  bundle::v1::IndexSpec spec;
  spec.set_kind(settings.kind);
  spec.set_rows_on_disk(settings.rows_on_disk);
  spec.set_default_recall(recall);
  spec.set_seed(settings.seed);
  if (settings.kind == kIvf) {
    spec.mutable_ivf()->set_list_count(settings.lists);
    spec.mutable_ivf()->set_code(settings.code);
    spec.mutable_ivf()->set_pq_parts(settings.pq_parts);
    spec.mutable_ivf()->set_refine(settings.refine);
  } else if (settings.kind == kHnsw) {
    spec.mutable_hnsw()->set_link_count(settings.links);
    spec.mutable_hnsw()->set_build_effort(settings.build_effort);
    spec.mutable_hnsw()->set_code(settings.code);
    spec.mutable_hnsw()->set_refine(settings.refine);
  }
  return spec;
}

// Of what a manifest has, the names that settings have.
std::string InSettings(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"index_spec.ivf.list_count", "lists"},
                                       {"index_spec.hnsw.link_count", "links"},
                                       {"index_spec.ivf.", ""},
                                       {"index_spec.hnsw.", ""},
                                       {"index_spec: ", ""}});
}

}  // namespace

std::string IndexWish::Text() const {
  std::string text = ManifestJson(spec);
  if (target.has_value()) {
    absl::StrAppend(&text, "recall ", target->recall, " bytes an item ", target->bytes_per_item,
                    " rows on disk ", target->rows_on_disk, " seed ", target->seed, "\n");
  }
  return text;
}

void AddIndexFlags(absl::string_view prefix, Flags* flags, IndexSettings* settings) {
  const auto name = [prefix](absl::string_view rest) { return absl::StrCat(prefix, rest); };
  flags->String(name("kind"), "NAME", "of the index to build: flat, flat_int8, ivf or hnsw",
                &settings->kind);
  flags->String(name("code"), "NAME",
                "what rows are compared by: of ivf rows, int8, pq4 or rabitq, of hnsw rows or int8",
                &settings->code);
  flags->Int(name("lists"), "of ivf, in each shard; default: 8 for each root of its items", 1,
             limits::kMaxIndexLists, &settings->lists);
  flags->Int(name("pq-parts"), "of ivf's codes pq4 (default: half of the dimension) and rabitq", 1,
             limits::kMaxDimension, &settings->pq_parts);
  flags->Int(name("links"), "of hnsw, of a row on each level; default 16", 4, kMostLinks,
             &settings->links);
  flags->Int(name("build-effort"), "of hnsw; default 200", 8, kMostBuildEffort,
             &settings->build_effort);
  flags->Int(name("refine"), "candidates scored exactly for a neighbor; default: by the code", 1,
             kMostRefine, &settings->refine);
  flags->String("recall", "R",
                "of the ten best, of searches that ask for none; without a kind: choose the "
                "fastest index that finds it",
                &settings->recall);
  flags->Int("bytes-per-item", "choose among those that take at most so much memory", 1,
             kMostBytesPerItem, &settings->bytes_per_item);
  flags->Switch("fastest", "choose whatever memory it takes", &settings->fastest);
  flags->Switch("rows-on-disk", "leave exact rows on the disk of servers", &settings->rows_on_disk);
  flags->Int(name("seed"), "of the draws of building; default 1", 0, INT64_MAX, &settings->seed);
  flags->Int("max-memory", "bytes that building may take; default: 80 % of what there is", 1,
             INT64_MAX, &settings->max_memory);
}

absl::StatusOr<IndexWish> WishOf(const IndexSettings& settings) {
  RETURN_IF_ERROR(CheckTogether(settings));
  ASSIGN_OR_RETURN(const double recall, RecallOf(settings.recall));
  IndexWish wish;
  wish.max_bytes = settings.max_memory;
  if (!settings.kind.empty()) {
    wish.spec = SpecOf(settings, recall);
    RETURN_IF_ERROR(CheckIndexWish(wish, limits::kMaxDimension));
    return wish;
  }
  if (recall == 0 && !settings.fastest && settings.bytes_per_item == 0) {
    if (!settings.rows_on_disk) return wish;
    return absl::InvalidArgumentError("rows_on_disk: give a kind too, or a recall to choose for");
  }
  IndexTarget target;
  target.recall = recall > 0 ? recall : kDefaultRecall;
  target.bytes_per_item = settings.bytes_per_item;
  target.rows_on_disk = settings.rows_on_disk;
  target.seed = settings.seed;
  wish.target = target;
  return wish;
}

absl::Status CheckIndexWish(const IndexWish& wish, int dimension) {
  if (wish.spec.kind().empty()) return absl::OkStatus();
  bundle::v1::GenerationManifest manifest;
  *manifest.mutable_index_spec() = wish.spec;
  // What is left open suits every number of rows.
  FillIndexSpec(/*rows=*/1, dimension, manifest.mutable_index_spec());
  const absl::StatusOr<const IndexKind*> kind = IndexKindOf(manifest);
  if (!kind.ok()) return absl::InvalidArgumentError(kind.status().message());
  const absl::Status status = CheckIndexSpec(manifest.index_spec(), dimension, **kind);
  return status.ok() ? status : absl::InvalidArgumentError(InSettings(status.message()));
}

IndexWish ReadIndexWish(ConfigReader root, absl::string_view name) {
  ConfigReader section = root.Section(name);
  IndexSettings settings;
  const auto number = [&section](absl::string_view key, int64_t otherwise, int64_t min,
                                 int64_t max) {
    return static_cast<int>(section.Int(key, otherwise, min, max));
  };
  settings.kind = section.String("kind", "");
  settings.code = section.String("code", "");
  settings.lists = number("lists", 0, 1, limits::kMaxIndexLists);
  settings.pq_parts = number("pq_parts", 0, 1, limits::kMaxDimension);
  settings.links = number("links", 0, 4, kMostLinks);
  settings.build_effort = number("build_effort", 0, 8, kMostBuildEffort);
  settings.refine = number("refine", 0, 1, kMostRefine);
  settings.recall = section.String("recall", "");
  settings.bytes_per_item = section.Int("bytes_per_item", 0, 1, kMostBytesPerItem);
  settings.fastest = section.Bool("fastest", false);
  settings.rows_on_disk = section.Bool("rows_on_disk", false);
  settings.seed = section.Int("seed", settings.seed, 0);
  settings.max_memory = section.Bytes("max_memory", 0, 1);
  absl::StatusOr<IndexWish> wish = WishOf(settings);
  if (wish.ok()) return *std::move(wish);
  root.AddProblem(name, wish.status().message());
  return IndexWish();
}

}  // namespace sightline
