#include "common/models/convert/ensemble.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ModelBundleManifest;

constexpr size_t kMinMembers = 2;
constexpr size_t kMaxMembers = 8;
constexpr char kFamily[] = "ensemble";

absl::Status CheckMember(const ModelBundle& member) {
  const ModelBundleManifest& manifest = member.manifest;
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", member.id, " of family ", manifest.family(), " ", why));
  };
  if (manifest.family() == kFamily) return refuse("is an ensemble itself; name its members");
  if (!manifest.has_cross_encoder()) return refuse("is no cross-encoder");
  if (manifest.has_grid_extractor() || !manifest.torch_script().region_extractor().empty()) {
    return refuse("reads pixels; members read regions that come from elsewhere");
  }
  return absl::OkStatus();
}

// The manifest of the whole, and its files as copies of the members'.
void AddMember(const ModelBundle& member, int index, ModelBundleManifest* manifest,
               std::map<std::string, ContentWriter>* files) {
  for (const BundleFile& file : member.manifest.files()) {
    const std::string path = member.FilePath(file.path());
    (*files)[absl::StrCat("members/", index, "/", file.path())] = [path](const ByteSink& sink) {
      ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> content, MappedFile::Open(path));
      return sink(content->bytes());
    };
  }
  ModelBundleManifest* inner = manifest->add_members();
  *inner = member.manifest;
  inner->clear_files();
  inner->clear_format_version();
  inner->clear_embedding();
}

}  // namespace

absl::StatusOr<ModelBundle> MakeEnsemble(absl::string_view members_store,
                                         const std::vector<std::string>& members,
                                         absl::string_view store, absl::string_view description) {
  if (members.size() < kMinMembers || members.size() > kMaxMembers) {
    return absl::InvalidArgumentError(absl::StrCat("an ensemble has ", kMinMembers, " to ",
                                                   kMaxMembers, " members, not ", members.size()));
  }
  ModelBundleManifest manifest;
  manifest.set_family(kFamily);
  std::map<std::string, ContentWriter> files;
  std::set<std::string> seen;
  std::vector<std::string> families;
  for (const std::string& id : members) {
    if (!IsSha256Hex(id)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", id, "' is no model's id, which has 64 lower-case hex digits"));
    }
    if (!seen.insert(id).second) {
      return absl::InvalidArgumentError(absl::StrCat("model ", id, " is named twice"));
    }
    ASSIGN_OR_RETURN(const ModelBundle member,
                     OpenModelBundle(ModelDirectory(members_store, id), /*verify_checksums=*/true));
    RETURN_IF_ERROR(CheckMember(member));
    if (families.empty()) {
      *manifest.mutable_cross_encoder() = member.manifest.cross_encoder();
      manifest.mutable_cross_encoder()->clear_head_hidden_size();
      // A mean of probabilities, whatever its members give.
      manifest.mutable_cross_encoder()->set_score_kind("sigmoid");
    }
    AddMember(member, static_cast<int>(families.size()), &manifest, &files);
    families.push_back(member.manifest.family());
  }
  manifest.set_description(description.empty()
                               ? absl::StrCat("Mean of ", absl::StrJoin(families, " and "))
                               : std::string(description));
  return StreamModelBundle(store, std::move(manifest), files);
}

}  // namespace sightline
