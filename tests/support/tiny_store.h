// A small store to serve in tests: a tiny random joint model, pictures made of gradients,
// English captions, two indexes of two shards each.  Everything is real but the training.
#ifndef SIGHTLINE_TESTS_SUPPORT_TINY_STORE_H_
#define SIGHTLINE_TESTS_SUPPORT_TINY_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/models/model.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct TinyItem {
  std::string image_id;    // "pictures/007"
  std::string caption_id;  // "pictures/007#en-1"
  std::string caption;
  std::string picture;            // a PNG file
  std::vector<std::string> tags;  // its color, and "tenth" if its number ends with 0
  EmbeddingMatrix image_embedding;
  EmbeddingMatrix caption_embedding;
  ItemFeatures image_features;
  ItemFeatures caption_features;
};

struct TinyStore {
  std::string path;
  int shard_count = 2;
  std::unique_ptr<ComputePool> pool;
  std::shared_ptr<const Model> model;
  std::vector<TinyItem> items;  // by id

  const TinyItem& item(const std::string& image_or_caption_id) const;
};

// Writes a generation of both indexes with the items whose number is `remainder` modulo
// `divisor`, so that a hit tells its generation, and does not publish it.  `spec` is of both
// indexes; without a kind they are searched exactly.
void WriteTinyGeneration(const TinyStore& store, const std::string& generation, int divisor,
                         int remainder, const bundle::v1::IndexSpec& spec = {});

// Writes a generation of both indexes with all items of `store`, which has a second reranker:
// the model of `other`, which is of the same items.  The default is called "default".
void WriteTinyGenerationOfTwo(const TinyStore& store, const TinyStore& other,
                              const std::string& name_of_other, const std::string& generation);

// The same store and pictures with another model, of another space: what it writes is encoded
// by that.
TinyStore WithOtherModel(const TinyStore& store);

inline constexpr char kTinyImages[] = "images";
inline constexpr char kTinyCaptions[] = "captions";
inline constexpr char kTinyGeneration[] = "g1";

// Builds the store below `directory`; throws, which fails the test, on any error.
TinyStore MakeTinyStore(const std::string& directory, int item_count);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_TINY_STORE_H_
