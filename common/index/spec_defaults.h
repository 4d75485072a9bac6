// What an index spec says where whoever asked for a kind said nothing.
#ifndef SIGHTLINE_COMMON_INDEX_SPEC_DEFAULTS_H_
#define SIGHTLINE_COMMON_INDEX_SPEC_DEFAULTS_H_

#include <cstdint>

#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Items of the greatest shard, by which parameters of a generation are chosen.
int64_t GreatestShard(const bundle::v1::GenerationManifest& manifest);

// `factor` lists for each root of the rows, within what a spec may have: centroids and the rows of
// the lists that are looked into then grow alike.
int ListCountFor(int64_t rows, double factor);

// Fills in what is zero or empty of the parameters of kinds "ivf" and "hnsw", and takes from
// others nothing, for shards of at most `rows` rows of `dimension` numbers: 8 lists for each root
// of the rows, in int8; 16 links, built at effort 200, over rows.  What is refined follows the
// code: the rougher it is, the more.
void FillIndexSpec(int64_t rows, int dimension, bundle::v1::IndexSpec* spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_SPEC_DEFAULTS_H_
