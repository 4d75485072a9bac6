// Runs that learn from texts without pictures, and runs of a cross-encoder alone.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/model.h"
#include "tests/common/training/training_fixture.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE_METHOD(TrainingFixture, "concepts teach the words of their texts, by either loss") {
  TrainingOptions options = TinyTrainingOptions();
  options.joint.epochs = 0;
  options.bi.loss = GENERATE(BiLoss::kContrastive, BiLoss::kHinge);
  options.bi.epochs = 60;
  RecordingObserver without, with;
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
  // The hinge pushes no further than its margin, 0.1; half of it is asked.
  REQUIRE(near({2, 12, 3}, {2, 22, 23, 3}) > near({2, 12, 3}, {2, 24, 25, 3}) + 0.05f);
  REQUIRE(near({2, 14, 3}, {2, 24, 25, 3}) > near({2, 14, 3}, {2, 22, 23, 3}) + 0.05f);
}

TEST_CASE_METHOD(TrainingFixture,
                 "a text stage learns before pictures are seen, and is resumed like others") {
  TrainingOptions options = TinyTrainingOptions();
  options.dropout = 0.1;
  options.captions.token_dropout = 0.2;
  options.text.epochs = 60;
  options.text.batch_size = 3;
  options.text.rate = {5e-3, 5, DecayShape::kCosine, 0.1};
  TrainingJob job = Job(options);
  job.checkpoint_directory = NewFolder();
  RecordingObserver whole;
  const auto expected = Train(job, &whole);
  REQUIRE(expected.ok());
  REQUIRE(whole.steps[119].stage == TrainingStage::kText);
  REQUIRE(whole.steps[120].stage == TrainingStage::kBi);
  // Of twenty steps: one sees three of the concepts, some of their tokens, through dropout.
  const auto mean_loss = [&](size_t first) {
    double sum = 0;
    for (size_t i = first; i < first + 20; ++i) sum += whole.steps[i].concept_loss;
    return sum / 20;
  };
  REQUIRE(mean_loss(100) < mean_loss(0) / 2);
  REQUIRE_FALSE(whole.steps[119].has_bi);
  REQUIRE(whole.steps[120].temperature == Approx(options.bi.initial_temperature).margin(0.002));
  for (const ValidationReport& report : whole.validations) {
    REQUIRE(report.stage != TrainingStage::kText);
  }
  for (const size_t steps : {7, 120}) {
    job.checkpoint_directory = NewFolder();
    REQUIRE(TrainFor(job, steps).code() == absl::StatusCode::kCancelled);
    RecordingObserver rest;
    const auto result = Train(job, &rest);
    REQUIRE(result.ok());
    REQUIRE(result->bundle.id == expected->bundle.id);
  }
}

TEST_CASE_METHOD(TrainingFixture, "concepts that the set does not have are refused") {
  TrainingSetContent content = TinyContent({});
  content.concepts.clear();
  const TinyTrainingSet bare(content);
  TrainingJob job = Job();
  job.set = bare.get();
  job.options.bi.concepts = 8;
  RecordingObserver recorder;
  const absl::Status status = Train(job, &recorder).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "0 concepts; prepare it with --learn-texts"));
}

// A bi-encoder, and the options of a cross-encoder for it.
class RetrieverFixture : public TrainingFixture {
 public:
  RetrieverFixture() {
    TrainingOptions options = LongEnough();
    options.joint.epochs = 0;
    RecordingObserver recorder;
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
    // Until nothing is left to learn.  Pairs are not told apart for a while and then soon are;
    // when, hangs on last bits, and so half as many steps would end anywhere.
    job.options.joint.epochs = 480;
    job.options.joint.rate.peak = 1e-2;
    return job;
  }

 protected:
  ModelBundle retriever_;
  Recall retrieval_;
};

