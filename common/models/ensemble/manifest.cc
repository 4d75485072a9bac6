#include "common/models/ensemble/manifest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

// The members are given the same regions.
void CheckWidths(const ModelBundleManifest& manifest, Problems* problems) {
  std::vector<int> common;
  std::vector<std::string> listed;
  for (const ModelBundleManifest& member : manifest.members()) {
    const std::vector<int> widths = RegionFeatureSizesOf(member);
    if (widths.empty()) continue;  // it can be no member, which is told by itself
    if (listed.empty()) common = widths;
    listed.push_back(absl::StrJoin(widths, " or "));
    common.erase(std::remove_if(common.begin(), common.end(),
                                [&](int width) {
                                  return std::find(widths.begin(), widths.end(), width) ==
                                         widths.end();
                                }),
                 common.end());
  }
  problems->Require(listed.empty() || !common.empty(),
                    absl::StrCat("its members read region features of different widths: ",
                                 absl::StrJoin(listed, ", ")));
}

absl::Status Check(const ModelBundleManifest& manifest) {
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

const FamilyManifest ensemble::kManifest = {&Check, /*region_reading=*/nullptr,
                                            /*least_weight_count=*/nullptr};

}  // namespace sightline
