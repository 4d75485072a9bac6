#include "services/trainer/train_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/named_bundle.h"
#include "services/trainer/model_config.h"
#include "services/trainer/prepared_folder.h"
#include "services/trainer/run_log.h"

namespace sightline {
namespace {

// The bundle `id` of the store; null if there is no id.
absl::StatusOr<std::unique_ptr<ModelBundle>> OpenEarlier(const std::string& store,
                                                         const std::string& id) {
  if (id.empty()) return nullptr;
  ASSIGN_OR_RETURN(ModelBundle bundle, OpenStoredBundle(store, id, /*verify_checksums=*/true));
  return std::make_unique<ModelBundle>(std::move(bundle));
}

}  // namespace

absl::StatusOr<TrainingInput> OpenTrainingInput(const TrainConfig& config,
                                                const CallContext& call) {
  TrainingInput input;
  TrainingJob& job = input.job;
  ASSIGN_OR_RETURN(job.manifest, ReadTrainableModelConfig(config.model_config));
  // The demo's manifest says that its weights are random.
  if (config.model_config.empty()) job.manifest.clear_description();
  if (!config.description.empty()) job.manifest.set_description(config.description);
  const std::string set_path = JoinPath(config.data, kTrainingSetFile);
  absl::StatusOr<std::unique_ptr<TrainingSet>> set = TrainingSet::Open(set_path, call);
  if (absl::IsNotFound(set.status())) {
    return absl::NotFoundError(
        absl::StrCat(set_path, " is not there; make it with: trainer prepare --out ", config.data));
  }
  ASSIGN_OR_RETURN(input.set, std::move(set));
  const std::string vocabulary_path = JoinPath(config.data, kVocabularyFile);
  ASSIGN_OR_RETURN(job.vocabulary, ReadFile(vocabulary_path, limits::kMaxVocabularyBytes));
  if (Sha256Hex(job.vocabulary) != input.set->vocabulary_sha256()) {
    return absl::FailedPreconditionError(
        absl::StrCat(vocabulary_path, " is not the vocabulary that ", set_path,
                     " was made with; run `trainer prepare` again"));
  }
  job.set = input.set.get();
  ASSIGN_OR_RETURN(input.start, OpenEarlier(config.store, config.start));
  ASSIGN_OR_RETURN(input.retriever, OpenEarlier(config.store, config.retriever));
  job.start = input.start.get();
  job.retriever = input.retriever.get();
  job.store = config.store;
  job.options = config.options;
  job.device = config.device;
  job.threads = config.threads;
  job.checkpoint_directory = JoinPath(config.out, kCheckpointFolder);
  job.checkpoint_every = config.checkpoint_every;
  job.report_every = config.report_every;
  RETURN_IF_ERROR(MakeDirectories(job.checkpoint_directory));
  RETURN_IF_ERROR(MakeDirectories(ModelDirectory(config.store, "")));
  return input;
}

}  // namespace sightline
