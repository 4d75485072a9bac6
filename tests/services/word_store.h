// Shards on disk whose items are words (tests/support/fake_model.h), and what servers
// make of them.
#ifndef SIGHTLINE_TESTS_SERVICES_WORD_STORE_H_
#define SIGHTLINE_TESTS_SERVICES_WORD_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "common/api/generation.h"
#include "common/base/compute_pool.h"
#include "common/bundle/generation.h"
#include "common/bundle/rerankers.h"
#include "services/index_search/search_engine.h"
#include "services/reranker/rerank_engine.h"
#include "tests/support/fake_model.h"

namespace sightline {

struct WordItem {
  std::string item_id;
  std::string words;  // what it shows or says; the caption too
};

// "<index>/000" and so on, each of other words.
std::vector<WordItem> MakeWordItems(const std::string& index, int count);

// An index as its files have it.
struct WordIndex {
  std::string directory;  // of the generation
  bundle::v1::GenerationManifest manifest;
  bool captions = false;
  std::vector<WordItem> items;

  GenerationRef ref() const {
    return {manifest.index(), manifest.generation(), manifest.embedding().space()};
  }
  // Of one shard, in row order.
  std::vector<WordItem> ItemsOf(int shard) const;
};

// Writes the shards of a generation below `store`, and leaves its manifest to the caller.
// The model is its default reranker; `more_rerankers` read the same features.
// Throws, which fails the test, on any error.
WordIndex WriteWordIndex(const std::string& store, const std::string& index, bool captions,
                         int shards, std::vector<WordItem> items,
                         const FakeServingModelOptions& model = {},
                         const std::string& generation = "g1",
                         const std::vector<NamedReranker>& more_rerankers = {});

// Reads the files.  `pool` must outlive what comes back.  `models` are the rerankers that the
// manifest names.
std::shared_ptr<const SearchGeneration> OpenForSearch(const WordIndex& index, ComputePool* pool,
                                                      const std::vector<int>& shards);
std::shared_ptr<const RerankGeneration> OpenForRerank(
    const WordIndex& index, std::vector<std::shared_ptr<const Model>> models,
    const std::vector<int>& shards);
// All shards of it.
std::vector<int> AllShards(const WordIndex& index);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_WORD_STORE_H_
