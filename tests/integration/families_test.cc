// Every family end to end: a checkpoint under its own names is converted, a corpus of regions
// encoded, both indexes served, and the fleet's rankings are those of a direct computation.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/models/ensemble/make_ensemble.h"
#include "tests/common/models/torchscript/tiny_scripts.h"
#include "tests/integration/family_store.h"
#include "tests/integration/fleet.h"
#include "tests/integration/referee.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 30;
constexpr absl::Duration kPatience = absl::Seconds(30);
// Items that are asked for; words, regions and what is stored of them.
constexpr int kAsked[] = {0, 7, 22};

struct Scored {
  std::string item_id;
  double score = 0;
  float rerank_score = 0;
};

// How a search is asked: what for, by whom ordered.
struct Question {
  bool images = true;    // among images, by a text; else among captions, by an image
  std::string reranker;  // "": none, by the embeddings alone
  Combination combination;
  bool exact = false;  // whether the reranker's scores have to be equal to the last bit
  double step = 0;     // of the grid that scores are told on, which rounding may go over
};

double Normalised(double x, double least, double most) {
  return most > least ? (x - least) / (most - least) : 0;
}

// norm_add_lambda, as its definition says.
std::vector<Scored> NormAdded(const std::vector<RefereeHit>& hits, double lambda) {
  const auto [least_e, most_e] =
      std::minmax_element(hits.begin(), hits.end(), [](const RefereeHit& a, const RefereeHit& b) {
        return a.retrieval_score < b.retrieval_score;
      });
  const auto [least_c, most_c] = std::minmax_element(
      hits.begin(), hits.end(),
      [](const RefereeHit& a, const RefereeHit& b) { return a.rerank_score < b.rerank_score; });
  std::vector<Scored> scored;
  for (const RefereeHit& hit : hits) {
    const double e =
        Normalised(hit.retrieval_score, least_e->retrieval_score, most_e->retrieval_score);
    const double c = Normalised(hit.rerank_score, least_c->rerank_score, most_c->rerank_score);
    scored.push_back({hit.item_id, lambda * e + (1 - lambda) * c, hit.rerank_score});
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  return scored;
}

// All items, best first, by the models alone.
std::vector<Scored> Compute(const TinyStore& computed, const TinyItem& query,
                            const Question& question) {
  const bool reranked = !question.reranker.empty();
  RefereeQuery asked;
  asked.embedding = question.images ? query.caption_embedding : query.image_embedding;
  if (reranked && question.images) asked.text = &query.caption_features;
  if (reranked && !question.images) asked.image = &query.image_features;
  const auto hits = RefereeSearch(computed, question.images, asked, reranked ? kItems : 0);
  if (question.combination.kind == CombinationKind::kNormAddLambda) {
    return NormAdded(hits, question.combination.lambda);
  }
  std::vector<Scored> scored;
  for (const RefereeHit& hit : hits) {
    scored.push_back(
        {hit.item_id, reranked ? hit.block_score : hit.retrieval_score, hit.rerank_score});
  }
  return scored;
}

bool Close(double a, double b, double step) {
  return std::abs(a - b) <= step + 1e-5 * std::max(1.0, std::abs(b));
}

// Equal rankings, ties aside: each item has its score, and each rank has its score.
void RequireSame(const SearchResult& result, const Question& question,
                 const std::vector<Scored>& expected) {
  REQUIRE(result.hits.size() == expected.size());
  // A model that gave everything one score would pass otherwise.
  REQUIRE(expected.front().score - expected.back().score > 1e-3);
  std::map<std::string, Scored> by_id;
  for (const Scored& scored : expected) by_id[scored.item_id] = scored;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Hit& hit = result.hits[i];
    INFO("rank " << i << ": " << hit.item_id << " " << hit.score << ", expected "
                 << expected[i].item_id << " " << expected[i].score);
    REQUIRE(by_id.count(hit.item_id) == 1);
    const Scored& own = by_id[hit.item_id];
    REQUIRE(Close(hit.score, own.score, question.step));
    REQUIRE(Close(own.score, expected[i].score, question.step));
    REQUIRE(hit.rerank_score.has_value() == !question.reranker.empty());
    if (question.exact && hit.rerank_score.has_value()) {
      REQUIRE(*hit.rerank_score == own.rerank_score);
    }
  }
}

