#include "common/bundle/model_bundle.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ModelBundleManifest;

absl::string_view LastComponent(absl::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Adds `text` so that no other sequence of texts gives the same bytes.
void Fingerprint(Sha256& sha, absl::string_view text) {
  sha.Update(absl::StrCat(text.size(), ":"));
  sha.Update(text);
}

std::string DeterministicBytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string DigestOf(const ModelBundleManifest& manifest, absl::string_view path) {
  for (const BundleFile& file : manifest.files()) {
    if (file.path() == path) return file.sha256();
  }
  return "";
}

// Files of scripted modules that decide where a text or an image lands.
std::vector<std::string> EmbeddingModules(const bundle::v1::TorchScriptSpec& spec) {
  std::vector<std::string> files;
  for (const std::string& file :
       {spec.text_encoder(), spec.image_encoder(), spec.region_extractor()}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

absl::Status VerifyFile(const ModelBundle& bundle, const BundleFile& file, bool verify_checksum) {
  const std::string path = bundle.FilePath(file.path());
  const absl::StatusOr<int64_t> size = FileSize(path);
  if (absl::IsNotFound(size.status())) {
    return absl::DataLossError(absl::StrCat(path, " is missing; fetch the bundle again"));
  }
  RETURN_IF_ERROR(size.status());
  if (*size != file.byte_count()) {
    return absl::DataLossError(absl::StrCat(path, " has ", *size, " bytes, its manifest says ",
                                            file.byte_count(), "; fetch the bundle again"));
  }
  if (!verify_checksum) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string sha256, Sha256HexOfFile(path));
  if (sha256 != file.sha256()) {
    // From the disk this time, as far as the system lets go of what it has in memory.
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> cached, RandomAccessFile::Open(path));
    cached->DropFromCache(0, cached->size());
    ASSIGN_OR_RETURN(sha256, Sha256HexOfFile(path));
  }
  if (sha256 != file.sha256()) {
    return absl::DataLossError(absl::StrCat(path, " has SHA-256 ", sha256, ", its manifest says ",
                                            file.sha256(), "; fetch the bundle again"));
  }
  return absl::OkStatus();
}

// A folder under another name that is removed unless it was renamed into place.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Writes one file and fills in its length and digest.
absl::Status WriteContent(const std::string& path, const ContentWriter& content,
                          BundleFile* entry) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> file, AtomicFile::Create(path));
  Sha256 sha;
  int64_t length = 0;
  RETURN_IF_ERROR(content([&](absl::string_view piece) {
    RETURN_IF_ERROR(file->WriteAt(length, piece));
    sha.Update(piece);
    length += static_cast<int64_t>(piece.size());
    return absl::OkStatus();
  }));
  entry->set_byte_count(length);
  entry->set_sha256(sha.Hex());
  return file->Commit();
}

absl::Status WriteFiles(const std::string& directory,
                        const std::map<std::string, ContentWriter>& files,
                        ModelBundleManifest* manifest) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  int index = 0;
  for (const auto& [name, content] : files) {
    const size_t slash = name.rfind('/');
    if (slash != std::string::npos) {
      RETURN_IF_ERROR(MakeDirectories(JoinPath(directory, name.substr(0, slash))));
    }
    RETURN_IF_ERROR(
        WriteContent(JoinPath(directory, name), content, manifest->mutable_files(index++)));
  }
  return absl::OkStatus();
}

// Checks what there is to check before any file is written.
absl::Status PrepareManifest(const std::map<std::string, ContentWriter>& files,
                             ModelBundleManifest* manifest) {
  manifest->set_format_version(kModelBundleFormatVersion);
  manifest->clear_files();
  for (const auto& [name, content] : files) {  // a map's order is the manifest's
    BundleFile* file = manifest->add_files();
    file->set_path(name);
    file->set_sha256(Sha256Hex(""));  // until it is written
  }
  if (manifest->has_embedding()) {
    manifest->mutable_embedding()->set_space(EmbeddingSpaceOf(*manifest));
  }
  return CheckModelBundleManifest(*manifest);
}

}  // namespace

std::string ModelBundle::FilePath(absl::string_view name) const {
  return JoinPath(directory, name);
}

