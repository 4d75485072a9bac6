#include "tests/parity/golden_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/formats/safetensors.h"
#include "common/models/network/weights.h"
#include "common/models/trainable.h"
#include "common/training/adamw.h"
#include "common/training/batch_loss.h"
#include "common/training/schedule.h"
#include "common/training/training_device.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "tests/parity/golden_families.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr double kBound = 1e-3;

// What the script wrote.
struct Expected {
  Json said;
  std::string bytes;
  std::unique_ptr<Safetensors> file;
};

absl::StatusOr<Expected> ReadExpected(const std::string& folder) {
  Expected expected;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(JoinPath(folder, "training.json")));
  expected.said = Json::parse(text);
  ASSIGN_OR_RETURN(expected.bytes, ReadFile(JoinPath(folder, "training.safetensors")));
  ASSIGN_OR_RETURN(expected.file, Safetensors::FromBytes(expected.bytes));
  return expected;
}

AdamWOptions OptimizerOf(const Json& said) {
  AdamWOptions options;
  options.beta1 = said.at("beta1");
  options.beta2 = said.at("beta2");
  options.epsilon = said.at("epsilon");
  options.weight_decay = said.at("weight_decay");
  options.clip_norm = said.at("clip_norm");
  options.decays = DecayRule::kByName;
  return options;
}

RateOptions ScheduleOf(const Json& said) {
  const std::string decay = said.at("decay");
  RateOptions rate;
  rate.peak = said.at("peak");
  rate.warmup_steps = said.at("warmup_steps");
  rate.final_share = 0;
  rate.decay = decay == "linear"   ? DecayShape::kLinear
               : decay == "cosine" ? DecayShape::kCosine
                                   : DecayShape::kStep;
  rate.drop_every = said.value("drop_every", 0);
  rate.drop_factor = said.value("drop_factor", 0.1);
  return rate;
}

// The case's texts and images as one batch; each text is also paired with the next one's image.
struct Batch {
  std::vector<ImageNumbers> images;
  PairBatch batch;
};

absl::StatusOr<std::unique_ptr<Batch>> MakeBatch(const GoldenInputs& inputs,
                                                 const Network& network) {
  auto made = std::make_unique<Batch>();
  const size_t count = std::min(inputs.texts.size(), inputs.images.size());
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(made->images.emplace_back(), network.ReadImage(inputs.images[i]));
  }
  for (size_t i = 0; i < count; ++i) {
    made->batch.texts.push_back(inputs.texts[i].ids);
    made->batch.images.push_back(&made->images[i]);
    made->batch.pairs.emplace_back(i, i);
    made->batch.pairs.emplace_back(i, (i + 1) % count);
  }
  made->batch.candidates = 2;
  return made;
}

// Adds up how far computed numbers lie from expected ones, relative to these.
class Comparison {
 public:
  explicit Comparison(std::ostream* out) : out_(*out) {}

  void Add(const std::string& what, double actual, double expected) {
    Note(what, std::abs(actual - expected) / std::abs(expected));
  }
  // By the norm of their difference.
  absl::Status Add(const std::string& name, const at::Tensor& actual, const Expected& expected) {
    const auto found = expected.file->tensors().find(name);
    if (found == expected.file->tensors().end()) {
      return absl::NotFoundError(absl::StrCat("training.safetensors has no ", name));
    }
    ASSIGN_OR_RETURN(const at::Tensor wanted, ToTorch(found->second));
    if (!actual.defined() || actual.sizes() != wanted.sizes()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " is of another shape"));
    }
    const at::Tensor own = actual.to(at::kCPU);
    Note(name, (own - wanted).norm().item<double>() / wanted.norm().item<double>());
    return absl::OkStatus();
  }

  int End(const absl::Status& status) {
    if (!status.ok()) out_ << "failed: " << status.message() << "\n";
    out_ << "max_relative_error: " << most_ << " over " << count_ << " of training's numbers\n";
    return status.ok() && count_ > 0 && most_ <= kBound ? 0 : 1;
  }

 private:
  void Note(const std::string& what, double error) {
    // A number that is none lies infinitely far.
    if (!(error < HUGE_VAL)) error = HUGE_VAL;
    if (error > kBound) out_ << what << ": off by " << error << " of it\n";
    most_ = std::max(most_, error);
    ++count_;
  }

  std::ostream& out_;
  double most_ = 0;
  int count_ = 0;
};

class Steps {
 public:
  Steps(const Expected& expected, const TrainableNetwork& learner, Comparison* comparison)
      : expected_(expected), learner_(learner), comparison_(*comparison) {
    for (const auto& parameter : learner.module->named_parameters()) {
      parameters_.push_back({parameter.key(), parameter.value()});
      named_[parameter.key()] = parameter.value();
      before_[parameter.key()] = parameter.value().detach().clone();
    }
  }