void RequireAnswer(Fleet& fleet, const Query& query, const Question& question,
                   const std::vector<Scored>& expected) {
  SearchRequest request;
  request.index = question.images ? kTinyImages : kTinyCaptions;
  request.query = query;
  request.top_k = kItems;
  request.depth = question.reranker.empty() ? 0 : kItems;
  request.reranker = question.reranker;
  if (question.combination.kind != CombinationKind::kReplace) {
    request.combination = question.combination;
  }
  const auto result = fleet.Search(request, kPatience);
  INFO("in " << request.index << " by '" << question.reranker << "': " << result.status());
  REQUIRE(result.ok());
  REQUIRE(result->degraded.empty());
  REQUIRE(result->achieved_depth == request.depth);
  RequireSame(*result, question, expected);
}

void RequireAnswers(Fleet& fleet, const TinyStore& computed, const std::vector<RegionItem>& items,
                    const std::string& reranker, bool exact) {
  for (const int i : kAsked) {
    INFO("item " << i);
    const TinyItem& own = computed.item(items[i].id);
    Question question{/*images=*/true, reranker, {}, exact};
    if (!reranker.empty() && !exact) {
      question.step = GridOf(question.combination, computed.model->cross_encoder()->score_kind());
    }
    const std::vector<Scored> images = Compute(computed, own, question);
    RequireAnswer(fleet, TextQuery{own.caption}, question, images);
    RequireAnswer(fleet, ItemQuery{kTinyCaptions, own.caption_id}, question, images);
    question.images = false;
    const std::vector<Scored> captions = Compute(computed, own, question);
    RequireAnswer(fleet, RegionsQuery{items[i].image}, question, captions);
    RequireAnswer(fleet, ItemQuery{kTinyImages, own.image_id}, question, captions);
    // Normalising takes the last bits for more than they are.
    if (reranker.empty() || !exact) continue;
    question.combination = {CombinationKind::kNormAddLambda, 0.3f};
    RequireAnswer(fleet, RegionsQuery{items[i].image}, question, Compute(computed, own, question));
  }
}

// Encodes, serves, asks: first one item or pair a forward pass, which is what the direct
// computation does, then in batches.
void RequireParity(const std::string& store, const FamilyModels& models,
                   const FamilyCorpus& corpus) {
  const std::map<std::string, TinyStore> computed = ComputeFamily(store, models, corpus.items);
  for (const bool deterministic : {true, false}) {
    INFO("deterministic: " << deterministic);
    const auto summary = EncodeFamilyCorpus(store, models, corpus, deterministic);
    INFO(summary.status());
    REQUIRE(summary.ok());
    REQUIRE(summary->encoded_image_count == kItems);
    REQUIRE(summary->image_count == kItems);
    REQUIRE(summary->caption_count == kItems);
    REQUIRE(summary->published);
    FleetOptions options;
    options.deterministic = deterministic;
    Fleet fleet(computed.begin()->second, TestLaunch(), options);
    RequireAnswers(fleet, computed.begin()->second, corpus.items, "", deterministic);
    for (const auto& [reranker, own] : computed) {
      if (!reranker.empty()) RequireAnswers(fleet, own, corpus.items, reranker, deterministic);
    }
  }
}

void SaveFlat(MutableCheckpoint* checkpoint, Workplace* place) {
  place->options.checkpoint = place->dir.File("model.safetensors");
  checkpoint->SaveSafetensors(place->options.checkpoint);
}

// As pre-trained: everything behind another `bert.`, with heads.
void SavePretrainedLightningDot(MutableCheckpoint* checkpoint, Workplace* place) {
  checkpoint->Rename([](const std::string& name) { return "bert." + name; });
  checkpoint->Add("cls.predictions.bias", {150});
  checkpoint->SavePickle(place->options.checkpoint);
}

// As in LightningDOT's copy: `bert.`, gamma and beta.
void SaveOldUniter(MutableCheckpoint* checkpoint, Workplace* place) {
  checkpoint->Rename([](const std::string& name) {
    return absl::StrReplaceAll(name, {{"uniter.", "bert."},
                                      {"LayerNorm.weight", "LayerNorm.gamma"},
                                      {"LayerNorm.bias", "LayerNorm.beta"}});
  });
  checkpoint->SavePickle(place->options.checkpoint);
}

// MMT-Retrieval's folder.
void SaveMmtOscar(MutableCheckpoint* checkpoint, Workplace* place) {
  MutableCheckpoint head("oscar");
  head.Erase("bert.");
  checkpoint->Erase("classifier.");
  checkpoint->Rename([](const std::string& name) { return name.substr(5); });
  REQUIRE(MakeDirectories(place->dir.File("mmt/0_OSCAR")).ok());
  REQUIRE(MakeDirectories(place->dir.File("mmt/1_ClassificationHead")).ok());
  checkpoint->SavePickle(place->dir.File("mmt/0_OSCAR/pytorch_model.bin"));
  head.SavePickle(place->dir.File("mmt/1_ClassificationHead/class_head.pt"));
  place->options.checkpoint = place->dir.File("mmt");
  place->options.head_count = 4;
}

