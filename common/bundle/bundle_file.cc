#include "common/bundle/bundle_file.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

bool HasSha256(const ResidentMemory& memory, const std::string& sha256) {
  return Sha256Hex(absl::string_view(memory.data(), static_cast<size_t>(memory.size()))) == sha256;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ResidentMemory>> ReadBundleFile(const ModelBundle& bundle,
                                                               absl::string_view name) {
  const auto& files = bundle.manifest.files();
  const auto listed = std::find_if(
      files.begin(), files.end(),
      [&](const bundle::v1::BundleFile& file) { return absl::string_view(file.path()) == name; });
  if (listed == files.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the manifest of bundle ", bundle.id, " lists no file '", name, "'"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                   RandomAccessFile::Open(bundle.FilePath(name)));
  ASSIGN_OR_RETURN(std::unique_ptr<ResidentMemory> memory, ResidentMemory::Allocate(file->size()));
  RETURN_IF_ERROR(file->Read(0, memory->size(), memory->data()));
  if (HasSha256(*memory, listed->sha256())) return memory;
  RETURN_IF_ERROR(file->ReadAgain(0, memory->size(), memory->data()));
  if (HasSha256(*memory, listed->sha256())) return memory;
  return MakeError(reasons::kChecksumMismatch,
                   absl::StrCat(file->path(), " does not have the SHA-256 ", listed->sha256(),
                                ", as its manifest says; fetch the bundle again"));
}

}  // namespace sightline
