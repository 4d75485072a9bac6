#include "common/training/job_checks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"

namespace sightline {
namespace {

// Raised when the same job would give other weights than before.
constexpr int kTrainerVersion = 3;

void CheckModel(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest,
                Problems* problems) {
  problems->Require(
      manifest.family() == "oscar",
      absl::StrCat("manifest: family is '", manifest.family(), "'; only 'oscar' is trained"));
  problems->Require(manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE,
                    "manifest: embedding.metric must be COSINE");
  problems->Require(manifest.has_grid_extractor(),
                    "manifest: grid_extractor is missing, and pictures are all that there is");
  problems->Require(manifest.has_cross_encoder() || job.options.joint.epochs == 0,
                    "manifest: cross_encoder is missing, but joint.epochs is not 0");
}

void CheckAgainstSet(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest,
                     Problems* problems) {
  const TrainingSet& set = *job.set;
  const auto require_equal = [&](absl::string_view name, int64_t value, int64_t expected) {
    problems->Require(value == expected, absl::StrCat("manifest: ", name, " is ", value,
                                                      ", the training set's is ", expected));
  };
  require_equal("transformer.vocabulary_size", manifest.transformer().vocabulary_size(),
                set.vocabulary_size());
  require_equal("grid_extractor.image_size", manifest.grid_extractor().image_size(),
                set.image_size());
  require_equal("tokenizer.max_token_count", manifest.tokenizer().max_token_count(),
                set.max_token_count());
  const bool wants_concepts = job.options.bi.concepts > 0 || job.options.text.epochs > 0;
  problems->Require(!wants_concepts || set.concept_count() >= 2,
                    absl::StrCat("text.epochs is ", job.options.text.epochs, " and bi.concepts ",
                                 job.options.bi.concepts, ", but the training set has ",
                                 set.concept_count(), " concepts; prepare it with --learn-texts"));
  problems->Require(Sha256Hex(job.vocabulary) == set.vocabulary_sha256(),
                    "the vocabulary is not the one that the training set was made with");
}

std::string Description(const TrainingJob& job) {
  if (job.retriever != nullptr) {
    return absl::StrCat("cross-encoder over a learned grid for what ", job.retriever->id,
                        " retrieves: ", job.options.joint.epochs, " epochs, seed ",
                        job.options.seed);
  }
  std::vector<std::string> stages;
  const auto add = [&stages](int epochs, absl::string_view what) {
    if (epochs > 0) stages.push_back(absl::StrCat(epochs, " epochs ", what));
  };
  add(job.options.text.epochs, "on texts alone");
  add(job.options.bi.epochs, "as bi-encoder");
  add(job.options.joint.epochs, "jointly with the cross-encoder");
  return absl::StrCat("OSCAR over a learned grid, trained from ",
                      job.start == nullptr ? "nothing" : job.start->id, ": ",
                      absl::StrJoin(stages, ", "), ", seed ", job.options.seed);
}

// What two models must have in common if one begins with the other's weights.
std::string ShapeOf(bundle::v1::ModelBundleManifest manifest) {
  manifest.clear_format_version();
  manifest.clear_files();
  manifest.clear_description();
  manifest.clear_cross_encoder();
  manifest.mutable_embedding()->clear_space();
  return manifest.ShortDebugString();
}

// Whether the job's model can begin with the weights of an earlier one, its `role`.
void CheckEarlier(absl::string_view role, const ModelBundle& earlier, const TrainingJob& job,
                  const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  problems->Require(ShapeOf(earlier.manifest) == ShapeOf(manifest),
                    absl::StrCat(role, " ", earlier.id, " is of another shape: ",
                                 ShapeOf(earlier.manifest), " instead of ", ShapeOf(manifest)));
  for (const bundle::v1::BundleFile& file : earlier.manifest.files()) {
    problems->Require(
        file.path() != manifest.tokenizer().vocabulary_file() ||
            file.sha256() == job.set->vocabulary_sha256(),
        absl::StrCat(role, " ", earlier.id, " has another vocabulary than the training set"));
  }
}

void CheckRetriever(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest,
                    Problems* problems) {
  const bool cross_alone = job.options.joint.cross_steps_per_bi == 0;
  problems->Require(cross_alone == (job.retriever != nullptr),
                    cross_alone ? "joint.cross_steps_per_bi is 0, but the job has no retriever"
                                : "the job has a retriever; set joint.cross_steps_per_bi to 0");
  if (job.retriever == nullptr) return;
  problems->Require(job.options.joint.epochs > 0,
                    "the job has a retriever; with joint.epochs 0 it learns nothing");
  CheckEarlier("retriever", *job.retriever, job, manifest, problems);
  problems->Require(job.start == nullptr,
                    "the job has a retriever, whose weights it begins with; leave start away");
}

void CheckStart(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest,
                Problems* problems) {
  const TrainingOptions& options = job.options;
  problems->Require(!options.joint.freeze_grid || options.joint.epochs == 0 ||
                        options.bi.epochs > 0 || job.start != nullptr || job.retriever != nullptr,
                    "joint.freeze_grid is set, but bi.epochs is 0 and there is no start: the stem "
                    "would stay random");
  if (job.start != nullptr) CheckEarlier("start", *job.start, job, manifest, problems);
}

}  // namespace

absl::StatusOr<bundle::v1::ModelBundleManifest> CheckJob(const TrainingJob& job) {
  RETURN_IF_ERROR(CheckTrainingOptions(job.options));
  if (job.set == nullptr) return absl::InvalidArgumentError("the job has no training set");
  bundle::v1::ModelBundleManifest manifest = job.manifest;
  if (manifest.transformer().vocabulary_size() == 0) {
    manifest.mutable_transformer()->set_vocabulary_size(
        static_cast<int>(job.set->vocabulary_size()));
  }
  if (manifest.description().empty()) manifest.set_description(Description(job));
  Problems problems;
  CheckModel(job, manifest, &problems);
  CheckAgainstSet(job, manifest, &problems);
  CheckRetriever(job, manifest, &problems);
  CheckStart(job, manifest, &problems);
  problems.Require(job.report_every > 0,
                   absl::StrCat("report_every is ", job.report_every, ", not 1 or more"));
  problems.Require(job.threads >= 0, absl::StrCat("threads is ", job.threads, ", not 0 or more"));
  const bool chooses = job.options.combination == "auto" && job.options.joint.epochs > 0;
  bool has_validation = false;
  for (const int64_t row : job.set->RowsOf(TrainingUse::kValidation)) {
    has_validation = has_validation || !job.set->captions(row).empty();
  }
  problems.Require(!chooses || has_validation,
                   "combination is auto, but the set has no captioned validation rows that could "
                   "choose; name one");
  RETURN_IF_ERROR(problems.ToStatus("the job cannot be trained"));
  if (job.options.joint.epochs == 0) manifest.clear_cross_encoder();
  RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

absl::Status CheckRows(const TrainingJob& job, const TrainingRows& rows) {
  const int64_t count = static_cast<int64_t>(rows.captioned().size());
  if (count < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the training set has ", count,
                     " captioned rows that may be learnt from, at least 2 are needed"));
  }
  if (job.options.joint.epochs == 0) return absl::OkStatus();
  for (const int64_t row : rows.captioned()) {
    int64_t related = 1;
    for (const int64_t other : rows.relatives(row)) related += rows.captioned_index(other) >= 0;
    if (related == count) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " of the training set shares words or picture with all ", count,
                       " captioned rows; a cross-encoder has nothing to tell it from"));
    }
  }
  return absl::OkStatus();
}

std::string DescribeJob(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest) {
  bundle::v1::ModelBundleManifest model = manifest;
  // What is said of a model, or decided at its end, does not decide its weights.
  model.clear_description();
  if (model.has_cross_encoder()) {
    bundle::v1::CrossEncoderSpec* const spec = model.mutable_cross_encoder();
    spec->clear_combination();
    spec->clear_combination_lambda();
    spec->clear_text_to_image();
    spec->clear_image_to_text();
  }
  return absl::StrCat(
      "trainer=", kTrainerVersion, "\nstart=", job.start == nullptr ? "" : job.start->id,
      "\nretriever=", job.retriever == nullptr ? "" : job.retriever->id,
      "\nset.items=", job.set->items_sha256(), "\nset.vocabulary=", job.set->vocabulary_sha256(),
      "\nset.rows=", job.set->row_count(), "\nset.captions=", job.set->caption_count(),
      "\nset.concepts=", job.set->concepts_sha256(), "\nset.image_size=", job.set->image_size(),
      "\nmodel=", model.ShortDebugString(), "\n", DescribeTrainingOptions(job.options));
}

}  // namespace sightline
