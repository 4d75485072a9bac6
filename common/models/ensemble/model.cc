// The family "ensemble": a cross-encoder made of cross-encoders, whose score is the mean of
// its members' scores as probabilities (ToProbability; of sigmoids the scores themselves).
// SGRAF is one of a SAF and an SGR.
//
// Members lie inside the bundle, at `members/<i>/`; each makes item features of its own, which
// travel together, tensor t of member i as "m<i>_<t>".
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/models/family_models.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

std::string MemberFolder(int member) {
  return absl::StrCat("members/", member, "/");
}

// The member's part of the bundle, as a bundle.
ModelBundle MemberOf(const ModelBundle& bundle, int member) {
  ModelBundle part;
  part.id = bundle.id;
  part.directory = JoinPath(bundle.directory, absl::StrCat("members/", member));
  part.manifest = bundle.manifest.members(member);
  part.manifest.clear_files();
  for (const bundle::v1::BundleFile& file : bundle.manifest.files()) {
    absl::string_view path = file.path();
    if (!absl::ConsumePrefix(&path, MemberFolder(member))) continue;
    bundle::v1::BundleFile* own = part.manifest.add_files();
    *own = file;
    own->set_path(std::string(path));
  }
  return part;
}

using Members = std::vector<std::shared_ptr<const Model>>;

class EnsembleCrossEncoder : public CrossEncoder {
 public:
  explicit EnsembleCrossEncoder(Members members) : members_(std::move(members)) {}

  ItemFeatures PrepareText(const Tokens& text) const override {
    ItemFeatures features;
    for (size_t i = 0; i < members_.size(); ++i) {
      Append(member(i).PrepareText(text.members[i]), &features);
    }
    return features;
  }

  absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(absl::Span<const ImageInput> images,
                                                          const CallContext& call) const override {
    std::vector<ItemFeatures> features(images.size());
    for (size_t i = 0; i < members_.size(); ++i) {
      ASSIGN_OR_RETURN(std::vector<ItemFeatures> parts, member(i).PrepareImages(images, call));
      for (size_t j = 0; j < parts.size(); ++j) Append(std::move(parts[j]), &features[j]);
    }
    return features;
  }

  absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                           const CallContext& call) const override {
    std::vector<double> sums(pairs.size());
    for (size_t i = 0; i < members_.size(); ++i) {
      const auto scores = member(i).Score(pairs, call);
      if (!scores.ok()) return Named(i, scores.status());
      for (size_t j = 0; j < sums.size(); ++j) {
        sums[j] += ToProbability(member(i).score_kind(), (*scores)[j]);
      }
    }
    std::vector<float> means;
    for (const double sum : sums) means.push_back(static_cast<float>(sum / members_.size()));
    return means;
  }

  int64_t Cost(const ScoringPair& pair) const override {
    int64_t cost = 0;
    for (size_t i = 0; i < members_.size(); ++i) cost += member(i).Cost(pair);
    return cost;
  }

  ScoreKind score_kind() const override { return ScoreKind::kSigmoid; }

 private:
  const CrossEncoder& member(size_t i) const { return *members_[i]->cross_encoder(); }

  static absl::Status Named(size_t member, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("member ", member, ": ", status.message()));
  }

  static void Append(ItemFeatures part, ItemFeatures* features) {
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(features->tensors));
  }

  const Members members_;
};

// Widths that every member takes.
std::vector<int> WidthsOfAll(const Members& members) {
  std::vector<int> widths = members[0]->region_feature_sizes();
  for (const auto& member : members) {
    const std::vector<int> own = member->region_feature_sizes();
    widths.erase(
        std::remove_if(widths.begin(), widths.end(),
                       [&](int width) { return std::count(own.begin(), own.end(), width) == 0; }),
        widths.end());
  }
  return widths;
}

class EnsembleModel : public Model {
 public:
  EnsembleModel(std::string id, Members members)
      : id_(std::move(id)),
        region_feature_sizes_(WidthsOfAll(members)),
        members_(std::move(members)),
        cross_encoder_(members_) {}

  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const override {
    Tokens tokens;
    for (const auto& member : members_) {
      ASSIGN_OR_RETURN(tokens.members.emplace_back(), member->Tokenize(text));
    }
    return tokens;
  }
  const TextEncoder* text_encoder() const override { return nullptr; }
  const ImageEncoder* image_encoder() const override { return nullptr; }
  const CrossEncoder* cross_encoder() const override { return &cross_encoder_; }
  const RegionExtractor* region_extractor() const override { return nullptr; }
  std::vector<int> region_feature_sizes() const override { return region_feature_sizes_; }
  const std::string& id() const override { return id_; }
  const std::string& space() const override { return space_; }
  int dimension() const override { return 0; }

 private:
  const std::string id_;
  const std::string space_;
  const std::vector<int> region_feature_sizes_;
  const Members members_;
  const EnsembleCrossEncoder cross_encoder_;
};

absl::StatusOr<std::shared_ptr<const Model>> LoadEnsemble(const ModelBundle& bundle,
                                                          const ModelOptions& options) {
  Members members;
  for (int i = 0; i < bundle.manifest.members_size(); ++i) {
    ModelOptions own = options;
    own.feature_prefix = absl::StrCat("m", i, "_");
    auto member = LoadModel(MemberOf(bundle, i), own);
    if (!member.ok()) {
      return absl::Status(member.status().code(),
                          absl::StrCat("member ", i, ": ", member.status().message()));
    }
    members.push_back(*std::move(member));
  }
  return std::make_shared<EnsembleModel>(bundle.id, std::move(members));
}

absl::StatusOr<std::string> NoInitialWeights(const ModelBundleManifest&, uint64_t, WeightDtype) {
  return absl::InvalidArgumentError("an ensemble is made of bundles, not of weights");
}

}  // namespace

const FamilyModel ensemble::kModel = {&LoadEnsemble, &NoInitialWeights, nullptr};

}  // namespace sightline
