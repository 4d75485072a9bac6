// Generations in a folder, with their models, to be brought into an object store.
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_STORED_GENERATIONS_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_STORED_GENERATIONS_H_

#include <map>
#include <string>

#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_bundle.h"
#include "common/object_store/upload.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/manifests.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

inline const CallContext& Unbounded() {
  static const CallContext* const call = new CallContext(CallContext::Unbounded());
  return *call;
}

// The id of a model in the folder; models of different content are different.
inline std::string MakeModel(const std::string& folder, const std::string& content) {
  const auto bundle = WriteModelBundle(
      folder, SoundModelManifest(),
      {{std::string(kVocabularyFile), "[PAD]\n"}, {std::string(kWeightsFile), content}});
  REQUIRE(bundle.ok());
  return bundle->id;
}

// A generation of index "images" with two shards, an encoder and a reranker.
inline bundle::v1::GenerationManifest MakeGeneration(const std::string& folder,
                                                     const std::string& name, int items = 4) {
  auto manifest = WriteTestGeneration(folder, name, items, /*shards=*/2);
  REQUIRE(manifest.ok());
  manifest->set_encoder_model(MakeModel(folder, "encoder"));
  manifest->set_reranker_model(MakeModel(folder, "reranker"));
  const std::string directory = GenerationDirectory(folder, "images", name);
  REQUIRE(WriteFileAtomically(JoinPath(directory, kManifestFile), ManifestJson(*manifest)).ok());
  REQUIRE(WriteFileAtomically(JoinPath(directory, "quarantine.jsonl"), "{}\n").ok());
  return *manifest;
}

// The same, brought into `store`.
inline void MakeRemote(ObjectStore* store, const std::string& name, int items = 4) {
  const TempDir folder;
  MakeGeneration(folder.path(), name, items);
  const absl::Status uploaded = UploadGeneration(store, folder.path(), "images", name, Unbounded());
  INFO(uploaded);
  REQUIRE(uploaded.ok());
}

// Path and content of everything below `folder`.
inline std::map<std::string, std::string> ContentOf(const std::string& folder) {
  std::map<std::string, std::string> content;
  const auto paths = ListFilesBelow(folder);
  REQUIRE(paths.ok());
  for (const std::string& path : *paths) content[path] = *ReadFile(JoinPath(folder, path));
  return content;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_STORED_GENERATIONS_H_
