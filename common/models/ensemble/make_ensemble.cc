#include "common/models/ensemble/make_ensemble.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_probes.h"
#include "common/models/ensemble/manifest.h"
#include "common/models/family_manifests.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ModelBundleManifest;

// The cross-encoder that a model is, without its towers.  Those of scripts are files.  What its
// precisions were compared on tells nothing of the whole.
ModelBundleManifest CrossEncoderOf(ModelBundleManifest manifest) {
  const std::set<std::string> left_out = {manifest.torch_script().text_encoder(),
                                          manifest.torch_script().image_encoder(),
                                          std::string(kProbesFile)};
  const std::string& kept = manifest.torch_script().cross_encoder();
  google::protobuf::RepeatedPtrField<BundleFile> files;
  for (const BundleFile& file : manifest.files()) {
    if (file.path() == kept || left_out.count(file.path()) == 0) *files.Add() = file;
  }
  *manifest.mutable_files() = std::move(files);
  if (manifest.has_torch_script()) {
    manifest.mutable_torch_script()->clear_text_encoder();
    manifest.mutable_torch_script()->clear_image_encoder();
  }
  manifest.clear_format_version();
  manifest.clear_embedding();
  return manifest;
}

absl::Status CheckMember(const ModelBundle& member, const ModelBundleManifest& cross_encoder) {
  const absl::Status status = CheckEnsembleMember(cross_encoder);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("model ", member.id, ", of family ",
                                                 cross_encoder.family(), ", ", status.message()));
}

// Adds the member to the manifest of the whole, and copies of its files.
void AddMember(const ModelBundle& member, ModelBundleManifest cross_encoder,
               ModelBundleManifest* manifest, std::map<std::string, ContentWriter>* files) {
  const int index = manifest->members_size();
  for (const BundleFile& file : cross_encoder.files()) {
    (*files)[absl::StrCat("members/", index, "/", file.path())] =
        ContentOf(member.FilePath(file.path()));
  }
  cross_encoder.clear_files();
  *manifest->add_members() = std::move(cross_encoder);
}

}  // namespace

absl::StatusOr<ModelBundle> MakeEnsemble(absl::string_view members_store,
                                         const std::vector<std::string>& members,
                                         absl::string_view store, absl::string_view description) {
  ModelBundleManifest manifest;
  manifest.set_family("ensemble");
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
    ModelBundleManifest cross_encoder = CrossEncoderOf(member.manifest);
    RETURN_IF_ERROR(CheckMember(member, cross_encoder));
    if (families.empty()) {
      *manifest.mutable_cross_encoder() = member.manifest.cross_encoder();
      manifest.mutable_cross_encoder()->clear_head_hidden_size();
      // A mean of probabilities, whatever its members give.
      manifest.mutable_cross_encoder()->set_score_kind("sigmoid");
    }
    families.push_back(cross_encoder.family());
    AddMember(member, std::move(cross_encoder), &manifest, &files);
  }
  manifest.set_description(description.empty()
                               ? absl::StrCat("Mean of ", absl::StrJoin(families, " and "))
                               : std::string(description));
  RETURN_IF_ERROR(CheckManifest(manifest));
  return StreamModelBundle(store, std::move(manifest), files);
}

}  // namespace sightline