namespace {

// The manifest of that text, in the file `path`.
absl::StatusOr<ModelBundleManifest> ParseAt(const std::string& path, const std::string& json) {
  absl::StatusOr<ModelBundleManifest> manifest = ParseModelBundleManifest(json);
  if (!manifest.ok()) return WithPrefix(manifest.status(), path);
  if (manifest->has_embedding() && manifest->embedding().space() != EmbeddingSpaceOf(*manifest)) {
    return absl::DataLossError(
        absl::StrCat(path, ": embedding.space is ", manifest->embedding().space(),
                     " but the manifest gives ", EmbeddingSpaceOf(*manifest)));
  }
  return manifest;
}

absl::StatusOr<ModelBundle> CheckFiles(ModelBundle bundle, bool verify_checksums) {
  for (const BundleFile& file : bundle.manifest.files()) {
    RETURN_IF_ERROR(VerifyFile(bundle, file, verify_checksums));
  }
  return bundle;
}

}  // namespace

absl::StatusOr<ModelBundleManifest> ReadModelBundleManifest(absl::string_view directory) {
  const absl::string_view id = LastComponent(directory);
  if (!IsSha256Hex(id)) {
    return absl::DataLossError(
        absl::StrCat(directory, ": a bundle's folder is named by 64 lower-case hex digits"));
  }
  const std::string path = JoinPath(directory, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, limits::kMaxManifestBytes));
  const std::string sha256 = Sha256Hex(json);
  if (sha256 != id) {
    return absl::DataLossError(absl::StrCat(path, " has SHA-256 ", sha256,
                                            ", which is not its folder's name; fetch the bundle "
                                            "again"));
  }
  return ParseAt(path, json);
}

absl::StatusOr<ModelBundle> OpenModelBundle(absl::string_view directory, bool verify_checksums) {
  ModelBundle bundle;
  bundle.directory = std::string(directory);
  bundle.id = std::string(LastComponent(directory));
  ASSIGN_OR_RETURN(bundle.manifest, ReadModelBundleManifest(directory));
  return CheckFiles(std::move(bundle), verify_checksums);
}

absl::StatusOr<ModelBundle> OpenBundleFolder(absl::string_view folder, bool verify_checksums) {
  const std::string path = JoinPath(folder, kManifestFile);
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path, limits::kMaxManifestBytes));
  ModelBundle bundle;
  bundle.directory = std::string(folder);
  bundle.id = Sha256Hex(json);
  ASSIGN_OR_RETURN(bundle.manifest, ParseAt(path, json));
  return CheckFiles(std::move(bundle), verify_checksums);
}

namespace {

// What was to be written is there already; if it is damaged, writing it again helps.
absl::StatusOr<ModelBundle> OpenStored(const std::string& directory) {
  absl::StatusOr<ModelBundle> stored = OpenModelBundle(directory, /*verify_checksums=*/true);
  if (!absl::IsDataLoss(stored.status())) return stored;
  return absl::DataLossError(
      absl::StrCat("the store holds this model, but damaged: ", stored.status().message(),
                   ", or remove the folder ", directory, " and try again"));
}

}  // namespace

ContentWriter ContentOfFile(std::string path) {
  return [path = std::move(path)](const ByteSink& sink) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
    std::string piece;
    for (int64_t at = 0; at < file->size(); at += static_cast<int64_t>(piece.size())) {
      piece.resize(static_cast<size_t>(std::min(int64_t{1} << 20, file->size() - at)));
      RETURN_IF_ERROR(file->Read(at, static_cast<int64_t>(piece.size()), piece.data()));
      RETURN_IF_ERROR(sink(piece));
    }
    return absl::OkStatus();
  };
}

