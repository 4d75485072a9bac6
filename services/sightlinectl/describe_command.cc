#include "services/sightlinectl/describe_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/generation.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/model_probes.h"
#include "common/bundle/named_bundle.h"
#include "common/bundle/publication.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/verify.h"
#include "common/config/table.h"
#include "common/formats/safetensors.h"
#include "common/object_store/remote_publication.h"
#include "services/sightlinectl/describe_file.h"
#include "services/sightlinectl/model_text.h"
#include "services/sightlinectl/store_view.h"

namespace sightline {
namespace {

std::string ModelText(const std::string& id,
                      const std::vector<std::pair<std::string, std::string>>& lines,
                      const bundle::v1::ModelBundleManifest& manifest) {
  Table files({{"file"}, {"bytes", true}, {"sha256"}});
  for (const bundle::v1::BundleFile& file : manifest.files()) {
    files.AddRow({file.path(), WithThousands(file.byte_count()), file.sha256()});
  }
  return absl::StrCat("model bundle ", id, "\n", AlignedLines(lines), files.ToString(2));
}

absl::StatusOr<std::string> DescribeModel(const ModelBundle& bundle,
                                          const DescribeOptions& options) {
  const bundle::v1::ModelBundleManifest& manifest = bundle.manifest;
  std::vector<std::pair<std::string, std::string>> lines = ModelLines(manifest);
  std::string tensors;
  const std::string weights_path = bundle.FilePath(kWeightsFile);
  if (FileExists(weights_path)) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> weights, Safetensors::Open(weights_path));
    lines.emplace_back("parameters", absl::StrCat(WithThousands(ParameterCount(*weights)), " in ",
                                                  weights->tensors().size(), " tensors"));
    if (options.tensors) tensors = TensorTable(*weights);
  }
  if (HasProbes(manifest)) {
    ASSIGN_OR_RETURN(const bundle::v1::ModelProbes probes, ReadModelProbes(bundle));
    lines.emplace_back(
        "probes", absl::StrCat(probes.texts_size(), " texts, ", probes.items_size(), " items"));
  }
  return absl::StrCat(ModelText(bundle.id, lines, manifest), tensors,
                      options.verify ? kVerified : "");
}

absl::StatusOr<std::string> DescribeRemoteModel(ObjectStore* store, const std::string& id) {
  ASSIGN_OR_RETURN(const bundle::v1::ModelBundleManifest manifest,
                   ReadRemoteModel(store, id, CallContext::Unbounded()));
  return ModelText(id, ModelLines(manifest), manifest);
}

// Of files that the kind of index has built only where there are any.
std::string ShardTable(const bundle::v1::GenerationManifest& manifest) {
  const bool has_index_files = std::any_of(
      manifest.shards().begin(), manifest.shards().end(),
      [](const bundle::v1::ShardManifest& shard) { return shard.index_files_size() > 0; });
  std::vector<Table::Column> columns = {{"shard", true}, {"items", true}, {"vectors"},
                                        {"bytes", true}, {"features"},    {"bytes", true}};
  if (has_index_files) columns.insert(columns.end(), {{"index files"}, {"bytes", true}});
  Table shards(std::move(columns));
  for (int i = 0; i < manifest.shards_size(); ++i) {
    const bundle::v1::ShardManifest& shard = manifest.shards(i);
    std::vector<std::string> cells = {absl::StrCat(i),
                                      WithThousands(shard.item_count()),
                                      shard.vectors().path(),
                                      WithThousands(shard.vectors().byte_count()),
                                      shard.has_features() ? shard.features().path() : "none",
                                      WithThousands(shard.features().byte_count())};
    std::vector<std::string> paths, byte_counts;
    for (const bundle::v1::BundleFile& file : shard.index_files()) {
      paths.push_back(file.path());
      byte_counts.push_back(WithThousands(file.byte_count()));
    }
    if (has_index_files) {
      cells.push_back(paths.empty() ? "none" : absl::StrJoin(paths, ", "));
      cells.push_back(absl::StrJoin(byte_counts, ", "));
    }
    shards.AddRow(cells);
  }
  return shards.ToString(2);
}

// "int8, 27,800 bytes an item".  Captions have token ids, whatever rows of pictures are kept in.
std::string FeaturesText(const bundle::v1::GenerationManifest& manifest) {
  int64_t bytes = 0;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    bytes += shard.features().byte_count();
  }
  const bool ids = manifest.item_kind() == bundle::v1::CAPTION;
  return absl::StrCat(ids ? "token ids" : DtypeName(FeatureDtypeOf(manifest)), ", ",
                      WithThousands(bytes / std::max<int64_t>(manifest.item_count(), 1)),
                      " bytes an item");
}

