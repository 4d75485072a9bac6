#include "common/models/init_model.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle_file.h"
#include "common/formats/safetensors.h"
#include "common/models/convert/checkpoint.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/inputs/pretraining_heads.h"
#include "common/models/oscar/small_manifest.h"

namespace sightline {
namespace {

absl::Status FitVocabulary(absl::string_view vocabulary,
                           bundle::v1::ModelBundleManifest* manifest) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                   NewTokenizer(manifest->tokenizer(), vocabulary));
  if (VocabularySizeOf(*manifest) == 0) SetVocabularySize(tokenizer->vocabulary_size(), manifest);
  if (VocabularySizeOf(*manifest) == tokenizer->vocabulary_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the vocabulary has ", tokenizer->vocabulary_size(), " tokens, but vocabulary_size is ",
      VocabularySizeOf(*manifest), "; leave it 0 to take the vocabulary's"));
}

// `manifest` is completed.
absl::StatusOr<std::string> RandomWeights(absl::string_view vocabulary, const InitOptions& options,
                                          bundle::v1::ModelBundleManifest* manifest) {
  ASSIGN_OR_RETURN(const FamilyModel* family, FindFamilyModel(manifest->family()));
  RETURN_IF_ERROR(FitVocabulary(vocabulary, manifest));
  RETURN_IF_ERROR(CheckManifest(*manifest));
  return family->initial_weights(*manifest, options.seed, options.dtype);
}

absl::StatusOr<ModelBundle> Write(absl::string_view store, bundle::v1::ModelBundleManifest manifest,
                                  absl::string_view vocabulary, std::string weights) {
  std::map<std::string, std::string> files;
  files[manifest.tokenizer().vocabulary_file()] = std::string(vocabulary);
  files[std::string(kWeightsFile)] = std::move(weights);
  return WriteModelBundle(store, std::move(manifest), files);
}

using Tensors = std::map<std::string, TensorView>;

bool HoldsIntegers(TensorDtype dtype) {
  return dtype != TensorDtype::kF64 && dtype != TensorDtype::kF32 && dtype != TensorDtype::kF16 &&
         dtype != TensorDtype::kBf16;
}

// A model's tensors on their way from random ones to those of others.
class Mixture {
 public:
  // Random ones of a model of `manifest`; both outlive the object, and so does all that is taken.
  Mixture(const Safetensors& random, const bundle::v1::ModelBundleManifest& manifest)
      : manifest_(manifest), tensors_(random.tensors()) {
    for (const auto& item : tensors_) drawn_.insert(item.first);
  }

  // Takes what is still random and there by its name and of its shape, and whole heads of
  // pre-training.  Returns how many tensors that are.
  int64_t Take(const Tensors& held) {
    int64_t taken = 0;
    for (auto name = drawn_.begin(); name != drawn_.end();) {
      TensorView& tensor = tensors_.at(*name);
      const auto found = held.find(*name);
      const bool fits = found != held.end() && found->second.shape == tensor.shape &&
                        HoldsIntegers(found->second.dtype) == HoldsIntegers(tensor.dtype);
      if (fits) tensor = found->second;
      taken += fits ? 1 : 0;
      name = fits ? drawn_.erase(name) : std::next(name);
    }
    if (!HoldsPretrainingHeads(manifest_.family())) return taken;
    const FoundHeads heads = FindPretrainingHeads(held, manifest_.transformer());
    for (const auto& head : heads.tensors) {
      taken += tensors_.insert(head).second ? 1 : 0;
    }
    return taken;
  }

  const Tensors& tensors() const { return tensors_; }
  std::vector<std::string> drawn() const { return {drawn_.begin(), drawn_.end()}; }

 private:
  const bundle::v1::ModelBundleManifest& manifest_;
  Tensors tensors_;
  std::set<std::string> drawn_;  // names of those that are random
};

absl::Status NothingTaken(absl::string_view whose) {
  return absl::InvalidArgumentError(
      absl::StrCat(whose,
                   " has no tensor of a name and a shape that the model would have; its widths "
                   "and the configuration's have to be the same"));
}

absl::StatusOr<Tensors> Renamed(const Tensors& tensors, const Renames& renames,
                                absl::string_view whose) {
  for (const auto& [from, to] : renames) {
    const bool any = std::any_of(tensors.begin(), tensors.end(),
                                 [from = absl::string_view(from)](const auto& t) {
                                   return absl::StartsWith(t.first, from);
                                 });
    if (any) continue;
    return absl::InvalidArgumentError(absl::StrCat(whose,
                                                   " has no tensor whose name begins with \"", from,
                                                   "\", which is to be \"", to, "\""));
  }
  Tensors renamed, kept;
  for (const auto& [name, tensor] : tensors) {
    const auto rename = std::find_if(renames.begin(), renames.end(),
                                     [name = absl::string_view(name)](const auto& r) {
                                       return absl::StartsWith(name, r.first);
                                     });
    if (rename == renames.end()) {
      kept.emplace(name, tensor);
      continue;
    }
    const std::string now =
        absl::StrCat(rename->second, absl::string_view(name).substr(rename->first.size()));
    if (!renamed.emplace(now, tensor).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(whose, " has two tensors that are to be \"", now, "\"; leave one as it is"));
    }
  }
  // Does not take the place of what is there already.
  renamed.insert(kept.begin(), kept.end());
  return renamed;
}