  absl::Status Take(const PairBatch& batch) {
    const Json& said = expected_.said;
    ASSIGN_OR_RETURN(const Objective* objective,
                     FindObjective(said.at("objective").get<std::string>()));
    BatchLossOptions options;
    options.objective = objective->defaults;
    AdamW optimizer({parameters_}, OptimizerOf(said), /*average=*/false);
    const RateOptions schedule = ScheduleOf(said.at("schedule"));
    const int64_t steps = said.at("schedule").at("steps");
    for (size_t step = 0; step < said.at("rates").size(); ++step) {
      const std::string at = absl::StrCat("step ", step + 1, ", ");
      const double rate = RateAt(schedule, static_cast<int64_t>(step), steps);
      comparison_.Add(at + "rate", rate, said.at("rates")[step]);
      optimizer.ZeroGradients();
      ASSIGN_OR_RETURN(const Loss loss, AddGradients(*objective, options, batch, learner_));
      comparison_.Add(at + "loss", loss.value.item<double>(), said.at("losses")[step]);
      RETURN_IF_ERROR(CompareGradients(absl::StrCat("gradient ", step + 1, "/")));
      const double norm = optimizer.Step({0}, rate).item<double>();
      comparison_.Add(at + "gradient norm", norm, said.at("gradient_norms")[step]);
    }
    return CompareChanges();
  }

 private:
  absl::Status CompareGradients(const std::string& prefix) {
    for (const std::string name : expected_.said.at("tensors")) {
      const auto found = named_.find(name);
      if (found == named_.end()) return absl::NotFoundError(name + " is no weight");
      RETURN_IF_ERROR(comparison_.Add(prefix + name, found->second.grad(), expected_));
    }
    return absl::OkStatus();
  }

  absl::Status CompareChanges() {
    const at::NoGradGuard no_grad;
    for (const std::string name : expected_.said.at("tensors")) {
      RETURN_IF_ERROR(
          comparison_.Add("change/" + name, named_.at(name) - before_.at(name), expected_));
    }
    for (const auto& buffer : learner_.module->named_buffers()) {
      RETURN_IF_ERROR(comparison_.Add("running/" + buffer.key(), buffer.value(), expected_));
    }
    return absl::OkStatus();
  }

  const Expected& expected_;
  const TrainableNetwork& learner_;
  Comparison& comparison_;
  std::vector<NamedParameter> parameters_;
  std::map<std::string, at::Tensor> named_, before_;
};

// What the steps are taken with.
struct Subject {
  std::unique_ptr<TempDir> store;  // of a bundle that is changed
  Expected expected;
  GoldenSubject golden;
  std::unique_ptr<TrainableNetwork> learner;
  std::unique_ptr<Batch> batch;
};

// The folder that has the network and the case: another one beside it, if training.json names it.
std::string FolderOfNetwork(const std::string& directory, const Json& said) {
  const std::string other = said.value("of", "");
  return other.empty() ? directory : JoinPath(JoinPath(directory, ".."), other);
}

// Of a file of weights what begins with none of `prefixes`.
absl::StatusOr<std::string> Without(const std::vector<std::string>& prefixes,
                                    const std::string& weights) {
  ASSIGN_OR_RETURN(const auto file, Safetensors::FromBytes(weights));
  auto tensors = file->tensors();
  for (auto it = tensors.begin(); it != tensors.end();) {
    const bool goes = std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      return absl::StartsWith(it->first, prefix);
    });
    it = goes ? tensors.erase(it) : std::next(it);
  }
  return SerializeSafetensors(tensors);
}

// Writes `bundle` to `store` as training.json would have it.
absl::StatusOr<ModelBundle> Changed(const ModelBundle& bundle, const Json& said,
                                    const std::string& store) {
  std::map<std::string, std::string> files;
  for (const bundle::v1::BundleFile& file : bundle.manifest.files()) {
    ASSIGN_OR_RETURN(files[file.path()], ReadFile(bundle.FilePath(file.path())));
  }
  ASSIGN_OR_RETURN(files[std::string(kWeightsFile)],
                   Without(said.at("without"), files[std::string(kWeightsFile)]));
  bundle::v1::ModelBundleManifest manifest = bundle.manifest;
  if (!google::protobuf::TextFormat::MergeFromString(said.at("manifest"), &manifest)) {
    return absl::InvalidArgumentError("training.json: its manifest is none");
  }
  return WriteModelBundle(store, manifest, files);
}

absl::StatusOr<Subject> Open(const std::string& directory, const std::string& device) {
  Subject subject;
  ASSIGN_OR_RETURN(subject.expected, ReadExpected(directory));
  const Json& said = subject.expected.said;
  ASSIGN_OR_RETURN(const auto golden, GoldenCase::Open(FolderOfNetwork(directory, said)));
  ASSIGN_OR_RETURN(subject.golden, OpenGolden(*golden));
  ModelBundle bundle = subject.golden.model->bundle();
  if (said.contains("manifest")) {
    subject.store = std::make_unique<TempDir>();
    ASSIGN_OR_RETURN(bundle, Changed(bundle, said, subject.store->path()));
  }
  TrainableOptions options;
  options.dropout = 0;
  ASSIGN_OR_RETURN(options.device, TrainingDeviceOf(device));
  ASSIGN_OR_RETURN(subject.learner, LoadTrainable(bundle, options));
  subject.learner->module->train();
  ASSIGN_OR_RETURN(subject.batch, MakeBatch(subject.golden.inputs, *subject.learner->network));
  return subject;
}

}  // namespace

int CheckGoldenTraining(absl::string_view directory, const std::string& device, std::ostream& out) {
  try {
    const absl::StatusOr<Subject> subject = Open(std::string(directory), device);
    if (!subject.ok()) {
      out << subject.status().message() << "\n";
      return 2;
    }
    Comparison comparison(&out);
    Steps steps(subject->expected, *subject->learner, &comparison);
    return comparison.End(steps.Take(subject->batch->batch));
  } catch (const Json::exception& error) {
    out << directory << "/training.json: " << error.what() << "\n";
    return 2;
  }
}

}  // namespace sightline
