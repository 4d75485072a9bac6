#include "common/training/option_visitors.h"

namespace sightline {

void VisitRate(const std::string& name, RateOptions* rate, OptionVisitor* v) {
  v->Number(name + ".peak", &rate->peak, 1e-12, 1);
  v->Count(name + ".warmup_steps", &rate->warmup_steps, 0, kMostCount);
  VisitChoice(name + ".decay", {"cosine", "linear", "constant", "step", "inverse_root"},
              &rate->decay, v);
  v->Number(name + ".final_share", &rate->final_share, 0, 1);
  v->Count(name + ".drop_every", &rate->drop_every, 0, kMostCount);
  v->Number(name + ".drop_factor", &rate->drop_factor, 0, 1);
}

void VisitAdamW(const std::string& name, AdamWOptions* adamw, OptionVisitor* v) {
  v->Number(name + ".beta1", &adamw->beta1, 0, 0.999999);
  v->Number(name + ".beta2", &adamw->beta2, 0, 0.9999999);
  v->Number(name + ".epsilon", &adamw->epsilon, 1e-12, 1);
  v->Number(name + ".weight_decay", &adamw->weight_decay, 0, 10);
  VisitChoice(name + ".decays", {"matrices", "by_name", "all"}, &adamw->decays, v);
  v->Number(name + ".clip_norm", &adamw->clip_norm, 0, 1e9);
}

void CheckRate(const std::string& rate_name, const RateOptions& rate, const RateOptions& usual,
               OptionChecker* checker) {
  checker->Require(rate.decay != DecayShape::kInverseRoot || rate.warmup_steps > 0,
                   absl::StrCat(rate_name,
                                ".warmup_steps is 0, but with decay inverse_root the rate "
                                "falls from where they end"));
  const bool ends_at_share = rate.decay == DecayShape::kCosine || rate.decay == DecayShape::kLinear;
  checker->Require(ends_at_share || rate.final_share == usual.final_share,
                   absl::StrCat(rate_name, ".final_share is ", rate.final_share,
                                ", but only decays cosine and linear end at a share of the peak"));
  const std::string name = rate_name + ".drop_every";
  if (rate.decay == DecayShape::kStep) {
    checker->Require(rate.drop_every > 0,
                     absl::StrCat(name, " is 0, but with decay step it says when the rate drops"));
  } else {
    checker->Require(rate.drop_every == 0, absl::StrCat(name, " is ", rate.drop_every,
                                                        ", but only decay step has drops"));
  }
}

}  // namespace sightline
