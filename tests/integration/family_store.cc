#include "tests/integration/family_store.h"

#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/models/inputs/stored_features.h"
#include "loadtest/fleet/server_yaml.h"
#include "services/corpus_encoder/corpus_encoder.h"
#include "services/corpus_encoder/corpus_encoder_config.h"
#include "tests/support/sentencepiece_model.h"

namespace sightline {
namespace {

template <typename T>
T Value(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(value.status().ToString());
  return *std::move(value);
}

// Tokens in the golden folder's word table.
int WordCount(const std::string& golden) {
  if (golden == "m3p") return 90;
  if (golden == "uniter_small") return 120;
  return absl::StartsWith(golden, "sa") || absl::StartsWith(golden, "sg") ? 60 : 150;
}

// Like VocabularyFor, with pieces that begin words.
std::string SentencePieces(int count) {
  std::vector<std::string> pieces;
  for (int i = 5; i < count; ++i) pieces.push_back(absl::StrCat("\xe2\x96\x81word", i));
  return SentencePieceModelBytes(pieces);
}

std::shared_ptr<const Model> Load(const std::string& store, const std::string& id) {
  const ModelBundle bundle = Value(OpenModelBundle(ModelDirectory(store, id), /*verify=*/true));
  ModelOptions options;
  options.deterministic = true;
  return Value(LoadModel(bundle, options));
}

TinyItem Compute(const RegionItem& item, const Model& encoder, const Model* reranker,
                 Dtype feature_dtype) {
  const CallContext call = CallContext::Unbounded();
  TinyItem computed;
  computed.image_id = item.id;
  computed.caption_id = absl::StrCat(item.id, "#en-1");
  computed.caption = item.caption;
  computed.image_embedding = Value(encoder.image_encoder()->Encode({item.image}, call));
  const Tokens tokens = Value(encoder.Tokenize(item.caption));
  computed.caption_embedding = Value(encoder.text_encoder()->Encode({tokens}, call));
  if (reranker == nullptr) return computed;
  const CrossEncoder& cross_encoder = *reranker->cross_encoder();
  computed.image_features =
      Value(StoredAs(feature_dtype, Value(cross_encoder.PrepareImages({item.image}, call))[0]));
  computed.caption_features = Value(TextFeatures(*reranker, item.caption));
  return computed;
}

}  // namespace

std::string ConvertFamily(const std::string& store, const std::string& name,
                          const SaveCheckpoint& save) {
  Workplace place(name, WordCount(name));
  if (name == "m3p") {
    REQUIRE(WriteFileAtomically(place.options.vocabulary, SentencePieces(WordCount(name))).ok());
  }
  MutableCheckpoint checkpoint(name);
  save(&checkpoint, &place);
  return Value(WriteConversion(store, place.MustConvert(), {})).id;
}

void Randomize(const std::string& name, int64_t rows, int64_t columns,
               MutableCheckpoint* checkpoint) {
  REQUIRE(checkpoint->tensors.count(name) == 1);
  std::mt19937 random(23);
  std::string bytes;
  for (int64_t i = 0; i < rows * columns; ++i) {
    bytes += pickle::Bytes((static_cast<float>(random() % 2001) - 1000) / 4000);
  }
  checkpoint->AddBytes(name, {rows, columns}, std::move(bytes));
}

absl::StatusOr<EncodeSummary> EncodeFamilyCorpus(const std::string& store,
                                                 const FamilyModels& models,
                                                 const FamilyCorpus& corpus, bool deterministic) {
  std::string yaml = absl::StrCat(
      "store: ", QuotedYaml(store), "\nmodel: '", models.encoder,
      "'\nfeature_dtype: ", DtypeName(models.feature_dtype),
      "\nshards: 2\ncompute: {threads: 1, deterministic: ", deterministic ? "true" : "false",
      "}\ncorpora:\n  - kind: ", corpus.kind, "\n    root: ", QuotedYaml(corpus.root), "\n");
  if (!corpus.captions.empty()) {
    absl::StrAppend(&yaml, "    captions: ", QuotedYaml(corpus.captions), "\n");
  }
  if (!models.rerankers.empty()) absl::StrAppend(&yaml, "rerankers:\n");
  for (const NamedReranker& reranker : models.rerankers) {
    absl::StrAppend(&yaml, "  - '", reranker.name, "=", reranker.model, "'\n");
  }
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Parse(yaml, "job.yaml"));
  ASSIGN_OR_RETURN(const CorpusEncoderConfig config, ReadCorpusEncoderConfig(&file));
  // Regions need no decoder.
  return RunCorpusEncoder(config, /*starter=*/nullptr, /*terminal=*/false,
                          CallContext::Unbounded());
}

std::map<std::string, TinyStore> ComputeFamily(const std::string& store, const FamilyModels& models,
                                               const std::vector<RegionItem>& items) {
  const std::shared_ptr<const Model> encoder = Load(store, models.encoder);
  std::map<std::string, std::shared_ptr<const Model>> rerankers;
  for (const NamedReranker& reranker : models.rerankers) {
    rerankers[reranker.name] = Load(store, reranker.model);
  }
  if (rerankers.empty() && encoder->cross_encoder() != nullptr) {
    rerankers[kDefaultReranker] = encoder;
  }
  if (rerankers.empty()) rerankers[""] = nullptr;
  std::map<std::string, TinyStore> computed;
  for (const auto& [name, reranker] : rerankers) {
    TinyStore& own = computed[name];
    own.path = store;
    own.model = reranker;
    for (const RegionItem& item : items) {
      own.items.push_back(Compute(item, *encoder, reranker.get(), models.feature_dtype));
    }
  }
  return computed;
}

}  // namespace sightline