TEST_CASE_METHOD(RetrieverFixture, "a cross-encoder is trained for what a retriever finds") {
  RecordingObserver recorder;
  const auto result = Train(CrossJob(), &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
  for (const StepReport& report : recorder.steps) {
    REQUIRE_FALSE(report.has_bi);
    REQUIRE(report.has_cross);
  }
  REQUIRE(recorder.CrossLossLeft() < 0.1);
  // Retrieval is the retriever's, whatever became of the weights that began as its.
  REQUIRE(result->validation.training.retrieval.mean_reciprocal_rank ==
          Approx(retrieval_.mean_reciprocal_rank).margin(0.02));
  // Of five candidates, by chance 20; one that has learnt nothing may be lucky.
  TrainingJob untrained = CrossJob();
  untrained.options.joint.epochs = 1;
  RecordingObserver control;
  const auto before = Train(untrained, &control);
  REQUIRE(before.ok());
  REQUIRE(result->validation.training.reranked.at1 >= 75);
  REQUIRE(result->validation.training.reranked.at1 > before->validation.training.reranked.at1 + 30);
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
  RecordingObserver undisturbed;
  const auto expected = Train(job, &undisturbed);
  REQUIRE(expected.ok());
  job.checkpoint_directory = NewFolder();
  REQUIRE(TrainFor(job, 2).code() == absl::StatusCode::kCancelled);
  RecordingObserver recorder;
  const auto result = Train(job, &recorder);
  REQUIRE(result.ok());
  REQUIRE(result->bundle.id == expected->bundle.id);
}

TEST_CASE_METHOD(RetrieverFixture, "a retriever that does not fit is refused") {
  const auto problem = [this](const TrainingJob& job) {
    RecordingObserver recorder;
    const absl::Status status = Train(job, &recorder).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  TrainingJob job = CrossJob();
  job.start = &retriever_;
  REQUIRE(absl::StrContains(problem(job), "leave start away"));
  job = CrossJob();
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

// Begins with what the fixture has trained, and goes on with both kinds of steps at once.
TEST_CASE_METHOD(RetrieverFixture, "a job with a start begins with its weights") {
  TrainingJob job = Job(LongEnough());
  job.options.bi.epochs = 0;
  job.options.joint.epochs = 2;
  const auto first_loss = [this](const TrainingJob& job) {
    RecordingObserver recorder;
    const auto result = Train(job, &recorder);
    INFO(result.status());
    REQUIRE(result.ok());
    REQUIRE(recorder.steps.front().has_bi);
    return recorder.steps.front().bi_loss;
  };
  job.options.joint.freeze_grid = false;
  const double from_nothing = first_loss(job);
  job.start = &retriever_;
  REQUIRE(first_loss(job) < from_nothing / 2);
  // What it has learnt to see may stay as it is.
  job.options.joint.freeze_grid = true;
  RecordingObserver recorder;
  job.checkpoint_directory = NewFolder();
  const auto result = Train(job, &recorder);
  REQUIRE(result.ok());
  REQUIRE(absl::StrContains(result->bundle.manifest.description(), retriever_.id));
  REQUIRE(result->bundle.manifest.has_embedding());
  REQUIRE(result->bundle.manifest.has_cross_encoder());
}

TEST_CASE_METHOD(RetrieverFixture, "a start that does not fit is refused, and so is having none") {
  const auto status = [this](const TrainingJob& job) {
    RecordingObserver recorder;
    return Train(job, &recorder).status();
  };
  TrainingJob job = Job();
  job.options.bi.epochs = 0;
  REQUIRE(absl::StrContains(status(job).message(), "the stem would stay random"));
  ModelBundle other = retriever_;
  other.manifest.mutable_transformer()->set_layer_count(3);
  job.start = &other;
  REQUIRE(absl::StrContains(status(job).message(), "start " + other.id + " is of another shape"));
  // A checkpoint of a run from nothing is no checkpoint of this one.
  job = Job();
  job.checkpoint_directory = NewFolder();
  REQUIRE(TrainFor(job, 2).code() == absl::StatusCode::kCancelled);
  job.start = &retriever_;
  REQUIRE(status(job).code() == absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace sightline