// "hnsw, rows on disk, recall 0.95, seed 3, link_count 16, ...": what was asked of the build.
std::string IndexText(const bundle::v1::IndexSpec& spec) {
  std::vector<std::string> parts = {spec.kind()};
  if (spec.rows_on_disk()) parts.emplace_back("rows on disk");
  if (spec.default_recall() > 0) parts.push_back(absl::StrCat("recall ", spec.default_recall()));
  if (spec.seed() != 0) parts.push_back(absl::StrCat("seed ", spec.seed()));
  const auto refine = [&parts](int candidates) {
    if (candidates > 0) parts.push_back(absl::StrCat("refine ", candidates));
  };
  if (spec.has_ivf()) {
    parts.push_back(absl::StrCat("list_count ", spec.ivf().list_count()));
    parts.push_back(absl::StrCat("code ", spec.ivf().code()));
    if (spec.ivf().pq_parts() > 0) {
      parts.push_back(absl::StrCat("pq_parts ", spec.ivf().pq_parts()));
    }
    refine(spec.ivf().refine());
  }
  if (spec.has_hnsw()) {
    parts.push_back(absl::StrCat("link_count ", spec.hnsw().link_count()));
    parts.push_back(absl::StrCat("build_effort ", spec.hnsw().build_effort()));
    parts.push_back(absl::StrCat("code ", spec.hnsw().code()));
    refine(spec.hnsw().refine());
  }
  return absl::StrJoin(parts, ", ");
}

// What efforts find and cost, of each shard that was measured; nothing where there is none.
std::string EffortTable(const bundle::v1::GenerationManifest& manifest) {
  Table efforts({{"shard", true},
                 {"effort", true},
                 {"recall@10", true},
                 {"recall@100", true},
                 {"ms a query", true}});
  bool measured = false;
  for (int i = 0; i < manifest.shards_size(); ++i) {
    for (const bundle::v1::EffortPoint& point : manifest.shards(i).efforts()) {
      measured = true;
      efforts.AddRow({absl::StrCat(i), WithThousands(point.effort()),
                      absl::StrFormat("%.4f", point.recall_at_10()),
                      absl::StrFormat("%.4f", point.recall_at_100()),
                      absl::StrFormat("%.3f", 1e3 * point.seconds())});
    }
  }
  return measured ? absl::StrCat("efforts\n", efforts.ToString(2)) : "";
}

// What was published, the present one first.
std::string PublicationTable(const bundle::v1::CurrentGeneration& current) {
  Table table({{"sequence", true}, {"generation"}, {"left at"}, {""}});
  table.AddRow({absl::StrCat(current.sequence()), current.generation(), "-", "current"});
  for (const bundle::v1::Publication& before : current.previous()) {
    table.AddRow({absl::StrCat(before.sequence()), before.generation(),
                  before.leave_time().empty() ? "?" : before.leave_time(),
                  before.rolled_back() ? "rolled back" : ""});
  }
  return absl::StrCat("published\n", table.ToString(2));
}

absl::StatusOr<std::string> DescribeGeneration(const StoreView& store, const std::string& index,
                                               const std::string& generation) {
  ASSIGN_OR_RETURN(const bundle::v1::GenerationManifest manifest,
                   store.Manifest(index, generation));
  const auto current = store.Current(index);
  const bool is_current = current.ok() && current->generation() == generation;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"items",
       absl::StrCat(WithThousands(manifest.item_count()),
                    manifest.item_kind() == bundle::v1::CAPTION ? " captions" : " images")},
      {"embedding", EmbeddingText(manifest.embedding())},
      {"encoder", manifest.encoder_model()},
  };
  if (VectorDtypeOf(manifest) != kDefaultVectorDtype) {
    lines.emplace_back("vectors", DtypeName(VectorDtypeOf(manifest)));
  }
  if (manifest.has_encoding()) {
    lines.emplace_back("precision", absl::StrFormat("%s, which finds %.1f %% of float32's ten best",
                                                    manifest.encoding().precision(),
                                                    100 * manifest.encoding().agreement()));
  }
  if (manifest.has_index_spec()) {
    lines.emplace_back("index", IndexText(manifest.index_spec()));
  }
  const std::vector<NamedReranker> rerankers = RerankersOf(manifest);
  if (rerankers.empty()) lines.emplace_back("reranker", "none");
  for (const NamedReranker& reranker : rerankers) {
    const bool lone = rerankers.size() == 1 && reranker.name == kDefaultReranker;
    lines.emplace_back(lone ? "reranker" : absl::StrCat("reranker ", reranker.name),
                       reranker.model);
  }
  if (!rerankers.empty()) lines.emplace_back("item features", FeaturesText(manifest));
  lines.emplace_back("current", is_current ? absl::StrCat("yes, sequence ", current->sequence())
                                           : std::string("no"));
  if (!manifest.parent_generation().empty()) {
    lines.emplace_back("made from", manifest.parent_generation());
  }
  if (!manifest.create_time().empty()) lines.emplace_back("made at", manifest.create_time());
  return absl::StrCat("generation ", index, "/", generation, "\n", AlignedLines(lines),
                      ShardTable(manifest), EffortTable(manifest));
}

