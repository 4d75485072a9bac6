#include "services/sightlinectl/stored_probes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/feature_file.h"
#include "common/bundle/feature_reader.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_probes.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;
using bundle::v1::ModelProbes;
using bundle::v1::ProbeItem;
using bundle::v1::ShardManifest;

// The items of a generation, numbered shard by shard.  Ids are in memory, all else is read from the
// files and compared.  For one thread.
class StoredItems {
 public:
  static absl::StatusOr<StoredItems> Open(const std::string& store,
                                          const GenerationManifest& manifest) {
    StoredItems items;
    const std::string directory =
        GenerationDirectory(store, manifest.index(), manifest.generation());
    for (const ShardManifest& described : manifest.shards()) {
      const std::string vectors = JoinPath(directory, described.vectors().path());
      const int dimension = manifest.embedding().dimension();
      Shard shard;
      ASSIGN_OR_RETURN(shard.ids, ShardVectors::Open(vectors, described, dimension));
      ASSIGN_OR_RETURN(shard.vectors, VectorsFile::Open(vectors, described, dimension));
      if (described.has_features()) {
        ASSIGN_OR_RETURN(
            shard.features,
            FeatureFile::Open(JoinPath(directory, described.features().path()), described));
      }
      items.shards_.push_back(std::move(shard));
    }
    return items;
  }

  int64_t size() const {
    int64_t size = 0;
    for (const Shard& shard : shards_) size += shard.ids->size();
    return size;
  }

  absl::optional<int64_t> Find(absl::string_view id) const {
    int64_t first = 0;
    const int holder = ShardOf(id, static_cast<int>(shards_.size()));
    for (int s = 0; s < holder; ++s) first += shards_[s].ids->size();
    const int64_t row = shards_[holder].ids->Find(id);
    if (row < 0) return absl::nullopt;
    return first + row;
  }

  std::string Id(int64_t item) const {
    const Place place = PlaceOf(item);
    return std::string(place.shard->ids->item_id(place.row));
  }

  absl::StatusOr<std::string> Caption(int64_t item) const {
    const Place place = PlaceOf(item);
    ASSIGN_OR_RETURN(ItemRecord record, place.shard->ids->Record(place.row));
    return std::move(record.caption);
  }

  absl::Status ReadEmbedding(int64_t item, ProbeItem* out) const {
    const Place place = PlaceOf(item);
    std::vector<float> embedding(place.shard->vectors->dimension());
    RETURN_IF_ERROR(
        VectorsReader(*place.shard->vectors).Embedding(place.row, absl::MakeSpan(embedding)));
    out->mutable_embedding()->Add(embedding.begin(), embedding.end());
    return absl::OkStatus();
  }

  // Of a model that the generation reranks with.
  absl::Status ReadFeatures(int64_t item, const std::string& model, ProbeItem* out) const {
    const Place place = PlaceOf(item);
    ASSIGN_OR_RETURN(const ItemFeatures features,
                     FeatureReader(*place.shard->features).Get(model, place.row));
    SetFeatures(features, out);
    return absl::OkStatus();
  }

 private:
  struct Shard {
    std::unique_ptr<ShardVectors> ids;
    std::unique_ptr<VectorsFile> vectors;
    std::unique_ptr<FeatureFile> features;  // null if the generation has none
  };
  struct Place {
    const Shard* shard;
    int64_t row;
  };

  Place PlaceOf(int64_t item) const {
    size_t s = 0;
    while (item >= shards_[s].ids->size()) item -= shards_[s++].ids->size();
    return {&shards_[s], item};
  }

  std::vector<Shard> shards_;
};

// A text and the items that it means, by their numbers.
struct LabelledText {
  std::string text;
  std::vector<int64_t> items;
};

// Number `k` of `count`, spread evenly over `size` >= count.
int64_t Spread(int64_t k, int64_t count, int64_t size) {
  return k * size / count;
}

std::vector<LabelledText> TextsOfQuestions(const std::vector<Question>& questions,
                                           const StoredItems& items, int most) {
  std::vector<LabelledText> all;
  for (const Question& question : questions) {
    LabelledText text{question.query, {}};
    for (const std::string& id : question.expected) {
      if (const auto item = items.Find(id); item.has_value()) text.items.push_back(*item);
    }
    if (!text.items.empty()) all.push_back(std::move(text));
  }
  const auto size = static_cast<int64_t>(all.size());
  const int64_t count = std::min<int64_t>(most, size);
  std::vector<LabelledText> texts;
  for (int64_t k = 0; k < count; ++k) texts.push_back(all[Spread(k, count, size)]);
  return texts;
}

// Of each of `most` stretches of the items the first one that has a caption.  Captions that are
// alike are one text.
absl::StatusOr<std::vector<LabelledText>> TextsOfCaptions(const StoredItems& items, int most) {
  std::vector<LabelledText> texts;
  std::map<std::string, size_t> seen;
  const int64_t size = items.size();
  const int64_t count = std::min<int64_t>(most, size);
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t item = Spread(k, count, size); item < Spread(k + 1, count, size); ++item) {
      ASSIGN_OR_RETURN(std::string caption, items.Caption(item));
      if (caption.empty() || caption.size() > kMostProbeTextBytes) continue;
      const auto [entry, is_new] = seen.emplace(caption, texts.size());
      if (is_new) texts.push_back({std::move(caption), {}});
      texts[entry->second].items.push_back(item);
      break;
    }
  }
  return texts;
}

