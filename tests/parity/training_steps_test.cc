// Three optimiser steps of every family, held to what plain PyTorch computed
// (tests/testdata/goldens/training_steps.py).
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/network/weights.h"
#include "common/models/trainable.h"
#include "common/training/adamw.h"
#include "common/training/batch_loss.h"
#include "common/training/schedule.h"
#include "nlohmann/json.hpp"
#include "tests/parity/golden_families.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr const char* kGoldens = "tests/testdata/goldens";
constexpr double kBound = 1e-3;

// What the script wrote.
struct Expected {
  explicit Expected(const std::string& folder)
      : said(nlohmann::json::parse(*ReadFile(JoinPath(folder, "training.json")))),
        bytes(*ReadFile(JoinPath(folder, "training.safetensors"))),
        file(*Safetensors::FromBytes(bytes)) {}

  at::Tensor Tensor(const std::string& name) const { return *ToTorch(file->tensors().at(name)); }

  const nlohmann::json said;
  const std::string bytes;
  const std::unique_ptr<Safetensors> file;
};

AdamWOptions OptimizerOf(const nlohmann::json& said) {
  AdamWOptions options;
  options.beta1 = said["beta1"];
  options.beta2 = said["beta2"];
  options.epsilon = said["epsilon"];
  options.weight_decay = said["weight_decay"];
  options.clip_norm = said["clip_norm"];
  options.decays = DecayRule::kByName;
  return options;
}

RateOptions ScheduleOf(const nlohmann::json& said) {
  RateOptions rate;
  rate.peak = said["peak"];
  rate.warmup_steps = said["warmup_steps"];
  rate.final_share = 0;
  rate.decay = said["decay"] == "linear"   ? DecayShape::kLinear
               : said["decay"] == "cosine" ? DecayShape::kCosine
                                           : DecayShape::kStep;
  rate.drop_every = said.value("drop_every", 0);
  rate.drop_factor = said.value("drop_factor", 0.1);
  return rate;
}

// The case's texts and images as one batch; each text is also paired with the next one's image.
struct Batch {
  Batch(const GoldenSubject& subject, const Network& network) {
    const size_t count = std::min(subject.inputs.texts.size(), subject.inputs.images.size());
    for (size_t i = 0; i < count; ++i) {
      images.push_back(*network.ReadImage(subject.inputs.images[i]));
    }
    for (size_t i = 0; i < count; ++i) {
      batch.texts.push_back(subject.inputs.texts[i].ids);
      batch.images.push_back(&images[i]);
      batch.pairs.emplace_back(i, i);
      batch.pairs.emplace_back(i, (i + 1) % count);
    }
    batch.candidates = 2;
  }

  std::vector<ImageNumbers> images;
  PairBatch batch;
};

void RequireClose(const at::Tensor& actual, const at::Tensor& expected) {
  REQUIRE(actual.sizes() == expected.sizes());
  REQUIRE((actual - expected).norm().item<double>() <= kBound * expected.norm().item<double>());
}

void CheckFolder(const std::string& name) {
  INFO(name);
  const std::string folder = JoinPath(kGoldens, name);
  const Expected expected(folder);
  const auto golden = *GoldenCase::Open(folder);
  const auto subject = OpenGolden(*golden);
  INFO(subject.status().ToString());
  REQUIRE(subject.ok());

  TrainableOptions options;
  options.dropout = 0;
  const auto learner = *LoadTrainable(subject->model->bundle(), options);
  learner->module->train();
  const Batch batch(*subject, *learner->network);
  std::vector<NamedParameter> parameters;
  std::map<std::string, at::Tensor> named, before;
  for (const auto& parameter : learner->module->named_parameters()) {
    parameters.push_back({parameter.key(), parameter.value()});
    named[parameter.key()] = parameter.value();
    before[parameter.key()] = parameter.value().detach().clone();
  }
  AdamW optimizer({parameters}, OptimizerOf(expected.said), /*average=*/false);

  const Objective* const objective = *FindObjective(expected.said["objective"].get<std::string>());
  BatchLossOptions loss_options;
  loss_options.objective = objective->defaults;
  const std::vector<double> rates = expected.said["rates"];
  const std::vector<std::string> tensors = expected.said["tensors"];
  REQUIRE(rates.size() == 3);
  for (size_t step = 0; step < rates.size(); ++step) {
    INFO("step " << step);
    const nlohmann::json& schedule = expected.said["schedule"];
    const double rate = RateAt(ScheduleOf(schedule), step, schedule["steps"]);
    REQUIRE(rate == Approx(rates[step]));
    optimizer.ZeroGradients();
    const auto loss = AddGradients(*objective, loss_options, batch.batch, *learner);
    INFO(loss.status().ToString());
    REQUIRE(loss.ok());
    REQUIRE(loss->value.item<double>() ==
            Approx(expected.said["losses"][step].get<double>()).epsilon(kBound));
    if (step == 0) {
      for (const std::string& each : tensors) {
        INFO(each);
        RequireClose(named.at(each).grad(), expected.Tensor("gradient/" + each));
      }
    }
    REQUIRE(optimizer.Step({0}, rate).item<double>() ==
            Approx(expected.said["gradient_norms"][step].get<double>()).epsilon(kBound));
  }
  at::NoGradGuard no_grad;
  for (const std::string& each : tensors) {
    INFO(each);
    RequireClose(named.at(each) - before.at(each), expected.Tensor("change/" + each));
  }
  for (const auto& buffer : learner->module->named_buffers()) {
    INFO(buffer.key());
    RequireClose(buffer.value(), expected.Tensor("running/" + buffer.key()));
  }
}

TEST_CASE("three steps of OSCAR are PyTorch's") {
  CheckFolder("oscar");
  CheckFolder("oscar_ln");
}

TEST_CASE("three steps of UNITER are PyTorch's") {
  CheckFolder("uniter_small");
}

TEST_CASE("three steps of LightningDOT, without and with scene text, are PyTorch's") {
  CheckFolder("lightningdot");
  CheckFolder("lightningdot_scene_text");
}

TEST_CASE("three steps of M3P are PyTorch's") {
  CheckFolder("m3p");
}

TEST_CASE("three steps of VLDeformer are PyTorch's") {
  CheckFolder("vldeformer");
}

TEST_CASE("three steps of SGRAF's modules, without and with T-EMDE, are PyTorch's") {
  CheckFolder("saf");
  CheckFolder("sgr");
  CheckFolder("saf_temde");
  CheckFolder("sgr_temde");
}

}  // namespace
}  // namespace sightline