absl::StatusOr<std::string> DescribeInFolder(const std::string& store, const std::string& index,
                                             const std::string& generation, bool verify) {
  ASSIGN_OR_RETURN(const std::string text,
                   DescribeGeneration(*ViewFolder(store), index, generation));
  if (!verify) return text;
  ASSIGN_OR_RETURN(const bundle::v1::GenerationManifest manifest,
                   ReadGenerationManifest(store, index, generation));
  VerifyOptions options;
  options.sha256 = true;
  RETURN_IF_ERROR(VerifyGeneration(store, manifest, options));
  return text + kVerified;
}

// <store>/indexes/<index>/generations/<id>, from its end.
absl::StatusOr<std::string> DescribeGenerationFolder(const std::string& directory, bool verify) {
  const std::filesystem::path path(directory);
  const std::filesystem::path index = path.parent_path().parent_path();
  if (path.parent_path().filename() != "generations" ||
      index.parent_path().filename() != "indexes") {
    return absl::InvalidArgumentError(
        absl::StrCat(directory,
                     " is no generation: it does not lie in a store, as "
                     "STORE/indexes/INDEX/generations/GENERATION"));
  }
  return DescribeInFolder(index.parent_path().parent_path().string(), index.filename().string(),
                          path.filename().string(), verify);
}

// `INDEX/GENERATION`, or `INDEX` for what is current and all that was before.
absl::StatusOr<std::string> DescribeNamed(const std::string& id, const DescribeOptions& options) {
  const std::vector<std::string> parts = absl::StrSplit(id, '/');
  if (parts.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", id, "' is no model id, no INDEX and no INDEX/GENERATION"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<StoreView> store, OpenStoreView(options.place));
  const auto describe = [&](const std::string& generation) {
    return options.place.is_remote()
               ? DescribeGeneration(*store, parts[0], generation)
               : DescribeInFolder(options.place.folder, parts[0], generation, options.verify);
  };
  if (parts.size() == 2) {
    absl::StatusOr<std::string> text = describe(parts[1]);
    return text.ok() ? text : WithNames(text.status(), *store, parts[0], parts[1]);
  }
  const auto current = store->Current(id);
  if (!current.ok()) return WithNames(current.status(), *store, id);
  ASSIGN_OR_RETURN(const std::string text, describe(current->generation()));
  return text + PublicationTable(*current);
}

absl::StatusOr<std::string> DescribeId(const std::string& id, const DescribeOptions& options) {
  const StorePlace& place = options.place;
  if (place.is_remote() && (options.verify || options.tensors)) {
    return absl::InvalidArgumentError(
        "--verify and --tensors read what is in a folder; of an object store, `sightlinectl "
        "verify` compares all, and `sightlinectl fetch` brings it into one");
  }
  if (!IsSha256Hex(id)) return DescribeNamed(id, options);
  if (!place.is_remote()) {
    ASSIGN_OR_RETURN(const ModelBundle bundle, OpenStoredBundle(place.folder, id, options.verify));
    return DescribeModel(bundle, options);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, place.OpenObjectStore());
  return DescribeRemoteModel(store.get(), id);
}

}  // namespace

absl::StatusOr<std::string> Describe(const std::string& target, const DescribeOptions& options) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(target, error);
  if (!error) {
    if (!std::filesystem::is_directory(path, error)) {
      return DescribeFile(path.string(), options.verify);
    }
    if (!IsSha256Hex(path.filename().string())) {
      return DescribeGenerationFolder(path.string(), options.verify);
    }
    ASSIGN_OR_RETURN(const ModelBundle bundle, OpenModelBundle(path.string(), options.verify));
    return DescribeModel(bundle, options);
  }
  if (options.place.is_empty()) {
    return absl::NotFoundError(absl::StrCat("there is no file or folder '", target,
                                            "'; for an id, add --store DIR or --object-store URL"));
  }
  return DescribeId(target, options);
}

int RunDescribe(const std::vector<std::string>& args, const Console& console) {
  DescribeOptions options;
  Flags flags;
  options.place.AddFlags("store in which ids are looked up", &flags);
  flags.Switch("tensors", "list the tensors of a bundle's weights", &options.tensors);
  flags.Switch("verify", "read everything and compare checksums", &options.verify);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kDescribeCommand, &flags, args, console, &words, &status)) return status;
  if (words.size() != 1) return UsageError(kDescribeCommand, "give one path or id", console);
  const std::string places = options.place.Settle(Places::kOne);
  if (!places.empty() && !options.place.is_empty()) {
    return UsageError(kDescribeCommand, absl::StrCat("give ", places), console);
  }
  const absl::StatusOr<std::string> text = Describe(words[0], options);
  if (!text.ok()) return Fail(text.status(), console);
  console.out << *text;
  return kSuccess;
}

}  // namespace sightline