// Those of `chosen` that have a text's very words are meant by it as well.
absl::Status LabelAlike(const StoredItems& items, const std::vector<int64_t>& chosen,
                        std::vector<LabelledText>* texts) {
  for (const int64_t item : chosen) {
    ASSIGN_OR_RETURN(const std::string caption, items.Caption(item));
    for (LabelledText& text : *texts) {
      if (text.text == caption) text.items.push_back(item);
    }
  }
  return absl::OkStatus();
}

// Adds items to `chosen` until there are `count`, spread over all that there are.
void FillUp(int64_t count, int64_t size, std::set<int64_t>* chosen) {
  const int64_t missing = count - static_cast<int64_t>(chosen->size());
  for (int64_t k = 0; k < missing; ++k) {
    int64_t item = Spread(k, missing, size);
    while (!chosen->insert(item).second) item = (item + 1) % size;
  }
}

// What texts mean first, the first of each before the second of any.
std::set<int64_t> ChooseItems(const std::vector<LabelledText>& texts, int64_t count, int64_t size) {
  std::set<int64_t> chosen;
  size_t most = 0;
  for (const LabelledText& text : texts) most = std::max(most, text.items.size());
  for (size_t rank = 0; rank < most; ++rank) {
    for (const LabelledText& text : texts) {
      if (static_cast<int64_t>(chosen.size()) == count) return chosen;
      if (rank < text.items.size()) chosen.insert(text.items[rank]);
    }
  }
  FillUp(count, size, &chosen);
  return chosen;
}

absl::Status CheckEncodedWith(const GenerationManifest& manifest, const ModelBundle& model) {
  const std::string name = absl::StrCat(manifest.index(), "/", manifest.generation());
  if (manifest.item_kind() != bundle::v1::IMAGE) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " holds captions; name an index of pictures"));
  }
  const std::string remedy = "; encode an index with this model, publish it, and name that";
  if (model.manifest.has_embedding() &&
      manifest.embedding().space() != model.manifest.embedding().space()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " has embeddings of another space than model ", model.id, " gives", remedy));
  }
  const std::vector<NamedReranker> rerankers = RerankersOf(manifest);
  const bool reranks =
      std::any_of(rerankers.begin(), rerankers.end(),
                  [&](const NamedReranker& reranker) { return reranker.model == model.id; });
  if (model.manifest.has_cross_encoder() && !reranks) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " has no item features of model ", model.id, remedy));
  }
  return absl::OkStatus();
}

absl::Status CheckEnough(const std::vector<LabelledText>& texts, int64_t item_count,
                         bool with_questions) {
  if (item_count < kLeastProbeItems) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the index holds ", item_count, " items; probes need at least ", kLeastProbeItems));
  }
  if (static_cast<int>(texts.size()) >= kLeastProbeTexts) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      with_questions ? "of the questions, those that expect items of the index are "
                     : "of the items, those with captions that differ are ",
      texts.size(), "; probes need at least ", kLeastProbeTexts,
      with_questions ? " texts; are they of this index?" : " texts; give --questions FILE"));
}

// Reads the items, in the order of their ids.
absl::Status AddItems(const StoredItems& items, const std::vector<int64_t>& chosen,
                      const ModelBundle& model, ModelProbes* probes) {
  for (const int64_t item : chosen) {
    ProbeItem* out = probes->add_items();
    if (model.manifest.has_embedding()) RETURN_IF_ERROR(items.ReadEmbedding(item, out));
    if (model.manifest.has_cross_encoder()) {
      RETURN_IF_ERROR(items.ReadFeatures(item, model.id, out));
    }
  }
  return absl::OkStatus();
}

// A text whose items all found no place means none that is known.
void AddTexts(const std::vector<LabelledText>& texts, const std::vector<int64_t>& chosen,
              ModelProbes* probes) {
  for (const LabelledText& text : texts) {
    bundle::v1::ProbeText* out = probes->add_texts();
    out->set_text(text.text);
    for (size_t place = 0; place < chosen.size(); ++place) {
      if (std::count(text.items.begin(), text.items.end(), chosen[place]) > 0) {
        out->add_relevant_items(static_cast<int>(place));
      }
    }
  }
}

}  // namespace

absl::StatusOr<ModelProbes> GatherProbes(const std::string& store, const std::string& index,
                                         const ModelBundle& model, const ProbeChoice& choice) {
  ASSIGN_OR_RETURN(const DesiredGeneration desired, ReadDesiredGeneration(store, index));
  RETURN_IF_ERROR(CheckEncodedWith(desired.manifest, model));
  ASSIGN_OR_RETURN(const StoredItems items, StoredItems::Open(store, desired.manifest));
  const bool with_questions = !choice.questions.empty();
  std::vector<LabelledText> texts = TextsOfQuestions(choice.questions, items, choice.text_count);
  if (!with_questions) {
    ASSIGN_OR_RETURN(texts, TextsOfCaptions(items, choice.text_count));
  }
  RETURN_IF_ERROR(CheckEnough(texts, items.size(), with_questions));

  const std::set<int64_t> numbers =
      ChooseItems(texts, std::min<int64_t>(choice.item_count, items.size()), items.size());
  std::vector<int64_t> chosen(numbers.begin(), numbers.end());
  std::sort(chosen.begin(), chosen.end(),
            [&](int64_t a, int64_t b) { return items.Id(a) < items.Id(b); });
  if (!with_questions) RETURN_IF_ERROR(LabelAlike(items, chosen, &texts));
  ModelProbes probes;
  probes.set_format_version(1);
  RETURN_IF_ERROR(AddItems(items, chosen, model, &probes));
  AddTexts(texts, chosen, &probes);
  RETURN_IF_ERROR(CheckProbes(probes));
  return probes;
}

}  // namespace sightline
