// The most of everything that a request, a configuration or a store is held to.
//
// A limit stands here when more than one place must agree on it: who sends and who reads,
// who writes and who opens, the code and a document.  Those of one parser alone stand in its
// file.  A limit that follows from another one says so by how it is written.
// tests/layering/registries.py holds protos and READMEs to the numbers.
#ifndef SIGHTLINE_COMMON_BASE_LIMITS_H_
#define SIGHTLINE_COMMON_BASE_LIMITS_H_

#include <cstdint>

namespace sightline {
namespace limits {

// --- names; each character is a byte ---

inline constexpr int kMaxIndexNameLength = 63;
inline constexpr int kMaxRerankerNameLength = 63;
inline constexpr int kMaxGenerationNameLength = 128;
inline constexpr int kMaxRouterNameLength = 64;
// Of any name or page token in a request, so that an error can quote it.
inline constexpr int kMaxNameBytes = 1024;
inline constexpr int kMaxPrecisionBytes = 32;
inline constexpr int64_t kMaxItemIdBytes = 1024;

// --- what is asked with ---

// Ten times what 512 tokens of prose need; what is longer is no query.
inline constexpr int64_t kMaxTextBytes = 16 << 10;
// Of a picture's file, or of its regions as float32.
inline constexpr int64_t kMaxImageBytes = int64_t{16} << 20;
// Of a picture's file in a corpus, unless a job is told otherwise.
inline constexpr int64_t kMaxCorpusImageBytes = int64_t{32} << 20;
inline constexpr int64_t kMaxImagePixels = 60'000'000;
// In pixels, the longer one: unless a server or a job is told otherwise, and at all.
inline constexpr int kMaxImageSide = 30'000;
inline constexpr int kMaxConfiguredImageSide = 100'000;
inline constexpr int kMaxRegions = 1000;
inline constexpr int kMaxWords = 256;      // OCR tokens or tags of one image
inline constexpr int kMaxWordBytes = 256;  // one of them
inline constexpr int kMaxDimension = 4096;
inline constexpr int kMaxFilterTags = 64;  // of a search, in all lists together
inline constexpr int kMaxFilterTagBytes = 1024;
inline constexpr int kMaxEffort = 1'000'000;  // of a search, in what an index counts it in

// --- how much of it ---

inline constexpr int kMaxHits = 1000;  // of one search, over all its pages
// Of one query and shard: a queried item itself is left out of its hits.
inline constexpr int kMaxNeighbors = kMaxHits + 1;
inline constexpr int kMaxFetchedItems = kMaxNeighbors;  // of one shard, by id or row
inline constexpr int kMaxGetItems = 1000;
inline constexpr int kMaxPairs = 1024;          // texts times images of ScorePairs
inline constexpr int kMaxQueries = 256;         // of one call to an encoder or a shard
inline constexpr int kMaxCandidates = 1000;     // of one call to a reranker
inline constexpr int kMaxExpectedItems = 1000;  // that are known to be right, of one question
inline constexpr int kMaxStatusUses = 1000;     // generations that a router tells a server it uses

// --- features that travel or are stored ---

inline constexpr int kMaxTensorNameLength = 64;
inline constexpr int kMaxTensors = 16;  // of one item, in a message
inline constexpr int kMaxTensorRows = 4096;
inline constexpr int kMaxTensorColumns = 8192;
inline constexpr int kMaxFeatureTensors = 64;  // of one cross-encoder, in a file
// Of one item and one cross-encoder, all tensors together.  What is more is refused by
// writer and reader, so that one lying offset cannot fill the memory.
inline constexpr int64_t kMaxItemFeatureBytes = int64_t{16} << 20;

// --- messages ---

// Of a message with a picture: the picture, and the rest.
inline constexpr int64_t kUploadMessageBytes = kMaxImageBytes + (int64_t{4} << 20);
// Between services.
inline constexpr int64_t kMaxMessageBytes = int64_t{64} << 20;

// --- a store ---

inline constexpr int kMaxShards = 10'000;       // of a generation
inline constexpr int kMaxRerankers = 8;         // of a generation
inline constexpr int kMaxIndexFiles = 16;       // of a shard, beside its vectors
inline constexpr int kMaxEffortPoints = 64;     // of a shard
inline constexpr int kMaxIndexLists = 1 << 20;  // of a shard
inline constexpr int kMaxProbeQueries = 1024;
inline constexpr int kMaxProbeNeighbors = 100;
inline constexpr int kMaxPublications = 64;  // that CURRENT remembers
inline constexpr int64_t kMaxManifestBytes = int64_t{16} << 20;
// Of a caption, a uri, or all tags together with four bytes for each.  What is more is
// refused by writer and reader, so that one lying offset cannot fill the memory.
inline constexpr int64_t kMaxRecordFieldBytes = int64_t{1} << 20;
inline constexpr int64_t kMaxVocabularyBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxModelConfigBytes = int64_t{1} << 20;  // that a bundle is made from

// --- what a model reads and is ---

inline constexpr int kMaxTokens = 512;         // of a text, special ones included
inline constexpr int kMaxModelRegions = 1024;  // of an image
inline constexpr int kMaxRegionFeatureSize = 16'384;
inline constexpr int kMinModelImageSize = 16;  // the side of the square that it looks at
inline constexpr int kMaxModelImageSize = 1024;
inline constexpr int kMaxLayers = 48;
inline constexpr int kMaxHiddenSize = 4096;
inline constexpr int kMaxHeads = 256;  // of attention
inline constexpr int kMaxPositions = 8192;
inline constexpr int kMaxTokenTypes = 16;
inline constexpr int kMaxSceneTextTokens = kMaxTokens - 2;  // two are special
inline constexpr int kMaxGridChannels = 4096;               // of a grid extractor's stage
inline constexpr int kMaxGridBlocks = 16;                   // residual ones, of a stage
inline constexpr int kMaxCells = 256;                       // K of T-EMDE
inline constexpr int kMaxFamilyNameLength = 63;
inline constexpr int kMaxIndexKindLength = 63;
inline constexpr int kMaxPrecisionNameLength = 63;

// --- a configuration ---

inline constexpr int kMaxIndexes = 100;  // that a server follows
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxConcurrentCalls = 4096;  // each holds a stack, and mostly waits

}  // namespace limits
}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_LIMITS_H_
