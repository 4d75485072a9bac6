// A model bundle on disk: manifest, weights, vocabulary.
//
//   models/<sha256>/manifest.json       sightline.bundle.v1.ModelBundleManifest
//                   weights.safetensors
//                   vocab.txt
//
// The folder's name is the SHA-256 of manifest.json, which holds the SHA-256 of every
// other file: the name stands for all of it.
#ifndef SIGHTLINE_COMMON_BUNDLE_MODEL_BUNDLE_H_
#define SIGHTLINE_COMMON_BUNDLE_MODEL_BUNDLE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

struct ModelBundle {
  std::string directory;  // models/<id>
  std::string id;         // SHA-256 of manifest.json, hex
  bundle::v1::ModelBundleManifest manifest;

  std::string FilePath(absl::string_view name) const;
};

inline constexpr absl::string_view kWeightsFile = "weights.safetensors";
inline constexpr absl::string_view kVocabularyFile = "vocab.txt";

// Reads and validates manifest.json and compares every file's size.  With
// `verify_checksums` it also reads every file and compares its SHA-256.
// NotFound: no such bundle.  DataLoss: id, size or checksum do not match, or the
// manifest is malformed.  FailedPrecondition: a newer format.
absl::StatusOr<ModelBundle> OpenModelBundle(absl::string_view directory, bool verify_checksums);

// The same in a folder of any name, as add-model takes it: its id is what its manifest gives.
absl::StatusOr<ModelBundle> OpenBundleFolder(absl::string_view folder, bool verify_checksums);

// Writes `files` (name -> bytes) and a manifest that lists them into
// `<store>/models/<id>/`, atomically: the folder appears whole or not at all.  Fills
// format_version and files of `manifest`, and embedding.space.  Returns the bundle;
// writing what exists already is not an error.
absl::StatusOr<ModelBundle> WriteModelBundle(absl::string_view store,
                                             bundle::v1::ModelBundleManifest manifest,
                                             const std::map<std::string, std::string>& files);

// Hands a file's content on in pieces of any size, in order, and passes on what `sink`
// fails with.
using ByteSink = std::function<absl::Status(absl::string_view piece)>;
using ContentWriter = std::function<absl::Status(const ByteSink& sink)>;

// Hands on the content of the file `path`, which it opens when it is called, a MiB at a time.
ContentWriter ContentOf(std::string path);

// As WriteModelBundle for files whose content should not lie in memory as a whole.  Each writer is
// called once, in the order of the names.
absl::StatusOr<ModelBundle> StreamModelBundle(absl::string_view store,
                                              bundle::v1::ModelBundleManifest manifest,
                                              const std::map<std::string, ContentWriter>& files);

// manifest.json alone, checked as OpenModelBundle does, whatever there is of the files.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadModelBundleManifest(
    absl::string_view directory);

// Paths of the manifest and, where that can be read, of the files that it lists.
std::vector<std::string> BundlePaths(const std::string& directory);

// Bytes of all files that a bundle's manifest lists.
int64_t FileBytes(const bundle::v1::ModelBundleManifest& manifest);

// Fingerprint of the embedding space of `manifest`: SHA-256 over
// family, weights and vocabulary checksums, tokenizer, transformer, extractor,
// dimension and metric.
std::string EmbeddingSpaceOf(const bundle::v1::ModelBundleManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_MODEL_BUNDLE_H_
