#include "common/training/frozen_models.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/trainable.h"
#include "common/training/corpus_outputs.h"
#include "common/training/learner_outputs.h"

namespace sightline {
namespace {

absl::Status Named(const absl::Status& status, absl::string_view what, const std::string& name) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(what, " ", name, ": ", status.message()));
}

absl::Status Require(bool has_it, absl::string_view what) {
  if (has_it) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, "; name another bundle"));
}

}  // namespace

absl::Status FrozenModels::Add(const std::string& name, const NamedBundles& bundles,
                               const PairCorpus& corpus, const TrainableOptions& options,
                               const CallContext& call) {
  if (models_.count(name) > 0) return absl::OkStatus();
  const auto bundle = bundles.find(name);
  if (bundle == bundles.end()) {
    return absl::InvalidArgumentError("the recipe names it, but the job does not have it");
  }
  Model model;
  ASSIGN_OR_RETURN(model.network, LoadTrainable(*bundle->second, options));
  model.pairs = std::make_unique<LearntPairs>(&corpus, model.network.get());
  RETURN_IF_ERROR(model.pairs->ReadCaptions());
  RETURN_IF_ERROR(model.pairs->ReadPictures(call));
  models_[name] = std::move(model);
  return absl::OkStatus();
}

absl::StatusOr<FrozenModels> FrozenModels::Load(const Recipe& recipe, const NamedBundles& bundles,
                                                const PairCorpus& corpus, c10::Device device,
                                                const CallContext& call) {
  TrainableOptions options;
  options.device = device;
  options.bfloat16 = recipe.precision == Precision::kBfloat16;
  FrozenModels models;
  for (const TaskRecipe& task : recipe.tasks) {
    if (task.teacher.empty()) continue;
    RETURN_IF_ERROR(Named(models.Add(task.teacher, bundles, corpus, options, call), "the teacher",
                          task.teacher));
    const TrainableNetwork& teacher = models.Find(task.teacher)->learner();
    RETURN_IF_ERROR(Named(Require(teacher.has_cross_encoder, "it scores no pairs"), "the teacher",
                          task.teacher));
  }
  if (recipe.retriever.empty()) return models;
  RETURN_IF_ERROR(Named(models.Add(recipe.retriever, bundles, corpus, options, call),
                        "the retriever", recipe.retriever));
  const TrainableNetwork& retriever = models.Find(recipe.retriever)->learner();
  RETURN_IF_ERROR(
      Named(Require(retriever.has_towers, "it embeds nothing"), "the retriever", recipe.retriever));
  return models;
}

const LearntPairs* FrozenModels::Find(const std::string& name) const {
  const auto found = models_.find(name);
  return found == models_.end() ? nullptr : found->second.pairs.get();
}

absl::StatusOr<at::Tensor> ScoresOfTeacher(const LearntPairs& teacher,
                                           absl::Span<const std::pair<int64_t, int64_t>> captioned,
                                           const CallContext& call) {
  ASSIGN_OR_RETURN(const at::Tensor scores, ScoreCaptioned(teacher, captioned, call));
  return PairLogitsOf(teacher.learner(), scores);
}

std::string DescribeBundles(const Recipe& recipe, const NamedBundles& bundles) {
  std::string text;
  for (size_t i = 0; i < recipe.tasks.size(); ++i) {
    const std::string& teacher = recipe.tasks[i].teacher;
    if (teacher.empty()) continue;
    absl::StrAppend(&text, "tasks.", i, ".teacher=", bundles.at(teacher)->id, "\n");
  }
  if (!recipe.retriever.empty()) {
    absl::StrAppend(&text, "retriever=", bundles.at(recipe.retriever)->id, "\n");
  }
  return text;
}

}  // namespace sightline