// Puts the tensors of `other` that fit into the place of those of `weights`, which are of a model
// of `manifest`.
absl::StatusOr<std::string> Borrow(const ModelBundle& other, const Renames& renames,
                                   absl::string_view weights,
                                   const bundle::v1::ModelBundleManifest& manifest,
                                   BorrowedModel* borrowed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> memory,
                   ReadBundleFile(other, kWeightsFile));
  ASSIGN_OR_RETURN(const auto held, Safetensors::FromBytes(absl::string_view(
                                        memory->data(), static_cast<size_t>(memory->size()))));
  ASSIGN_OR_RETURN(const auto random, Safetensors::FromBytes(weights));
  Mixture mixture(*random, manifest);
  ASSIGN_OR_RETURN(const Tensors renamed, Renamed(held->tensors(), renames, other.directory));
  borrowed->taken = mixture.Take(renamed);
  borrowed->drawn = mixture.drawn();
  if (borrowed->taken == 0) {
    return NothingTaken(
        absl::StrCat(other.directory, ", of the family ", other.manifest.family(), ","));
  }
  return SerializeSafetensors(mixture.tensors());
}

// The same from checkpoints.
absl::StatusOr<std::string> BorrowFrom(const std::vector<WeightsSource>& sources,
                                       absl::string_view weights,
                                       const bundle::v1::ModelBundleManifest& manifest,
                                       BorrowedModel* borrowed) {
  ASSIGN_OR_RETURN(const auto random, Safetensors::FromBytes(weights));
  Mixture mixture(*random, manifest);
  std::vector<std::unique_ptr<Checkpoint>> checkpoints;  // which tensors are views into
  for (const WeightsSource& source : sources) {
    ASSIGN_OR_RETURN(checkpoints.emplace_back(), Checkpoint::Open(source.path, /*config=*/""));
    ASSIGN_OR_RETURN(const Tensors renamed,
                     Renamed(checkpoints.back()->tensors(), source.renames, source.path));
    const int64_t taken = mixture.Take(renamed);
    if (taken == 0) return NothingTaken(source.path);
    borrowed->taken += taken;
  }
  borrowed->drawn = mixture.drawn();
  return SerializeSafetensors(mixture.tensors());
}

}  // namespace

absl::StatusOr<ModelBundle> InitModel(absl::string_view store,
                                      bundle::v1::ModelBundleManifest manifest,
                                      absl::string_view vocabulary, const InitOptions& options) {
  ASSIGN_OR_RETURN(std::string weights, RandomWeights(vocabulary, options, &manifest));
  return Write(store, std::move(manifest), vocabulary, std::move(weights));
}

absl::StatusOr<BorrowedModel> InitModelFrom(const ModelBundle& other, absl::string_view store,
                                            bundle::v1::ModelBundleManifest manifest,
                                            const InitOptions& options, const Renames& renames) {
  if (!other.manifest.has_tokenizer()) {
    return absl::InvalidArgumentError(
        absl::StrCat(other.directory, ", of the family ", other.manifest.family(),
                     ", has no vocabulary of its own; name a bundle that it was made of"));
  }
  const bundle::v1::TokenizerSpec &read = other.manifest.tokenizer(), &own = manifest.tokenizer();
  if (read.kind() != own.kind() || read.lowercase() != own.lowercase()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the vocabulary of ", other.directory, " is of kind ",
        bundle::v1::TokenizerSpec::Kind_Name(read.kind()), read.lowercase() ? ", lowercase" : "",
        ", and the configuration's tokenizer of ", bundle::v1::TokenizerSpec::Kind_Name(own.kind()),
        own.lowercase() ? ", lowercase" : "", "; they have to be the same"));
  }
  ASSIGN_OR_RETURN(const std::string vocabulary,
                   ReadFile(other.FilePath(other.manifest.tokenizer().vocabulary_file()),
                            limits::kMaxVocabularyBytes));
  BorrowedModel borrowed;
  ASSIGN_OR_RETURN(std::string weights, RandomWeights(vocabulary, options, &manifest));
  ASSIGN_OR_RETURN(weights, Borrow(other, renames, weights, manifest, &borrowed));
  ASSIGN_OR_RETURN(borrowed.bundle,
                   Write(store, std::move(manifest), vocabulary, std::move(weights)));
  return borrowed;
}

absl::StatusOr<BorrowedModel> InitModelFrom(const std::vector<WeightsSource>& sources,
                                            absl::string_view store,
                                            bundle::v1::ModelBundleManifest manifest,
                                            absl::string_view vocabulary,
                                            const InitOptions& options) {
  BorrowedModel borrowed;
  ASSIGN_OR_RETURN(std::string weights, RandomWeights(vocabulary, options, &manifest));
  ASSIGN_OR_RETURN(weights, BorrowFrom(sources, weights, manifest, &borrowed));
  ASSIGN_OR_RETURN(borrowed.bundle,
                   Write(store, std::move(manifest), vocabulary, std::move(weights)));
  return borrowed;
}

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadModelConfig(const std::string& path) {
  if (path.empty()) return SmallOscarManifest();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxModelConfigBytes));
  bundle::v1::ModelBundleManifest manifest;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &manifest);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not the JSON of a ModelBundleManifest: ",
                     std::string(parsed.message().data(), parsed.message().size())));
  }
  return manifest;
}

}  // namespace sightline
