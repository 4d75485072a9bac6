#include "services/trainer/extract_command.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/base/usable_cores.h"
#include "common/bundle/named_bundle.h"
#include "common/config/config.h"
#include "common/config/exit_status.h"
#include "common/dataset/open_corpus.h"
#include "common/models/inference.h"
#include "common/rpc/shutdown_signals.h"
#include "services/trainer/extract_job.h"
#include "services/trainer/set_pictures.h"
#include "services/trainer/train_config.h"

namespace sightline {
namespace {

constexpr int64_t kMostCopies = 100;

struct ExtractFlags {
  std::string model, store, out, data, changes;
  std::vector<std::string> corpora, languages;
  std::string features = "float16";
  int64_t changed_copies = 0;
  int threads = UsableCores();
};

Flags DefineFlags(ExtractFlags* values) {
  Flags flags;
  flags.String("model", "MODEL",
               "whose extractor is asked: a bundle's id in --store, or its folder", &values->model);
  flags.String("store", "DIR", "whose models/ has the bundle", &values->store);
  flags.Strings("corpus", "KIND[:PATH]",
                "pictures: folder:DIR, stamps, karpathy:FILE,images=DIR; "
                "repeatable",
                &values->corpora);
  flags.Strings("languages", "CODES", "of the captions that are kept; default: all",
                &values->languages);
  flags.String("data", "DIR", "in place of --corpus: what `prepare` has written to learn from",
               &values->data);
  flags.Int("changed-copies", "of each of its pictures to learn from; default 0", 0, kMostCopies,
            &values->changed_copies);
  flags.String("changes", "FILE",
               "configuration of `train` whose `augment` says how they are changed",
               &values->changes);
  flags.String("out", "FILE", "the region file", &values->out);
  flags.String("features", "NAME", "float16 or float32, as which they are kept; default float16",
               &values->features);
  flags.Int("threads", "cores to use; default: all", 1, limits::kMaxThreads, &values->threads);
  return flags;
}

absl::StatusOr<std::vector<CorpusSpec>> CorporaOf(const ExtractFlags& flags) {
  std::vector<std::string> languages;
  for (const std::string& list : flags.languages) {
    for (const absl::string_view code : absl::StrSplit(list, ',')) languages.emplace_back(code);
  }
  std::vector<CorpusSpec> specs;
  for (const std::string& list : flags.corpora) {
    ASSIGN_OR_RETURN(std::vector<CorpusSpec> some, Within("--corpus", ParseCorpora(list)));
    for (CorpusSpec& spec : some) {
      spec.languages = languages;
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

absl::Status Check(const ExtractFlags& flags) {
  if (flags.model.empty() || flags.out.empty() || flags.corpora.empty() == flags.data.empty()) {
    return absl::InvalidArgumentError("give --model, --out and either --corpus or --data");
  }
  if (!flags.data.empty() && !flags.languages.empty()) {
    return absl::InvalidArgumentError(
        "--data: its captions' --languages were chosen when it was prepared");
  }
  if ((flags.changed_copies > 0) != !flags.changes.empty()) {
    return absl::InvalidArgumentError("give --changed-copies and --changes both, or neither");
  }
  if (flags.changed_copies > 0 && flags.data.empty()) {
    return absl::InvalidArgumentError("--changed-copies are of pictures of --data");
  }
  if (flags.features == DtypeName(Dtype::kFloat16) ||
      flags.features == DtypeName(Dtype::kFloat32)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--features: '", flags.features, "' is not float16 or float32"));
}

// How pictures are changed; without a file not at all.
absl::StatusOr<TrainingOptions> ReadChanges(const ExtractFlags& flags) {
  if (flags.changes.empty()) return TrainingOptions();
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(flags.changes));
  return ReadTrainingOptions(&file);
}

absl::StatusOr<std::unique_ptr<CorpusReader>> OpenData(const ExtractFlags& flags,
                                                       const TrainingOptions& changes,
                                                       const Model& model,
                                                       const CallContext& call) {
  SetPicturesOptions options;
  options.folder = flags.data;
  options.changed_copies = flags.changed_copies;
  options.augment = changes.augment;
  options.seed = changes.seed;
  const RegionExtractor* const extractor = model.region_extractor();
  if (extractor != nullptr) options.image_size = extractor->reduced_side();
  if (options.image_size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data: its pictures are of one size, and model ", model.id(),
                     extractor == nullptr
                         ? " finds no regions in pictures; it reads those of a detector"
                         : " sees pictures of any; give those that they were made of, --corpus"));
  }
  return OpenSetPictures(options, call);
}

absl::StatusOr<ExtractSummary> Extract(const ExtractFlags& flags,
                                       const std::vector<CorpusSpec>& specs,
                                       const TrainingOptions& changes) {
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(flags.threads);
  ASSIGN_OR_RETURN(const ModelBundle bundle, OpenNamedBundle(flags.store, flags.model));
  ModelOptions options;
  options.pool = &pool;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, LoadModel(bundle, options));
  ExtractJob job;
  for (const CorpusSpec& spec : specs) {
    ASSIGN_OR_RETURN(job.corpora.emplace_back(), OpenCorpus(spec));
  }
  if (!flags.data.empty()) {
    ASSIGN_OR_RETURN(job.corpora.emplace_back(), OpenData(flags, changes, *model, call));
  }
  job.model = model.get();
  job.out = flags.out;
  job.features = flags.features == DtypeName(Dtype::kFloat16) ? Dtype::kFloat16 : Dtype::kFloat32;
  job.threads = flags.threads;
  Progress progress(Progress::OnStandardError(), Clock::Real());
  return ExtractRegions(job, &progress, call);
}

}  // namespace

int RunExtract(const std::vector<std::string>& args, const Console& console) {
  ExtractFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kExtractCommand, &flags, args, console, &words, &status)) return status;
  absl::Status usable = Check(values);
  if (usable.ok() && !words.empty()) {
    usable = absl::InvalidArgumentError(absl::StrCat("'", words[0], "' is no flag"));
  }
  const auto specs = CorporaOf(values);
  if (usable.ok()) usable = specs.status();
  if (!usable.ok()) return UsageError(kExtractCommand, std::string(usable.message()), console);
  const absl::StatusOr<TrainingOptions> changes = ReadChanges(values);
  if (!changes.ok()) {
    Fail(changes.status(), console);
    return ExitStatusOfConfiguration(changes.status());
  }
  const absl::StatusOr<ExtractSummary> summary = Extract(values, *specs, *changes);
  if (absl::IsCancelled(summary.status())) {
    console.err << "interrupted; the same command goes on\n";
    return kRunAgain;
  }
  if (!summary.ok()) return Fail(summary.status(), console);
  console.out << summary->written << " pictures written to " << values.out << "\n";
  if (summary->skipped > 0) {
    console.out << summary->skipped << " skipped, see " << values.out << kSkippedSuffix << "\n";
  }
  return kSuccess;
}

}  // namespace sightline