void SaveM3p(MutableCheckpoint* checkpoint, Workplace* place) {
  checkpoint->Rename([](const std::string& name) { return "module." + name; });
  TorchFileBuilder file;
  const std::string root = pickle::Dict({{"model", pickle::Dict(checkpoint->Items(&file))}});
  REQUIRE(WriteFileAtomically(place->options.checkpoint, file.Build(root)).ok());
}

// The list of three dicts; for regions of 70 numbers.
void SaveSgraf(MutableCheckpoint* checkpoint, Workplace* place) {
  Randomize("img_enc.fc.weight", 32, 70, checkpoint);
  TorchFileBuilder file;
  std::vector<std::string> parts;
  for (const char* prefix : {"img_enc.", "txt_enc.", "sim_enc."}) {
    parts.push_back(pickle::OrderedDict(checkpoint->Items(&file, prefix)));
  }
  const std::string root = pickle::Dict({{"epoch", pickle::Int(1)},
                                         {"model", pickle::List(parts)},
                                         {"opt", pickle::Namespace({{"k", "N"}})}});
  REQUIRE(WriteFileAtomically(place->options.checkpoint, file.Build(root)).ok());
}

RegionItemsOptions ItemsOf(int feature_size, int min_regions, int max_regions) {
  RegionItemsOptions options;
  options.count = kItems;
  options.feature_size = feature_size;
  options.min_regions = min_regions;
  options.max_regions = max_regions;
  return options;
}

FamilyCorpus RegionFileOf(const TempDir& directory, const RegionItemsOptions& options) {
  FamilyCorpus corpus{"regions", directory.File("corpus.regions"), "", MakeRegionItems(options)};
  WriteItemsAsRegionFile(corpus.items, corpus.root);
  return corpus;
}

// Of SGRAF: 36 regions, features alone, which are as wide as OSCAR's with their boxes.
FamilyCorpus PrecompOf(const TempDir& directory, int feature_size) {
  RegionItemsOptions options = ItemsOf(feature_size, 36, 36);
  options.details = false;
  options.id_prefix = "test/";
  FamilyCorpus corpus{"precomp", directory.File("precomp"), "", MakeRegionItems(options)};
  WriteItemsAsPrecomp(corpus.items, corpus.root);
  return corpus;
}

}  // namespace

TEST_CASE("LightningDOT finds and UNITER reranks") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const FamilyModels models{
      ConvertFamily(store, "lightningdot", SavePretrainedLightningDot),
      {{kDefaultReranker, ConvertFamily(store, "uniter_small", SaveOldUniter)}}};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(64, 9, 20)));
}

TEST_CASE("LightningDOT and UNITER read UNITER's archives") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const FamilyModels models{ConvertFamily(store, "lightningdot", SaveFlat),
                            {{kDefaultReranker, ConvertFamily(store, "uniter_small", SaveFlat)}}};
  FamilyCorpus corpus{"npz", directory.File("npz"), "", MakeRegionItems(ItemsOf(64, 9, 20))};
  corpus.captions = WriteItemsAsNpz(corpus.items, corpus.root);
  RequireParity(store, models, corpus);
}

TEST_CASE("LightningDOT with scene text finds, UNITER and OSCAR with tags rerank") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const auto with_scene_text = [](MutableCheckpoint* checkpoint, Workplace* place) {
    place->options.scene_text = true;
    SaveFlat(checkpoint, place);
  };
  const FamilyModels models{ConvertFamily(store, "lightningdot_scene_text", with_scene_text),
                            {{kDefaultReranker, ConvertFamily(store, "uniter_small", SaveFlat)},
                             {"oscar", ConvertFamily(store, "oscar", SaveFlat)}}};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(64, 1, 14)));
}

TEST_CASE("MMT-Retrieval's OSCAR finds and reranks, one of VinVL's kind reranks too") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const std::string joint = ConvertFamily(store, "oscar", SaveMmtOscar);
  const FamilyModels models{
      joint, {{kDefaultReranker, joint}, {"vinvl", ConvertFamily(store, "oscar_ln", SaveFlat)}}};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(64, 1, 14)));
}

// Uploads are rounded by query_encoder, what is stored by corpus_encoder, and the referee does
// both.
TEST_CASE("rows kept in eight bits are the same live and stored, to the bit") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const std::string joint = ConvertFamily(store, "oscar", SaveMmtOscar);
  const FamilyModels models{
      joint,
      {{kDefaultReranker, joint}, {"uniter", ConvertFamily(store, "uniter_small", SaveFlat)}},
      Dtype::kInt8};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(64, 1, 14)));
}

