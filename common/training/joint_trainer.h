// Trains a joint bi- and cross-encoder from nothing ("Retrieve Fast, Rerank Smart", Geigle
// et al., 2022) and writes it as a model bundle that servers load.
//
// Stages: "text", which may be left out, teaches words from texts without pictures.  "bi":
// the bi-encoder alone, until it finds roughly the right pictures.
// "joint": bi steps and cross steps in turn; a cross step tells a match from the wrong
// pictures that the bi-encoder itself puts on top, found anew every few epochs.  Or, with
// the bundle of another run as retriever, cross steps alone: two models from two runs.
//
//   TrainingJob job;
//   job.set = set.get();
//   job.manifest = SmallOscarManifest();
//   ...
//   ASSIGN_OR_RETURN(const TrainingResult result, TrainJointModel(job, &observer, call));
//
// A run is a function of its job: all that is random in a step comes from the seed and the
// step's number.  So a run that was killed continues from its newest checkpoint and, on
// one thread of a CPU, ends in the same bits as one that was not.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_JOINT_TRAINER_H_
#define SIGHTLINE_COMMON_TRAINING_JOINT_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/bundle/model_bundle.h"
#include "common/embedding/score.h"
#include "common/training/training_options.h"
#include "common/training/training_set.h"

namespace sightline {

enum class TrainingStage { kText, kBi, kJoint };

// "text", "bi", "joint".
absl::string_view TrainingStageName(TrainingStage stage);

// Means over the steps since the last report.
struct StepReport {
  TrainingStage stage = TrainingStage::kBi;
  int64_t step = 0;   // done in this stage, bi and cross steps alike
  int64_t steps = 0;  // of this stage
  double epoch = 0;   // of the stage's own kind
  double bi_loss = 0;
  double bi_accuracy = 0;  // captions whose picture came first in its batch
  // Of concepts, in the text stage or beside bi steps; 0 without.
  double concept_loss = 0;
  double cross_loss = 0;
  double cross_accuracy = 0;  // problems whose match came first
  bool has_bi = false;        // whether there was a bi step among them
  bool has_cross = false;
  double rate = 0;  // of the last step
  double gradient_norm = 0;
  double temperature = 0;
  double items_per_second = 0;  // rows and problems
  absl::Duration elapsed;       // of this process
  absl::Duration remaining;     // of this stage, at the speed of these steps
};

// Share of queries, in percent, with a right answer among the first k.
struct Recall {
  double at1 = 0;
  double at5 = 0;
  double at10 = 0;
  double mean_reciprocal_rank = 0;  // 0 to 1; 0 beyond the candidates
};

// What one way of ordering the first `depth` candidates gives.
struct CombinedRecall {
  Combination combination;
  Recall recall;
};

// Text to image: the first caption of each captioned row asks, all pictures of the set
// are the pool; right is any picture with a caption of the same words, and any equal to
// the row's own.  Image to text: such a row's picture asks, the captions of the set are the
// pool; right is any of the same words as one of the row's.  Captions of held-out rows are
// never read: their pictures are wrong answers.
struct QueriesReport {
  int64_t queries = 0;
  Recall retrieval;
  // Of the joint stage only: reordered by the cross-encoder alone.
  Recall reranked;
  // The best of all combinations and weights 0.1 to 0.9; `replace` is one of them.
  CombinedRecall best;
};

// What a bundle should declare for that direction: the best combination, and reranking by
// default only if that finds more than retrieval alone.
DeclaredCombination ChoiceOf(const QueriesReport& report);

struct ValidationReport {
  TrainingStage stage = TrainingStage::kBi;
  int64_t step = 0;
  double epoch = 0;
  bool has_reranking = false;
  int64_t pool = 0;  // pictures
  int64_t captions_pool = 0;
  QueriesReport validation;     // text to image, rows of use kValidation
  QueriesReport training;       // likewise, a fixed sample of rows that were learnt from
  QueriesReport image_to_text;  // with reranking only; rows of use kValidation
  absl::Duration took;
};

struct CheckpointReport {
  TrainingStage stage = TrainingStage::kBi;
  int64_t step = 0;
  std::string path;
  int64_t byte_count = 0;
};

// Called in the training thread, between steps; a cancellation from inside takes effect
// before the next step.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void OnStep(const StepReport& report) = 0;
  virtual void OnValidation(const ValidationReport& report) = 0;
  virtual void OnCheckpoint(const CheckpointReport& report) = 0;
  // What people should know of: "continues at ...", hard negatives found anew.
  virtual void OnNote(absl::string_view message) = 0;
  // What they should look into: a damaged checkpoint.
  virtual void OnWarning(absl::string_view message) = 0;
};

struct TrainingJob {
  const TrainingSet* set = nullptr;
  // What to build.  Vocabulary size, image size and token count must be the set's
  // (transformer.vocabulary_size may be 0); description, if empty, tells how it was
  // trained.
  bundle::v1::ModelBundleManifest manifest;
  // Text of the vocab.txt that the set was made with.
  std::string vocabulary;
  // The bundle is written below it.
  std::string store;
  TrainingOptions options;
  // A bundle of an earlier job, of the same manifest but for the cross-encoder, whose weights
  // this one begins with, or null: with random ones.
  const ModelBundle* start = nullptr;
  // Likewise, and not beside `start`.  With it the job trains a cross-encoder for what that bundle
  // retrieves: it begins with its weights, makes no bi steps (bi.epochs and
  // joint.cross_steps_per_bi must be 0), and takes hard negatives and validation's candidates from
  // it.  The bundle that is written reranks and does not embed.
  const ModelBundle* retriever = nullptr;

  // "cpu", "cuda", "cuda:1", or "auto": a GPU if LibTorch has one.
  std::string device = "auto";
  // Of LibTorch on the CPU; 0 leaves its own choice.
  int threads = 0;
  // Empty for none.  A folder that this job has for itself: on start the newest sound
  // checkpoint in it is taken up, and the two newest are kept.
  std::string checkpoint_directory;
  // Time from one checkpoint to the next; one is written, too, at the stages' border, at
  // the end, and when the call is cancelled or its deadline has come.
  absl::Duration checkpoint_every = absl::Minutes(10);
  // Steps from one OnStep to the next.
  int64_t report_every = 50;
};

struct TrainingResult {
  ModelBundle bundle;
  // Of the averaged weights, in the precision of the training; what was written of them
  // is float16, and served in float32.
  ValidationReport validation;
  std::string device;  // that was used: "cpu", "cuda:0"
};

// Trains, then writes the bundle.  Blocks; uses the calling thread and LibTorch's own.
// `observer` is not null.
//
// InvalidArgument: options, a manifest or a vocabulary that do not fit the set (all
// problems of each at once), a set with nothing to learn from, a device that is not
// there.  FailedPrecondition: the newest checkpoint is of another job; the message names
// each difference.  Cancelled, DeadlineExceeded: `call` ended; the checkpoint written
// last is where the same job continues.  Internal: a loss that is not finite, or what
// LibTorch throws; ResourceExhausted: no memory left.
absl::StatusOr<TrainingResult> TrainJointModel(const TrainingJob& job, TrainingObserver* observer,
                                               const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_JOINT_TRAINER_H_