absl::StatusOr<ModelBundle> StreamModelBundle(absl::string_view store, ModelBundleManifest manifest,
                                              const std::map<std::string, ContentWriter>& files) {
  RETURN_IF_ERROR(PrepareManifest(files, &manifest));
  const std::string models = JoinPath(store, "models");
  static std::atomic<int64_t> counter{0};
  const TemporaryFolder temporary(
      absl::StrCat(models, "/.new.", ::getpid(), ".", counter++, ".tmp"));
  RETURN_IF_ERROR(WriteFiles(temporary.path(), files, &manifest));
  if (manifest.has_embedding()) {
    manifest.mutable_embedding()->set_space(EmbeddingSpaceOf(manifest));
  }
  const std::string json = ManifestJson(manifest);
  const std::string directory = JoinPath(models, Sha256Hex(json));
  if (FileExists(directory)) return OpenStored(directory);
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(temporary.path(), kManifestFile), json));
  if (std::rename(temporary.path().c_str(), directory.c_str()) != 0) {
    // Somebody else was faster; what counts is what is there now.
    if (errno == EEXIST || errno == ENOTEMPTY) return OpenStored(directory);
    return FileError("rename into place", directory, errno);
  }
  RETURN_IF_ERROR(SyncDirectory(models));
  return OpenModelBundle(directory, /*verify_checksums=*/false);
}

absl::StatusOr<ModelBundle> WriteModelBundle(absl::string_view store, ModelBundleManifest manifest,
                                             const std::map<std::string, std::string>& files) {
  std::map<std::string, ContentWriter> writers;
  for (const auto& [name, bytes] : files) {
    writers[name] = [&bytes = bytes](const ByteSink& sink) { return sink(bytes); };
  }
  return StreamModelBundle(store, std::move(manifest), writers);
}

std::vector<std::string> BundlePaths(const std::string& directory) {
  std::vector<std::string> paths = {JoinPath(directory, kManifestFile)};
  const auto manifest = ReadModelBundleManifest(directory);
  if (!manifest.ok()) return paths;
  for (const bundle::v1::BundleFile& file : manifest->files()) {
    paths.push_back(JoinPath(directory, file.path()));
  }
  return paths;
}

int64_t FileBytes(const ModelBundleManifest& manifest) {
  int64_t bytes = 0;
  for (const BundleFile& file : manifest.files()) {
    // Sums of lies stay lies, and do not wrap.
    if (__builtin_add_overflow(bytes, file.byte_count(), &bytes)) return INT64_MAX / 8;
  }
  return std::min(bytes, INT64_MAX / 8);
}

std::string EmbeddingSpaceOf(const ModelBundleManifest& manifest) {
  Sha256 sha;
  Fingerprint(sha, "sightline embedding space 1");
  Fingerprint(sha, manifest.family());
  Fingerprint(sha, DigestOf(manifest, kWeightsFile));
  Fingerprint(sha, DigestOf(manifest, manifest.tokenizer().vocabulary_file()));
  bundle::v1::TokenizerSpec tokenizer = manifest.tokenizer();
  tokenizer.clear_vocabulary_file();  // its content counts, above, not its name
  Fingerprint(sha, DeterministicBytes(tokenizer));
  Fingerprint(sha, DeterministicBytes(manifest.transformer()));
  Fingerprint(sha, DeterministicBytes(manifest.grid_extractor()));
  Fingerprint(sha, absl::StrCat(manifest.embedding().dimension()));
  Fingerprint(sha, absl::StrCat(static_cast<int>(manifest.embedding().metric())));
  if (manifest.embedding().rows() != bundle::v1::EmbeddingSpec::ROWS_UNSPECIFIED) {
    Fingerprint(sha, absl::StrCat("rows ", static_cast<int>(manifest.embedding().rows())));
  }
  // What a family may leave out, so that a family that does keeps its fingerprint: all parts from
  // region_rule on, and so whatever part a new family brings.  sgraf's has no embedding.
  const google::protobuf::Descriptor& fields = *manifest.descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = fields.field(i);
    const bool is_part = field->number() >= ModelBundleManifest::kRegionRuleFieldNumber &&
                         field->number() != ModelBundleManifest::kSgrafFieldNumber &&
                         !field->is_repeated() && field->message_type() != nullptr;
    if (!is_part || !manifest.GetReflection()->HasField(manifest, field)) continue;
    Fingerprint(sha, field->name());
    Fingerprint(sha, DeterministicBytes(manifest.GetReflection()->GetMessage(manifest, field)));
  }
  for (const std::string& module : EmbeddingModules(manifest.torch_script())) {
    Fingerprint(sha, DigestOf(manifest, module));
  }
  return sha.Hex();
}

}  // namespace sightline
