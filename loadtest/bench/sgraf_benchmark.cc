// SGRAF's modules at the papers' size, by what stands for the whole: the published global node,
// T-EMDE in its place ("T-EMDE", 2021, table 3: what whole test sets take), or nothing.  36 regions
// of 2 048 numbers, projected to 1 024; alignments of 256; texts of 12 tokens.  Weights are random:
// what they are costs nothing.
//
// `Prepare` is of 64 pictures, which an index does once; `Score` of one text with 64 of them, which
// a query does, the text read anew each time.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/models/init_model.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/model.h"
#include "loadtest/bench/bench_main.h"

namespace sightline {
namespace {

using bundle::v1::SgrafSpec;

constexpr int kTextTokens = 12;
constexpr int kRegions = 36;
constexpr int kWords = 1000;
constexpr int kPictures = 64;

enum class WholeNode { kPublished, kEmde, kNone };

bundle::v1::ModelBundleManifest ManifestOf(SgrafSpec::Module module, WholeNode node) {
  bundle::v1::ModelBundleManifest manifest;
  manifest.set_family("sgraf");
  manifest.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::WORD_LIST);
  manifest.mutable_tokenizer()->set_vocabulary_file("vocab.json");
  manifest.mutable_tokenizer()->set_max_token_count(kTextTokens);
  manifest.mutable_cross_encoder()->set_score_kind("sigmoid");
  manifest.mutable_cross_encoder()->set_combination("replace");
  SgrafSpec* const spec = manifest.mutable_sgraf();
  spec->set_module(module);
  spec->set_word_size(300);
  spec->set_embedding_size(1024);
  spec->set_similarity_size(256);
  spec->set_region_feature_size(2048);
  spec->set_region_count(kRegions);
  if (module == SgrafSpec::SGR) spec->set_step_count(3);
  if (node == WholeNode::kEmde) {
    spec->mutable_emde()->set_partition_count(16);
    spec->mutable_emde()->set_cell_count(8);
    spec->mutable_emde()->set_cell_size(8);
  }
  spec->set_without_global_node(node == WholeNode::kNone);
  return manifest;
}

std::string Vocabulary() {
  nlohmann::json words = {{"<pad>", 0}, {"<start>", 1}, {"<end>", 2}, {"<unk>", 3}};
  for (int i = 0; i < kWords; ++i) words[absl::StrCat("word", i)] = words.size();
  nlohmann::json by_id = nlohmann::json::object();
  for (const auto& [word, id] : words.items()) by_id[absl::StrCat(id.get<int>())] = word;
  return nlohmann::json({{"word2idx", words}, {"idx2word", by_id}, {"idx", words.size()}}).dump();
}

// A model with something to score.
struct SgrafSubject {
  std::shared_ptr<const Model> model;
  std::vector<ImageInput> images;
  std::string text;
};

absl::StatusOr<std::shared_ptr<const Model>> MakeModel(SgrafSpec::Module module, WholeNode node) {
  const std::string store =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/sgraf_benchmark.", getpid());
  const auto remove_store = absl::MakeCleanup([&store] {
    std::error_code ignored;
    std::filesystem::remove_all(store, ignored);
  });
  ASSIGN_OR_RETURN(const ModelBundle bundle,
                   InitModel(store, ManifestOf(module, node), Vocabulary(), {}));
  ModelOptions options;
  options.pool = &BenchPool();
  return LoadModel(bundle, options);
}

absl::StatusOr<const SgrafSubject*> SubjectOf(SgrafSpec::Module module, WholeNode node) {
  static auto* const made =
      new std::map<std::pair<SgrafSpec::Module, WholeNode>, std::unique_ptr<SgrafSubject>>;
  std::unique_ptr<SgrafSubject>& subject = (*made)[{module, node}];
  if (subject != nullptr) return subject.get();
  auto fresh = std::make_unique<SgrafSubject>();
  ASSIGN_OR_RETURN(fresh->model, MakeModel(module, node));
  fresh->images.resize(kPictures);
  for (int i = 0; i < kPictures; ++i) {
    RegionSet& regions = fresh->images[i].regions;
    regions.count = kRegions;
    regions.feature_size = 2048;
    for (int64_t k = 0; k < regions.count * regions.feature_size; ++k) {
      regions.features.push_back(static_cast<float>((k * 7 + i) % 13) / 13);
    }
  }
  std::vector<std::string> words;
  for (int i = 0; i < kTextTokens - 2; ++i) words.push_back(absl::StrCat("word", 31 * i % kWords));
  fresh->text = absl::StrJoin(words, " ");
  subject = std::move(fresh);
  return subject.get();
}

void Prepare(benchmark::State& state, SgrafSpec::Module module, WholeNode node) {
  const auto subject = SubjectOf(module, node);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const CrossEncoder& encoder = *(*subject)->model->cross_encoder();
  Rounds rounds(&state, [&] {
    return encoder.PrepareImages((*subject)->images, CallContext::Unbounded()).status();
  });
  rounds.Items("pictures_per_second", kPictures);
}

void Score(benchmark::State& state, SgrafSpec::Module module, WholeNode node) {
  const auto subject = SubjectOf(module, node);
  if (!subject.ok()) return state.SkipWithError(subject.status().ToString().c_str());
  const Model& model = *(*subject)->model;
  auto images = model.cross_encoder()->PrepareImages((*subject)->images, CallContext::Unbounded());
  if (!images.ok()) return state.SkipWithError(images.status().ToString().c_str());
  for (ItemFeatures& image : *images) {
    auto stored = StoredAs(kDefaultFeatureDtype, std::move(image));
    if (!stored.ok()) return state.SkipWithError(stored.status().ToString().c_str());
    image = *std::move(stored);
  }
  const auto text = TextFeatures(model, (*subject)->text);
  if (!text.ok()) return state.SkipWithError(text.status().ToString().c_str());
  std::vector<ScoringPair> pairs;
  for (const ItemFeatures& image : *images) pairs.push_back({&*text, &image});
  Rounds rounds(&state, [&] {
    return model.cross_encoder()->Score(pairs, CallContext::Unbounded()).status();
  });
  rounds.Items("pairs_per_second", kPictures);
}

#define SIGHTLINE_SGRAF_BENCHMARKS(name, module, node)           \
  BENCHMARK_CAPTURE(Prepare, name, module, node)->UseRealTime(); \
  BENCHMARK_CAPTURE(Score, name, module, node)->UseRealTime()
SIGHTLINE_SGRAF_BENCHMARKS(saf_node, SgrafSpec::SAF, WholeNode::kPublished);
SIGHTLINE_SGRAF_BENCHMARKS(saf_emde, SgrafSpec::SAF, WholeNode::kEmde);
SIGHTLINE_SGRAF_BENCHMARKS(saf_without, SgrafSpec::SAF, WholeNode::kNone);
SIGHTLINE_SGRAF_BENCHMARKS(sgr_node, SgrafSpec::SGR, WholeNode::kPublished);
SIGHTLINE_SGRAF_BENCHMARKS(sgr_emde, SgrafSpec::SGR, WholeNode::kEmde);
SIGHTLINE_SGRAF_BENCHMARKS(sgr_without, SgrafSpec::SGR, WholeNode::kNone);
#undef SIGHTLINE_SGRAF_BENCHMARKS

}  // namespace
}  // namespace sightline
