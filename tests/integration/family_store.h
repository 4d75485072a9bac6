// A store as somebody makes it who has checkpoints and region features: each checkpoint
// converted, the corpus encoded by corpus_encoder, both indexes published.  And the same items
// encoded and scored here, by the models alone.
#ifndef SIGHTLINE_TESTS_INTEGRATION_FAMILY_STORE_H_
#define SIGHTLINE_TESTS_INTEGRATION_FAMILY_STORE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/dtype.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/rerankers.h"
#include "services/corpus_encoder/encode_summary.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/region_items.h"
#include "tests/support/tiny_store.h"

namespace sightline {

// Writes the checkpoint of the golden folder `name` as `save` does (to place->options.checkpoint)
// and converts it with place->options into `store`; returns the bundle's id.  The vocabulary
// knows all of RegionItemWord.
using SaveCheckpoint = std::function<void(MutableCheckpoint* checkpoint, Workplace* place)>;
std::string ConvertFamily(const std::string& store, const std::string& name,
                          const SaveCheckpoint& save);

// A checkpoint whose matrix `name` is `rows` x `columns` random numbers instead.
void Randomize(const std::string& name, int64_t rows, int64_t columns,
               MutableCheckpoint* checkpoint);

struct FamilyCorpus {
  std::string kind;  // of corpus_encoder
  std::string root;
  std::string captions;  // npz
  std::vector<RegionItem> items;
};

struct FamilyModels {
  std::string encoder;                   // id
  std::vector<NamedReranker> rerankers;  // the default first; none: the encoder, if it can
  Dtype feature_dtype = kDefaultFeatureDtype;
};

// Runs corpus_encoder, on one thread, for two shards; `deterministic`: one item a forward pass.
absl::StatusOr<EncodeSummary> EncodeFamilyCorpus(const std::string& store,
                                                 const FamilyModels& models,
                                                 const FamilyCorpus& corpus, bool deterministic);

// The items as the encoder and a reranker make them, one at a time; of each reranker by its
// name, or of "" without any.  `path` is `store`.
std::map<std::string, TinyStore> ComputeFamily(const std::string& store, const FamilyModels& models,
                                               const std::vector<RegionItem>& items);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_FAMILY_STORE_H_
