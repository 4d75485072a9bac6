#include "common/training/joint_trainer.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch.hpp"
#include "common/base/files.h"
#include "common/models/model.h"
#include "tests/common/training/tiny_training.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Writes down what it is told, and may do something after each step.
class Recorder : public TrainingObserver {
 public:
  std::function<void()> after_step = [] {};

  void OnStep(const StepReport& report) override {
    steps.push_back(report);
    after_step();
  }
  void OnValidation(const ValidationReport& report) override { validations.push_back(report); }
  void OnCheckpoint(const CheckpointReport& report) override { checkpoints.push_back(report); }
  void OnNote(absl::string_view message) override { notes.emplace_back(message); }

  bool Noted(absl::string_view text) const {
    for (const std::string& note : notes) {
      if (absl::StrContains(note, text)) return true;
    }
    return false;
  }

  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;
  std::vector<CheckpointReport> checkpoints;
  std::vector<std::string> notes;
};

class Fixture {
 public:
  TrainingJob Job(const TrainingOptions& options = TinyTrainingOptions()) const {
    TrainingJob job;
    job.set = set_.get();
    job.manifest = TinyTrainingManifest();
    job.vocabulary = TinyTrainingVocabulary();
    job.store = dir_.File("store");
    job.options = options;
    job.device = "cpu";
    job.threads = 1;
    job.report_every = 1;
    return job;
  }

  absl::StatusOr<TrainingResult> Train(const TrainingJob& job, Recorder* recorder) const {
    return TrainJointModel(job, recorder, CallContext::Unbounded());
  }

  // Cancels the run when `steps` steps were done in this process.
  absl::Status TrainFor(const TrainingJob& job, size_t steps) const {
    Recorder recorder;
    const CallContext call = CallContext::Unbounded();
    recorder.after_step = [&] {
      if (recorder.steps.size() == steps) call.cancellation()->Cancel();
    };
    return TrainJointModel(job, &recorder, call).status();
  }

  std::string NewFolder() const { return dir_.File(absl::StrCat("checkpoints", folders_++)); }

  // The newest checkpoint: weights, moments, average, hard negatives, all in full.
  std::string NewestBytes(const std::string& folder) const {
    const auto names = ListDirectory(folder);
    REQUIRE(names.ok());
    const auto bytes = ReadFile(JoinPath(folder, names->back()));
    REQUIRE(bytes.ok());
    return *bytes;
  }

 protected:
  const TinyTrainingSet set_;
  const TempDir dir_;
  mutable int folders_ = 0;
};

TrainingOptions LongEnough() {
  TrainingOptions options = TinyTrainingOptions();
  options.captions.first = 1;
  options.bi.epochs = 40;
  options.bi.batch_size = 12;
  options.joint.epochs = 240;
  options.joint.cross_steps_per_bi = 4;
  options.joint.queries = 12;
  options.joint.mine_every = 10;
  options.joint.pass_rows = 100000;
  options.validation.every = 0;
  return options;
}

TEST_CASE_METHOD(Fixture, "what was learnt is found, by retrieval and by the cross-encoder") {
  Recorder recorder;
  TrainingJob job = Job(LongEnough());
  job.report_every = 50;
  const auto result = Train(job, &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->validation.has_reranking);
  REQUIRE(result->validation.training.queries == 12);
  REQUIRE(result->validation.pool == 21);
  REQUIRE(result->validation.training.retrieval.at1 == 100);
  REQUIRE(result->validation.training.reranked.at1 == 100);
  REQUIRE(result->device == "cpu");
}

TEST_CASE_METHOD(Fixture, "the bundle is a model that servers load") {
  Recorder recorder;
  const auto result = Train(Job(), &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
  const auto& spec = result->bundle.manifest.cross_encoder();
  const Combination& best = result->validation.validation.best.combination;
  REQUIRE(spec.combination() == CombinationKindName(best.kind));
  REQUIRE(spec.combination_lambda() == best.lambda);
  REQUIRE(absl::StrContains(result->bundle.manifest.description(), "2 epochs as bi-encoder"));
  const auto opened = OpenModelBundle(result->bundle.directory, /*verify_checksums=*/true);
  REQUIRE(opened.ok());
  const auto model = LoadModel(*opened, ModelOptions());
  INFO(model.status());
  REQUIRE(model.ok());
  REQUIRE((*model)->cross_encoder() != nullptr);
  const auto tokens = (*model)->text_encoder()->Tokenize("word1 word2");
  REQUIRE(tokens.ok());
  REQUIRE(tokens->ids == std::vector<int32_t>{2, 6, 7, 3});
}

TEST_CASE_METHOD(Fixture, "without joint epochs the bundle has no cross-encoder") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.epochs = 0;
  Recorder recorder;
  const auto result = Train(Job(options), &recorder);
  REQUIRE(result.ok());
  REQUIRE_FALSE(result->bundle.manifest.has_cross_encoder());
  REQUIRE_FALSE(result->validation.has_reranking);
  REQUIRE(LoadModel(result->bundle, ModelOptions()).ok());
}