TEST_CASE("the members of an ensemble find their rows in eight bits, each its own") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const auto encoder = [](MutableCheckpoint* checkpoint, Workplace* place) {
    place->options.use = "bi-encoder";
    SaveFlat(checkpoint, place);
  };
  const std::vector<std::string> both = {ConvertFamily(store, "saf", SaveSgraf),
                                         ConvertFamily(store, "sgr_temde", SaveSgraf)};
  const auto ensemble = MakeEnsemble(store, both, store, "SAF and SGR");
  INFO(ensemble.status());
  REQUIRE(ensemble.ok());
  RequireParity(
      store,
      {ConvertFamily(store, "oscar", encoder), {{kDefaultReranker, ensemble->id}}, Dtype::kInt8},
      PrecompOf(directory, 70));
}

TEST_CASE("VLDeformer finds") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const FamilyModels models{ConvertFamily(store, "vldeformer", SaveFlat), {}};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(64, 1, 14)));
}

TEST_CASE("M3P finds and reranks") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const FamilyModels models{ConvertFamily(store, "m3p", SaveM3p), {}};
  RequireParity(store, models, RegionFileOf(directory, ItemsOf(2048, 1, 6)));
}

TEST_CASE("SGRAF, with T-EMDE too, and an ensemble rerank what OSCAR finds") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const auto encoder = [](MutableCheckpoint* checkpoint, Workplace* place) {
    place->options.use = "bi-encoder";
    SaveFlat(checkpoint, place);
  };
  FamilyModels models{ConvertFamily(store, "oscar", encoder), {}};
  std::vector<std::string> both;
  for (const std::string name : {"saf", "sgr", "saf_temde", "sgr_temde"}) {
    models.rerankers.push_back({name, ConvertFamily(store, name, SaveSgraf)});
    if (both.size() < 2) both.push_back(models.rerankers.back().model);
  }
  const auto ensemble = MakeEnsemble(store, both, store, "SAF and SGR");
  INFO(ensemble.status());
  REQUIRE(ensemble.ok());
  models.rerankers.push_back({"sgraf", ensemble->id});
  RequireParity(store, models, PrecompOf(directory, 70));
}

TEST_CASE("scripted modules find and rerank") {
  const TempDir directory;
  const std::string store = directory.File("store");
  TinyScripts scripts;
  scripts.manifest.mutable_tokenizer()->set_max_token_count(60);
  const auto bundle = scripts.Bundle(store);
  INFO(bundle.status());
  REQUIRE(bundle.ok());
  RequireParity(store, {bundle->id, {}}, RegionFileOf(directory, ItemsOf(10, 1, 9)));
}

TEST_CASE("a corpus that a model cannot read is refused at the start") {
  const TempDir directory;
  const std::string store = directory.File("store");
  const std::string lightningdot = ConvertFamily(store, "lightningdot", SaveFlat);
  const std::string uniter = ConvertFamily(store, "uniter_small", SaveFlat);
  const std::string oscar =
      ConvertFamily(store, "oscar", [](MutableCheckpoint* checkpoint, Workplace* place) {
        place->options.use = "joint";
        SaveFlat(checkpoint, place);
      });
  const std::string saf = ConvertFamily(store, "saf", SaveSgraf);
  const auto refusal = [&](const FamilyModels& models, const FamilyCorpus& corpus) {
    const absl::Status status =
        EncodeFamilyCorpus(store, models, corpus, /*deterministic=*/false).status();
    INFO(status);
    REQUIRE(absl::IsFailedPrecondition(status));
    return std::string(status.message());
  };
  const FamilyCorpus wide = PrecompOf(directory, 70);
  REQUIRE_THAT(refusal({lightningdot, {}}, wide),
               Catch::Contains("features of 70 numbers") && Catch::Contains("reads those of 64"));
  REQUIRE_THAT(refusal({oscar, {{kDefaultReranker, uniter}}}, wide),
               Catch::Contains(uniter) && Catch::Contains("reads those of 64"));
  const FamilyCorpus without_boxes = PrecompOf(directory, 64);
  for (const std::string& model : {lightningdot, oscar}) {
    REQUIRE_THAT(refusal({model, {}}, without_boxes),
                 Catch::Contains(model) && Catch::Contains("without boxes") &&
                     Catch::Contains("none of 8 items that were tried of 30"));
  }
  const FamilyCorpus few = RegionFileOf(directory, ItemsOf(70, 12, 20));
  REQUIRE_THAT(refusal({oscar, {{kDefaultReranker, saf}}}, few),
               Catch::Contains(saf) && Catch::Contains("the model reads exactly 36"));
}

}  // namespace sightline
