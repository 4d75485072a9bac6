#include "common/training/steps.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "absl/strings/match.h"
#include "common/models/network/row_dropout.h"
#include "common/training/objectives/pair_losses.h"
#include "common/training/objectives/tower_losses.h"

namespace sightline {
namespace {

// Parameters by the steps that train them, so that a step leaves the others alone.
enum ParameterGroup : size_t { kBiOnly, kStem, kShared, kCrossOnly, kGroupCount };

constexpr double kMostLogScale = 4.605170185988092;  // ln 100

at::Tensor InitialLogScale(const TrainingOptions& options, c10::Device device) {
  return at::full({}, -std::log(options.bi.initial_temperature),
                  at::TensorOptions().dtype(at::kFloat).device(device))
      .set_requires_grad(true);
}

ParameterGroup GroupOf(absl::string_view name) {
  if (absl::StartsWith(name, "bert.pooler.") || absl::StartsWith(name, "classifier.")) {
    return kCrossOnly;
  }
  return absl::StartsWith(name, "grid.") ? kStem : kShared;
}

AdamW MakeOptimizer(JointNet* net, const at::Tensor& log_scale, const TrainingOptions& options) {
  std::vector<std::vector<NamedParameter>> groups(kGroupCount);
  groups[kBiOnly].push_back({"log_scale", log_scale});
  for (const auto& item : net->module().named_parameters()) {
    groups[GroupOf(item.key())].push_back({item.key(), item.value()});
  }
  return AdamW(groups, options.adamw, options.average > 0);
}

// Bi and cross steps of equal number must not share random numbers.
uint64_t BiIndex(int64_t number) {
  return 2 * static_cast<uint64_t>(number);
}
uint64_t CrossIndex(int64_t number) {
  return BiIndex(number) + 1;
}

at::Tensor ToDevice(const std::vector<int64_t>& values, c10::Device device) {
  return at::tensor(values, at::kLong).to(device);
}

}  // namespace

TrainingSteps::TrainingSteps(const TrainingSet* set, const BatchSampler* sampler,
                             GridSource* source, JointNet* net, const TrainingOptions* options)
    : set_(*set),
      sampler_(*sampler),
      source_(*source),
      net_(*net),
      options_(*options),
      log_scale_(InitialLogScale(*options, net->device())),
      optimizer_(MakeOptimizer(net, log_scale_, *options)) {}

double TrainingSteps::Temperature() const {
  return std::exp(-log_scale_.item<double>());
}

void TrainingSteps::ResetTemperature() {
  at::NoGradGuard no_grad;
  log_scale_.fill_(-std::log(options_.bi.initial_temperature));
}

void TrainingSteps::LimitTemperature() {
  at::NoGradGuard no_grad;
  log_scale_.clamp_max_(kMostLogScale);
}

std::vector<size_t> TrainingSteps::GroupsOfBi() const {
  if (source_.frozen()) return {kBiOnly, kShared};
  return {kBiOnly, kStem, kShared};
}

std::vector<size_t> TrainingSteps::GroupsOfCross() const {
  if (source_.frozen()) return {kShared, kCrossOnly};
  return {kStem, kShared, kCrossOnly};
}

Loss TrainingSteps::BiLossOf(const at::Tensor& texts, const at::Tensor& others,
                             const std::vector<uint8_t>& related) const {
  const at::Tensor excluded = at::from_blob(const_cast<uint8_t*>(related.data()),
                                            {texts.size(0), others.size(0)}, at::kByte)
                                  .to(net_.device())
                                  .to(at::kBool);
  const TowerRows rows = {texts, others, excluded};
  return options_.bi.loss == BiLoss::kContrastive
             ? ContrastiveLoss(rows, log_scale_)
             : HingeLoss(rows, options_.bi.hinge_margin, BatchReduction::kMean);
}

Loss TrainingSteps::ConceptLoss(const ConceptBatch& batch, uint64_t seed) {
  std::vector<int64_t> all = batch.texts;
  all.insert(all.end(), batch.other_texts.begin(), batch.other_texts.end());
  const at::Tensor rows = net_.EmbedShownTexts(all, seed);
  const int64_t count = static_cast<int64_t>(batch.texts.size());
  return BiLossOf(rows.narrow(0, 0, count), rows.narrow(0, count, count), batch.related);
}

StepOutcome TrainingSteps::Text(int64_t number, double rate) {
  const ConceptBatch batch = sampler_.Texts(number);
  const DropoutScope scope(SeedOf(options_.seed, RandomStream::kTextBatch, number));
  optimizer_.ZeroGradients();
  const Loss loss = ConceptLoss(batch, SeedOf(options_.seed, RandomStream::kTextBatch, number));
  loss.value.backward();
  StepOutcome outcome;
  outcome.loss = outcome.concept_loss = loss.value.detach();
  outcome.first = loss.first;
  outcome.items = static_cast<int64_t>(batch.texts.size());
  outcome.gradient_norm = optimizer_.Step({kBiOnly, kShared}, rate);
  LimitTemperature();
  return outcome;
}

StepOutcome TrainingSteps::Bi(int64_t number, double rate) {
  const BiBatch batch = sampler_.Bi(number);
  Random random(SeedOf(options_.seed, RandomStream::kAugment, BiIndex(number)));
  const DropoutScope scope(SeedOf(options_.seed, RandomStream::kDropout, BiIndex(number)));
  optimizer_.ZeroGradients();

  const at::Tensor images = net_.EmbedImages(net_.RegionRows(source_.Shown(batch.rows, &random)));
  const at::Tensor texts =
      net_.EmbedShownCaptions(batch.captions, SeedOf(options_.seed, RandomStream::kTokens, number));
  const Loss loss = BiLossOf(texts, images, batch.related);
  StepOutcome outcome;
  outcome.loss = loss.value.detach();
  outcome.first = loss.first;
  outcome.items = static_cast<int64_t>(batch.captions.size());
  loss.value.backward();
  if (options_.bi.concepts > 0) {
    const at::Tensor concept_loss =
        ConceptLoss(sampler_.Concepts(number),
                    SeedOf(options_.seed, RandomStream::kConceptTokens, number))
            .value;
    outcome.concept_loss = concept_loss.detach();
    (concept_loss * options_.bi.concept_weight).backward();
  }
  outcome.gradient_norm = optimizer_.Step(GroupsOfBi(), rate);
  LimitTemperature();
  return outcome;
}

std::vector<std::vector<int64_t>> TrainingSteps::Passes(const CrossBatch& batch) const {
  std::vector<int64_t> lengths(batch.problems, 0), order(batch.problems);
  for (size_t pair = 0; pair < batch.captions.size(); ++pair) {
    int64_t& length = lengths[pair / batch.candidates];
    length = std::max(length, static_cast<int64_t>(set_.tokens(batch.captions[pair]).size()));
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
  std::vector<std::vector<int64_t>> passes;
  for (const int64_t problem : order) {
    // In rising order the newcomer decides how far all are padded.
    const int64_t rows_each = batch.candidates * (lengths[problem] + net_.region_count());
    const bool fits =
        !passes.empty() &&
        (static_cast<int64_t>(passes.back().size()) + 1) * rows_each <= options_.joint.pass_rows;
    if (!fits) passes.emplace_back();
    passes.back().push_back(problem);
  }
  return passes;
}

Loss TrainingSteps::CrossPass(const CrossBatch& batch, const std::vector<int64_t>& problems,
                              const std::vector<int64_t>& place_of_pair,
                              const at::Tensor& regions) {
  std::vector<int64_t> captions, places;
  for (const int64_t problem : problems) {
    const int64_t begin = problem * batch.candidates, end = begin + batch.candidates;
    captions.insert(captions.end(), batch.captions.begin() + begin, batch.captions.begin() + end);
    places.insert(places.end(), place_of_pair.begin() + begin, place_of_pair.begin() + end);
  }
  const at::Tensor seen = regions.index_select(0, ToDevice(places, net_.device()));
  const at::Tensor logits = net_.PairLogits(net_.Captions(captions), seen)
                                .view({static_cast<int64_t>(problems.size()), batch.candidates, 2});
  const Loss loss =
      options_.joint.loss == CrossLoss::kListwise ? ListwiseLoss(logits) : PairwiseLoss(logits);
  const double share = static_cast<double>(problems.size()) / batch.problems;
  const at::Tensor value = loss.value * share;
  value.backward();
  return {value.detach(), loss.first * share};
}

StepOutcome TrainingSteps::Cross(int64_t number, double rate, const MinedNegatives& mined) {
  const CrossBatch batch = sampler_.Cross(number, mined);
  Random random(SeedOf(options_.seed, RandomStream::kAugment, CrossIndex(number)));
  const DropoutScope scope(SeedOf(options_.seed, RandomStream::kDropout, CrossIndex(number)));
  optimizer_.ZeroGradients();

  // A picture that is in many pairs is looked at once.
  std::vector<int64_t> rows, place_of_pair;
  std::unordered_map<int64_t, int64_t> place_of_row;
  for (const int64_t row : batch.rows) {
    const auto [it, is_new] = place_of_row.emplace(row, static_cast<int64_t>(rows.size()));
    if (is_new) rows.push_back(row);
    place_of_pair.push_back(it->second);
  }
  const at::Tensor regions = net_.RegionRows(source_.Shown(rows, &random));
  // Passes end in this leaf, which gathers their gradients, so that each pass frees its
  // memory and the stem runs backward once.
  const at::Tensor leaf = regions.detach().set_requires_grad(true);
  StepOutcome outcome;
  for (const std::vector<int64_t>& problems : Passes(batch)) {
    const Loss loss = CrossPass(batch, problems, place_of_pair, leaf);
    outcome.loss = outcome.loss.defined() ? outcome.loss + loss.value : loss.value;
    outcome.first = outcome.first.defined() ? outcome.first + loss.first : loss.first;
  }
  regions.backward(leaf.grad());
  outcome.gradient_norm = optimizer_.Step(GroupsOfCross(), rate);
  outcome.items = batch.problems;
  return outcome;
}

}  // namespace sightline
