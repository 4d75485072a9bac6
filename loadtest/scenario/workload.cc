#include "loadtest/scenario/workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "loadtest/scenario/seeded_hash.h"

namespace sightline {
namespace {

enum Purpose : uint64_t { kChooseEntry = 1, kChooseTopK = 2, kChooseDepth = 3 };

Query MakeQuery(QueryKind kind, const std::string& value) {
  if (kind == QueryKind::kImage) return ImageQuery{value};
  if (kind == QueryKind::kItem) return ItemQuery{"", value};
  return TextQuery{value};
}

}  // namespace

int Workload::Weighted::Choose(double uniform) const {
  const auto place = std::upper_bound(cumulative.begin(), cumulative.end() - 1, uniform);
  return values[place - cumulative.begin()];
}

absl::StatusOr<Workload::Weighted> Workload::MakeWeighted(const std::vector<WeightedInt>& values,
                                                          absl::string_view what) {
  if (values.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " has no value"));
  Weighted weighted;
  double total = 0;
  for (const WeightedInt& value : values) {
    if (!(value.weight > 0) || !std::isfinite(value.weight)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": weight ", value.weight, " is not positive"));
    }
    total += value.weight;
    weighted.cumulative.push_back(total);
    weighted.values.push_back(value.value);
  }
  for (double& cumulative : weighted.cumulative) cumulative /= total;
  return weighted;
}

absl::StatusOr<Workload> Workload::Load(const Scenario& scenario, const ListItems& list_items) {
  std::vector<std::vector<SourceQuery>> queries;
  for (const MixEntry& entry : scenario.mix) {
    if (entry.kind == QueryKind::kItem && entry.queries.empty()) {
      ASSIGN_OR_RETURN(std::vector<std::string> ids, list_items(entry.index));
      ASSIGN_OR_RETURN(queries.emplace_back(), ItemQueries(std::move(ids), entry, scenario.seed));
    } else {
      ASSIGN_OR_RETURN(queries.emplace_back(), LoadQueries(entry, scenario.seed));
    }
  }
  return Create(scenario, std::move(queries));
}

absl::StatusOr<Workload> Workload::Create(const Scenario& scenario,
                                          std::vector<std::vector<SourceQuery>> queries) {
  if (scenario.mix.empty() || queries.size() != scenario.mix.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the mix has ", scenario.mix.size(),
                                                   " entries and there are ", queries.size(),
                                                   " lists of queries"));
  }
  Workload workload;
  workload.seed_ = scenario.seed;
  std::vector<WeightedInt> weights;
  std::vector<Entry> entries;
  for (size_t i = 0; i < queries.size(); ++i) {
    const MixEntry& spec = scenario.mix[i];
    if (queries[i].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("'", spec.name, "' has no query"));
    }
    Entry entry;
    entry.spec = spec;
    ASSIGN_OR_RETURN(entry.top_k, MakeWeighted(spec.top_k, "top_k"));
    ASSIGN_OR_RETURN(entry.depth, MakeWeighted(spec.depth, "depth"));
    entry.queries = std::move(queries[i]);
    entries.push_back(std::move(entry));
    weights.push_back({static_cast<int>(i), spec.weight});
    workload.kinds_.push_back(spec.name);
  }
  ASSIGN_OR_RETURN(workload.entry_, MakeWeighted(weights, "mix"));
  workload.entries_ = std::make_shared<const std::vector<Entry>>(std::move(entries));
  return workload;
}

PlannedRequest Workload::Ask(int kind, int64_t question) const {
  const Entry& entry = (*entries_)[kind];
  const SourceQuery& query = entry.queries[question];
  PlannedRequest planned;
  planned.kind = kind;
  planned.question = question;
  planned.request.index = entry.spec.index;
  planned.request.query = MakeQuery(entry.spec.kind, query.value);
  planned.request.reranker = entry.spec.reranker;
  planned.request.filter = entry.spec.filter;
  planned.request.effort = entry.spec.effort;
  planned.deadline = entry.spec.deadline;
  planned.known_items = query.known_items;
  return planned;
}

PlannedRequest Workload::Make(int64_t number) const {
  const uint64_t n = static_cast<uint64_t>(number);
  const int kind = entry_.Choose(SeededUniform(seed_, kChooseEntry, n));
  const Entry& entry = (*entries_)[kind];
  PlannedRequest planned = Ask(kind, static_cast<int64_t>(n % entry.queries.size()));
  planned.request.top_k = entry.top_k.Choose(SeededUniform(seed_, kChooseTopK, n));
  planned.request.depth = entry.depth.Choose(SeededUniform(seed_, kChooseDepth, n));
  return planned;
}

std::vector<PlannedRequest> Workload::ExactQuestions() const {
  std::vector<PlannedRequest> questions;
  for (size_t kind = 0; kind < entries_->size(); ++kind) {
    const Entry& entry = (*entries_)[kind];
    if (entry.spec.measure_recall == 0) continue;
    const int64_t count = static_cast<int64_t>(entry.queries.size());
    for (int64_t question = 0; question < std::min(count, kMaxExactQuestions); ++question) {
      PlannedRequest& planned = questions.emplace_back(Ask(static_cast<int>(kind), question));
      planned.request.top_k = entry.spec.measure_recall;
      planned.request.depth = 0;
      planned.request.effort = {absl::nullopt, limits::kMaxEffort};
      planned.request.want_records = false;
      planned.deadline = kExactDeadline;
    }
  }
  return questions;
}

}  // namespace sightline
