#include "common/models/family_manifests.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/embedding/score.h"
#include "common/models/manifest_checks.h"
#include "common/models/region_input.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

// Model::region_feature_sizes of the member's model.
std::vector<int> WidthsOf(const ModelBundleManifest& member) {
  if (member.has_sgraf()) return {member.sgraf().region_feature_size()};
  if (member.has_torch_script()) return {member.torch_script().region_feature_size()};
  // Of the other families with a cross-encoder, OSCAR alone may read boxes behind features.
  return FeatureSizesOf(
      RegionReadingOf(member, member.family() == "oscar" ? BoxForm::kAppended : BoxForm::kNone));
}

// The members are given the same regions.
void CheckWidths(const ModelBundleManifest& manifest, Problems* problems) {
  if (manifest.members().empty()) return;
  std::vector<int> common = WidthsOf(manifest.members(0));
  std::vector<std::string> listed;
  for (const ModelBundleManifest& member : manifest.members()) {
    const std::vector<int> widths = WidthsOf(member);
    listed.push_back(absl::StrJoin(widths, " or "));
    common.erase(std::remove_if(common.begin(), common.end(),
                                [&](int width) {
                                  return std::find(widths.begin(), widths.end(), width) ==
                                         widths.end();
                                }),
                 common.end());
  }
  problems->Require(!common.empty(),
                    absl::StrCat("its members read region features of different widths: ",
                                 absl::StrJoin(listed, ", ")));
}

}  // namespace

absl::Status CheckEnsembleMember(const ModelBundleManifest& member) {
  if (member.members_size() > 0) {
    return absl::InvalidArgumentError("is an ensemble itself; list its members instead");
  }
  if (!member.has_cross_encoder()) {
    return absl::InvalidArgumentError("has no cross-encoder");
  }
  if (member.has_grid_extractor() || !member.torch_script().region_extractor().empty()) {
    return absl::InvalidArgumentError(
        "reads pixels; members read the same regions, which come from elsewhere");
  }
  return CheckManifest(member);
}

absl::Status CheckEnsembleManifest(const ModelBundleManifest& manifest) {
  Problems problems;
  problems.RequireRange("members, their number,", manifest.members_size(), 2, 8);
  for (int i = 0; i < manifest.members_size(); ++i) {
    const absl::Status status = CheckEnsembleMember(manifest.members(i));
    problems.Require(status.ok(), absl::StrCat("members[", i, "] ", status.message()));
  }
  CheckWidths(manifest, &problems);
  problems.Require(!manifest.has_embedding() && !manifest.has_tokenizer(),
                   "embedding and tokenizer are its members' business");
  CheckCrossEncoder(manifest, {ScoreKind::kSigmoid}, /*max_head_size=*/0, &problems);
  return problems.ToStatus("the manifest describes no ensemble");
}

}  // namespace sightline