TEST_CASE_METHOD(Fixture, "the combination that is asked for is declared") {
  TrainingOptions options = TinyTrainingOptions();
  options.combination = "norm_add_lambda";
  options.combination_lambda = 0.25;
  Recorder recorder;
  const auto result = Train(Job(options), &recorder);
  REQUIRE(result.ok());
  REQUIRE(result->bundle.manifest.cross_encoder().combination() == "norm_add_lambda");
  REQUIRE(result->bundle.manifest.cross_encoder().combination_lambda() == 0.25f);
}

TEST_CASE_METHOD(Fixture, "reports follow the plan") {
  Recorder recorder;
  TrainingJob job = Job();
  job.checkpoint_directory = NewFolder();
  REQUIRE(Train(job, &recorder).ok());
  // 12 rows: 3 bi steps an epoch; 3 cross steps an epoch, a bi step before each.
  REQUIRE(recorder.steps.size() == 6 + 12);
  REQUIRE(recorder.steps[5].stage == TrainingStage::kBi);
  REQUIRE(recorder.steps[5].step == 6);
  REQUIRE(recorder.steps[5].has_bi);
  REQUIRE_FALSE(recorder.steps[5].has_cross);
  REQUIRE(recorder.steps[7].has_cross);
  REQUIRE(recorder.steps[17].epoch == 2);
  REQUIRE(recorder.steps[17].cross_loss > 0);
  REQUIRE(recorder.validations.size() == 4);
  REQUIRE(recorder.validations[0].validation.queries == 3);
  // At the border and at the end; the interval is longer than the run.
  REQUIRE(recorder.checkpoints.size() == 2);
  REQUIRE(recorder.checkpoints[1].step == 12);
}

// Every kind of place to be stopped at: within a stage, at the border, behind a bi step,
// behind the mining of hard negatives, before new copies, one step before the end.
TEST_CASE_METHOD(Fixture, "a run that was stopped ends in the bits of one that was not") {
  TrainingOptions options = TinyTrainingOptions();
  options.dropout = 0.1;
  options.augment.shift = 0.1;
  options.augment.brightness = 0.2;
  options.captions.token_dropout = 0.3;
  options.joint.freeze_grid = GENERATE(true, false);
  TrainingJob job = Job(options);
  job.checkpoint_directory = NewFolder();
  Recorder undisturbed;
  const auto expected = Train(job, &undisturbed);
  REQUIRE(expected.ok());
  const std::string bytes = NewestBytes(job.checkpoint_directory);
  for (const std::vector<size_t>& stops :
       std::vector<std::vector<size_t>>{{1}, {4}, {6}, {7}, {8}, {12, 1}, {2, 4, 3}, {17}}) {
    job.checkpoint_directory = NewFolder();
    for (const size_t steps : stops) {
      REQUIRE(TrainFor(job, steps).code() == absl::StatusCode::kCancelled);
    }
    Recorder recorder;
    const auto result = Train(job, &recorder);
    INFO("stopped first after " << stops[0]);
    REQUIRE(result.ok());
    REQUIRE(recorder.Noted("continues behind step"));
    REQUIRE(NewestBytes(job.checkpoint_directory) == bytes);
    REQUIRE(result->bundle.id == expected->bundle.id);
  }
}

TEST_CASE_METHOD(Fixture, "tokens that are left out change what is learnt") {
  TrainingOptions options = TinyTrainingOptions();
  Recorder recorder;
  const auto whole = Train(Job(options), &recorder);
  options.captions.token_dropout = 0.5;
  const auto less = Train(Job(options), &recorder);
  REQUIRE(whole.ok());
  REQUIRE(less.ok());
  REQUIRE(whole->bundle.id != less->bundle.id);
}

