// What a small store is made of, and the store that today's code makes of it.
//
// The values never change: tests/testdata/compatibility has what earlier code made of them.
#ifndef SIGHTLINE_TESTS_COMPATIBILITY_STORE_SAMPLES_H_
#define SIGHTLINE_TESTS_COMPATIBILITY_STORE_SAMPLES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/shard_writer.h"
#include "common/dataset/region_file.h"
#include "services/corpus_encoder/unit_file.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// Two bundles: in both together every field of a manifest is set.
struct SampleModel {
  bundle::v1::ModelBundleManifest manifest;  // as it is handed to WriteModelBundle
  std::map<std::string, std::string> files;
};
std::vector<SampleModel> SampleModels();

// An index of images: two shards, two rerankers, probes and content hashes.
inline constexpr char kSampleImages[] = "pictures";
inline constexpr char kSampleGeneration[] = "g2";
inline constexpr int kSampleDimension = 5;  // rows need padding
inline constexpr int kSampleShards = 2;

std::vector<EncodedItem> SampleItems();
std::string SampleContentHash(const EncodedItem& item);
// Queries with their true neighbours among `items`, which are a shard's, in order.
Probes SampleProbes(const std::vector<EncodedItem>& items);

// When the second and the third generation of the images were published, and the third was
// rolled back.
absl::Time SamplePublication(int number);

// An index of captions as the smallest that there is: one shard, nothing that may be absent.
inline constexpr char kSampleCaptions[] = "words";
std::vector<EncodedItem> SampleCaptions();

// An index of images whose rows for a reranker are in int8, with their scales.
inline constexpr char kSamplePacked[] = "packed";
std::vector<EncodedItem> SamplePackedItems();

// An index of images that were encoded in another precision than float32.
inline constexpr char kSampleRounded[] = "rounded";
inline constexpr char kSamplePrecision[] = "bfloat16";
inline constexpr double kSampleAgreement = 0.984375;

// Indexes of images whose vectors are float16 and stay on the disk, each of one kind that has
// parameters, with its efforts and a file that the kind has built.
inline constexpr char kSampleLists[] = "lists";  // ivf
inline constexpr char kSampleGraph[] = "graph";  // hnsw
std::vector<EncodedItem> SampleIndexedItems();
bundle::v1::IndexSpec SampleIndexSpec(const std::string& index);
inline constexpr char kSampleIndexFile[] = "what only the kind of index knows";

std::vector<RegionFileItem> SampleRegions();
// The same with soft labels of three classes.
std::vector<RegionFileItem> SampleLabelledRegions();

// A finished unit of a job that goes on under another program.
inline constexpr char kSampleUnitHash[] = "what the unit is made of";
UnitResult SampleUnit();

inline constexpr char kSampleStore[] = "store";
inline constexpr char kSampleRegionFile[] = "regions/sample.regions";
inline constexpr char kSampleLabelledRegionFile[] = "regions/labelled.regions";
inline constexpr char kSampleUnitFile[] = "units/sample.unit";

// Writes all of it below `directory`.  Throws, which fails the test, on any error.
void WriteStoreSamples(const std::string& directory);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMPATIBILITY_STORE_SAMPLES_H_
