#include "loadtest/measure/load_result.h"

namespace sightline {
namespace {

using Counts = std::map<std::string, int64_t>;

void Add(const Counts& from, Counts& to) {
  for (const auto& [name, count] : from) to[name] += count;
}

double Share(int64_t part, int64_t whole, double of_nothing) {
  return whole == 0 ? of_nothing : static_cast<double>(part) / static_cast<double>(whole);
}

template <typename Counted>
void Add(const absl::optional<Counted>& from, absl::optional<Counted>& to) {
  if (!from.has_value()) return;
  if (!to.has_value()) to.emplace();
  to->Merge(*from);
}

}  // namespace

void RerankedCounts::Merge(const RerankedCounts& other) {
  answers += other.answers;
  in_time += other.in_time;
  asked += other.asked;
  scored += other.scored;
  judged += other.judged;
  right += other.right;
  retrieved_right += other.retrieved_right;
}

void FilteredCounts::Merge(const FilteredCounts& other) {
  answers += other.answers;
  matched += other.matched;
}

double FilteredCounts::mean_matched() const {
  return Share(matched, answers, 0);
}

void RecallCounts::Merge(const RecallCounts& other) {
  answers += other.answers;
  other_generation += other.other_generation;
  nearest += other.nearest;
  found += other.found;
}

double RecallCounts::recall() const {
  return Share(found, nearest, 1);
}

void Tally::Merge(const Tally& other) {
  count += other.count;
  ok += other.ok;
  degraded += other.degraded;
  Add(other.codes, codes);
  Add(other.degraded_reasons, degraded_reasons);
  Add(other.generations, generations);
  Add(other.precisions, precisions);
  Add(other.efforts, efforts);
  Add(other.filtered, filtered);
  Add(other.measured_recall, measured_recall);
  Add(other.check_failures, check_failures);
  shards_asked += other.shards_asked;
  shards_answered += other.shards_answered;
  Add(other.reranked, reranked);
  known_items_asked += other.known_items_asked;
  known_items_found += other.known_items_found;
  latency.Merge(other.latency);
  for (const auto& [stage, times] : other.stages) stages[stage].Merge(times);
}

int64_t Tally::wrong() const {
  int64_t wrong = 0;
  for (const auto& [name, count] : check_failures) {
    if (name != kLateAnswer) wrong += count;
  }
  return wrong;
}
int64_t Tally::late() const {
  const auto found = check_failures.find(std::string(kLateAnswer));
  return found == check_failures.end() ? 0 : found->second;
}
double Tally::error_share() const {
  return Share(failed(), count, 0);
}
double Tally::degraded_share() const {
  return Share(degraded, ok, 0);
}
double Tally::coverage() const {
  return Share(shards_answered, shards_asked, 1);
}
double Tally::recall() const {
  return Share(known_items_found, known_items_asked, 1);
}
double Tally::depth_share() const {
  return reranked.has_value() ? Share(reranked->scored, reranked->asked, 1) : 1;
}

Goodput GoodputOf(const RerankedCounts& reranked, absl::Duration length) {
  Goodput goodput;
  if (length > absl::ZeroDuration()) {
    goodput.rate = static_cast<double>(reranked.in_time) / absl::ToDoubleSeconds(length);
  }
  goodput.depth = Share(reranked.scored, reranked.answers, 0);
  goodput.asked_depth = Share(reranked.asked, reranked.answers, 0);
  if (reranked.judged > 0) {
    goodput.recall = Share(reranked.right, reranked.judged, 0);
    goodput.retrieved_recall = Share(reranked.retrieved_right, reranked.judged, 0);
  }
  return goodput;
}

}  // namespace sightline