TEST_CASE_METHOD(Fixture, "concepts teach the words of their texts, by either loss") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.epochs = 0;
  options.bi.loss = GENERATE(BiLoss::kContrastive, BiLoss::kHinge);
  options.bi.epochs = 60;
  Recorder without, with;
  REQUIRE(Train(Job(options), &without).ok());
  REQUIRE(without.steps.back().concept_loss == 0);
  options.bi.concepts = 5;
  const auto result = Train(Job(options), &with);
  REQUIRE(result.ok());
  REQUIRE(with.steps.back().concept_loss < with.steps.front().concept_loss / 2);
  // The texts of a concept end closer to each other than to another's.
  const auto model = LoadModel(result->bundle, ModelOptions());
  REQUIRE(model.ok());
  const auto near = [&](std::vector<int32_t> a, std::vector<int32_t> b) {
    const std::vector<Tokens> texts = {{std::move(a)}, {std::move(b)}};
    const auto rows = (*model)->text_encoder()->Encode(texts, CallContext::Unbounded());
    REQUIRE(rows.ok());
    float product = 0;
    for (int i = 0; i < 16; ++i) product += rows->row(0)[i] * rows->row(1)[i];
    return product;
  };
  REQUIRE(near({2, 12, 3}, {2, 22, 23, 3}) > near({2, 12, 3}, {2, 24, 25, 3}) + 0.1f);
  REQUIRE(near({2, 14, 3}, {2, 24, 25, 3}) > near({2, 14, 3}, {2, 22, 23, 3}) + 0.1f);
}

TEST_CASE_METHOD(Fixture,
                 "a text stage learns before pictures are seen, and is resumed like others") {
  TrainingOptions options = TinyTrainingOptions();
  options.dropout = 0.1;
  options.captions.token_dropout = 0.2;
  options.text.epochs = 30;
  options.text.batch_size = 3;
  options.text.rate = {5e-3, 5, DecayShape::kCosine, 0.1};
  TrainingJob job = Job(options);
  job.checkpoint_directory = NewFolder();
  Recorder whole;
  const auto expected = Train(job, &whole);
  REQUIRE(expected.ok());
  REQUIRE(whole.steps[59].stage == TrainingStage::kText);
  REQUIRE(whole.steps[60].stage == TrainingStage::kBi);
  REQUIRE(whole.steps[59].concept_loss < whole.steps[0].concept_loss / 2);
  REQUIRE_FALSE(whole.steps[59].has_bi);
  REQUIRE(whole.steps[60].temperature == Approx(options.bi.initial_temperature).margin(0.002));
  for (const ValidationReport& report : whole.validations) {
    REQUIRE(report.stage != TrainingStage::kText);
  }
  for (const size_t steps : {7, 60}) {
    job.checkpoint_directory = NewFolder();
    REQUIRE(TrainFor(job, steps).code() == absl::StatusCode::kCancelled);
    Recorder rest;
    const auto result = Train(job, &rest);
    REQUIRE(result.ok());
    REQUIRE(result->bundle.id == expected->bundle.id);
  }
}

TEST_CASE_METHOD(Fixture, "concepts that the set does not have are refused") {
  TrainingSetContent content = TinyContent({});
  content.concepts.clear();
  const TinyTrainingSet bare(content);
  TrainingJob job = Job();
  job.set = bare.get();
  job.options.bi.concepts = 8;
  Recorder recorder;
  const absl::Status status = Train(job, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "0 concepts; prepare it with --learn-texts"));
}

// A bi-encoder, and the options of a cross-encoder for it.
class RetrieverFixture : public Fixture {
 public:
  RetrieverFixture() {
    TrainingOptions options = LongEnough();
    options.joint.epochs = 0;
    Recorder recorder;
    auto result = Train(Job(options), &recorder);
    REQUIRE(result.ok());
    retriever_ = result->bundle;
    retrieval_ = result->validation.training.retrieval;
  }

  TrainingJob CrossJob() const {
    TrainingJob job = Job(LongEnough());
    job.options.bi.epochs = 0;
    job.options.joint.cross_steps_per_bi = 0;
    job.report_every = 20;
    job.retriever = &retriever_;
    return job;
  }

 protected:
  ModelBundle retriever_;
  Recall retrieval_;
};

TEST_CASE_METHOD(RetrieverFixture, "a cross-encoder is trained for what a retriever finds") {
  Recorder recorder;
  const auto result = Train(CrossJob(), &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
  for (const StepReport& report : recorder.steps) {
    REQUIRE_FALSE(report.has_bi);
    REQUIRE(report.has_cross);
  }
  // Retrieval is the retriever's, whatever became of the weights that began as its.
  REQUIRE(result->validation.training.retrieval.mean_reciprocal_rank ==
          Approx(retrieval_.mean_reciprocal_rank).margin(0.02));
  REQUIRE(result->validation.training.reranked.at1 >= 50);  // of five candidates, by chance 20
  REQUIRE(result->bundle.id != retriever_.id);
  REQUIRE(absl::StrContains(result->bundle.manifest.description(), retriever_.id));
  const auto model = LoadModel(result->bundle, ModelOptions());
  REQUIRE(model.ok());
  REQUIRE((*model)->cross_encoder() != nullptr);
  REQUIRE((*model)->text_encoder() == nullptr);
  int mined = 0;
  for (const std::string& note : recorder.notes) mined += absl::StrContains(note, "hard negatives");
  REQUIRE(mined == 1);  // the retriever stands still
}

TEST_CASE_METHOD(RetrieverFixture, "with a retriever, too, a stopped run ends in the same bits") {
  TrainingJob job = CrossJob();
  job.options.joint.epochs = 4;
  job.report_every = 1;
  job.checkpoint_directory = NewFolder();
  Recorder undisturbed;
  const auto expected = Train(job, &undisturbed);
  REQUIRE(expected.ok());
  job.checkpoint_directory = NewFolder();
  REQUIRE(TrainFor(job, 2).code() == absl::StatusCode::kCancelled);
  Recorder recorder;
  const auto result = Train(job, &recorder);
  REQUIRE(result.ok());
  REQUIRE(result->bundle.id == expected->bundle.id);
}

TEST_CASE_METHOD(RetrieverFixture, "a retriever that does not fit is refused") {
  const auto problem = [this](const TrainingJob& job) {
    Recorder recorder;
    const absl::Status status = Train(job, &recorder).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  TrainingJob job = CrossJob();
  job.retriever = nullptr;
  REQUIRE(absl::StrContains(problem(job), "has no retriever"));
  job = Job();
  job.retriever = &retriever_;
  REQUIRE(absl::StrContains(problem(job), "set joint.cross_steps_per_bi to 0"));
  job = CrossJob();
  ModelBundle other = retriever_;
  other.manifest.mutable_transformer()->set_layer_count(3);
  job.retriever = &other;
  REQUIRE(absl::StrContains(problem(job), "is of another shape"));
  other = retriever_;
  for (auto& file : *other.manifest.mutable_files()) file.set_sha256(std::string(64, '0'));
  REQUIRE(absl::StrContains(problem(job), "another vocabulary"));
}

TEST_CASE_METHOD(Fixture, "a run that was finished gives its bundle again") {
  TrainingJob job = Job();
  job.checkpoint_directory = NewFolder();
  Recorder first, second;
  const auto before = Train(job, &first);
  const auto again = Train(job, &second);
  REQUIRE(again.ok());
  REQUIRE(again->bundle.id == before->bundle.id);
  REQUIRE(second.steps.empty());
  REQUIRE(second.validations.size() == 1);
}

TEST_CASE_METHOD(Fixture, "a damaged checkpoint is named and the one before is taken") {
  TrainingJob job = Job();
  job.checkpoint_directory = NewFolder();
  Recorder whole;
  const auto expected = Train(job, &whole);
  job.checkpoint_directory = NewFolder();
  REQUIRE(TrainFor(job, 3).code() == absl::StatusCode::kCancelled);
  REQUIRE(TrainFor(job, 2).code() == absl::StatusCode::kCancelled);
  const auto names = ListDirectory(job.checkpoint_directory);
  REQUIRE(names->size() == 2);
  const std::string newest = JoinPath(job.checkpoint_directory, names->back());
  std::string bytes = *ReadFile(newest);
  bytes[bytes.size() / 2] ^= 1;
  REQUIRE(WriteFileAtomically(newest, bytes).ok());
  Recorder recorder;
  const auto result = Train(job, &recorder);
  REQUIRE(result.ok());
  REQUIRE(recorder.Noted("damaged checkpoint: " + newest));
  REQUIRE(recorder.Noted("continues behind step 3 of"));
  REQUIRE(result->bundle.id == expected->bundle.id);
}

TEST_CASE_METHOD(Fixture, "a checkpoint of another job is refused, with the differences") {
  TrainingJob job = Job();
  job.checkpoint_directory = NewFolder();
  REQUIRE(TrainFor(job, 2).code() == absl::StatusCode::kCancelled);
  job.options.bi.batch_size = 5;
  job.options.validation.every = 7;  // decides no weight
  Recorder recorder;
  const absl::Status status = Train(job, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "(bi.batch_size: 4 then, 5 now)"));
}

TEST_CASE_METHOD(Fixture, "captions of held-out rows are never read") {
  TrainingSetContent content = TinyContent({});
  Recorder recorder;
  const auto expected = Train(Job(), &recorder);
  REQUIRE(expected.ok());
  for (TrainingRow& row : content.rows) {
    if (row.use != TrainingUse::kHeldOut) continue;
    for (TrainingCaption& caption : row.captions) {
      caption.tokens = {2, 40, 41, 3};
      caption.key = 0;  // the words of row 0
    }
  }
  const TinyTrainingSet changed(content);
  TrainingJob job = Job();
  job.set = changed.get();
  Recorder second;
  const auto result = Train(job, &second);
  REQUIRE(result.ok());
  REQUIRE(result->bundle.id == expected->bundle.id);
  REQUIRE(second.validations.back().training.retrieval.mean_reciprocal_rank ==
          recorder.validations.back().training.retrieval.mean_reciprocal_rank);
}

TEST_CASE_METHOD(Fixture, "every loss trains, with and without an average, in either precision") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.loss = GENERATE(BiLoss::kContrastive, BiLoss::kHinge);
  options.joint.loss = GENERATE(CrossLoss::kListwise, CrossLoss::kPairwise);
  options.average = GENERATE(0.0, 0.9);
  options.precision = GENERATE(Precision::kFloat32, Precision::kBfloat16);
  Recorder recorder;
  const auto result = Train(Job(options), &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
}

TEST_CASE_METHOD(Fixture, "a job that does not fit its set is refused, all problems at once") {
  TrainingJob job = Job();
  job.manifest.mutable_grid_extractor()->set_image_size(32);
  job.manifest.mutable_tokenizer()->set_max_token_count(7);
  job.manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::INNER_PRODUCT);
  job.vocabulary += "more\n";
  job.report_every = 0;
  Recorder recorder;
  const absl::Status status = Train(job, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  for (const char* part : {"image_size is 32, the training set's is 16", "max_token_count is 7",
                           "COSINE", "the vocabulary is not the one", "report_every is 0"}) {
    INFO(status << " lacks " << part);
    REQUIRE(absl::StrContains(status.message(), part));
  }
}

TEST_CASE_METHOD(Fixture, "what cannot be trained is refused before anything is done") {
  Recorder recorder;
  TrainingJob nowhere = Job();
  nowhere.device = GENERATE("cuda:63", "toaster", "");
  const absl::Status status = Train(nowhere, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "is not here"));

  TinyRows lonely;
  lonely.train = 1;
  const TinyTrainingSet one(lonely);
  TrainingJob job = Job();
  job.set = one.get();
  REQUIRE(Train(job, &recorder).status().code() == absl::StatusCode::kInvalidArgument);

  TrainingSetContent content = TinyContent({});
  for (TrainingRow& row : content.rows) {
    if (!row.captions.empty()) row.captions[0].key = 7;
  }
  const TinyTrainingSet alike(content);
  job.set = alike.get();
  REQUIRE(absl::StrContains(Train(job, &recorder).status().message(), "nothing to tell it from"));
  REQUIRE(recorder.steps.empty());
}

TEST_CASE_METHOD(Fixture, "a rate that spoils the weights is an error, and no checkpoint") {
  TrainingOptions options = TinyTrainingOptions();
  options.bi.rate = {1.0, 0, DecayShape::kLinear, 1.0};
  options.bi.epochs = 100;
  options.adamw.clip_norm = 0;
  options.adamw.weight_decay = 10;
  TrainingJob job = Job(options);
  job.checkpoint_directory = NewFolder();
  Recorder recorder;
  const absl::Status status = Train(job, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kInternal);
  REQUIRE(absl::StrContains(status.message(), "not finite"));
  REQUIRE_FALSE(FileExists(job.checkpoint_directory));
}

}  // namespace
}  // namespace sightline
