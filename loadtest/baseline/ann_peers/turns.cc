#include "loadtest/baseline/ann_peers/turns.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int kWarmUpQueries = 32;
// More recall than this is no longer compared.
constexpr double kMostRecall = 0.9975;
// A sweep whose last two steps found less than this more has nothing left to find.
constexpr double kLeastGain = 0.0005;
// The efforts that are measured are at most so much slower than the front when they are tried once.
constexpr double kSlack = 1.5;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of the processor, in this thread.
double ThreadTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

absl::Status Try(const AnnCorpus& corpus, int k, Contender* contender, MeasuredEffort* measured) {
  contender->SetEffort(measured->effort);
  std::vector<int64_t> rows;
  const int64_t queries = corpus.queries.rows();
  double seconds = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const float* const query = corpus.queries.row(i).data();
    RETURN_IF_ERROR(contender->Search(query, kTruthDepth, &rows));
    measured->recall_100 += RecallAt(kTruthDepth, rows, corpus.truth[i]);
    const double start = ThreadTime();
    RETURN_IF_ERROR(contender->Search(query, k, &rows));
    seconds += ThreadTime() - start;
    measured->recall += RecallAt(k, rows, corpus.truth[i]);
  }
  measured->recall /= static_cast<double>(queries);
  measured->recall_100 /= static_cast<double>(queries);
  measured->round_seconds = {seconds / static_cast<double>(queries)};
  return absl::OkStatus();
}

bool HasNothingLeft(const std::vector<MeasuredEffort>& sweep, int k) {
  const size_t n = sweep.size();
  if (sweep.back().recall >= kMostRecall) return true;
  // A graph keeps k candidates at least, whatever less it is told.
  return n > 2 && sweep[n - 3].effort.breadth >= k &&
         sweep[n - 1].recall - sweep[n - 3].recall < kLeastGain;
}

absl::Status Answer(const AnnCorpus& corpus, const TurnOptions& options, Contender* contender,
                    MeasuredEffort* measured) {
  const int k = options.k;
  contender->SetEffort(measured->effort);
  std::vector<int64_t> rows;
  const int64_t queries = corpus.queries.rows();
  for (int64_t i = 0; i < std::min<int64_t>(queries, kWarmUpQueries); ++i) {
    RETURN_IF_ERROR(contender->Search(corpus.queries.row(queries - 1 - i).data(), k, &rows));
  }
  const double start = Now(), worked = ThreadTime();
  double before = start;
  for (int64_t i = 0; i < queries; ++i) {
    RETURN_IF_ERROR(contender->Search(corpus.queries.row(i).data(), k, &rows));
    const double now = Now();
    measured->seconds.push_back(static_cast<float>(now - before));
    before = now;
  }
  const double seconds = options.processor_time ? ThreadTime() - worked : before - start;
  measured->round_seconds.push_back(seconds / static_cast<double>(queries));
  return absl::OkStatus();
}

double Median(const std::vector<double>& values) {
  return QuartilesOf(values).median;
}

}  // namespace

absl::optional<double> MeasuredContender::SecondsAtRecall(double recall,
                                                          absl::optional<int> round) const {
  std::vector<RecallPoint> points;
  for (const MeasuredEffort& effort : efforts) {
    points.push_back({effort.recall, round.has_value() ? effort.round_seconds[*round]
                                                       : Median(effort.round_seconds)});
  }
  return SecondsAt(recall, points);
}

const MeasuredEffort* MeasuredContender::FastestAt(double recall) const {
  const MeasuredEffort* fastest = nullptr;
  for (const MeasuredEffort& effort : efforts) {
    if (effort.recall < recall) continue;
    if (fastest == nullptr || Median(effort.round_seconds) < Median(fastest->round_seconds)) {
      fastest = &effort;
    }
  }
  return fastest;
}

std::vector<MeasuredEffort> EffortsWorthTurns(std::vector<MeasuredEffort> tried, double least) {
  std::vector<RecallPoint> points;
  for (const MeasuredEffort& effort : tried) {
    points.push_back({effort.recall, effort.round_seconds[0]});
  }
  // What lies below `least` is needed once, so that there is something to go up from.
  double floor = 0;
  for (const RecallPoint& point : Front(points)) {
    if (point.recall < least) floor = point.recall;
  }
  std::vector<MeasuredEffort> kept;
  for (MeasuredEffort& effort : tried) {
    const absl::optional<double> front = SecondsAt(effort.recall, points);
    if (effort.recall < floor || effort.round_seconds[0] > kSlack * *front) continue;
    effort.round_seconds.clear();
    kept.push_back(std::move(effort));
  }
  return kept;
}

absl::Status ChooseEfforts(const AnnCorpus& corpus, int k, double least,
                           MeasuredContender* contender) {
  std::vector<MeasuredEffort> tried;
  for (const Sweep& sweep : contender->contender->Sweeps()) {
    std::vector<MeasuredEffort> efforts;
    for (const Effort& effort : sweep) {
      efforts.push_back({effort});
      RETURN_IF_ERROR(Try(corpus, k, contender->contender.get(), &efforts.back()));
      if (HasNothingLeft(efforts, k)) break;
    }
    std::move(efforts.begin(), efforts.end(), std::back_inserter(tried));
  }
  contender->efforts = EffortsWorthTurns(std::move(tried), least);
  return absl::OkStatus();
}

absl::Status TakeTurns(const AnnCorpus& corpus, const TurnOptions& options,
                       const std::function<void(int round)>& told,
                       std::vector<MeasuredContender>* contenders) {
  std::vector<std::pair<Contender*, MeasuredEffort*>> turns;
  for (MeasuredContender& contender : *contenders) {
    for (MeasuredEffort& effort : contender.efforts) {
      turns.emplace_back(contender.contender.get(), &effort);
    }
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < options.rounds; ++round) {
    std::shuffle(turns.begin(), turns.end(), random);
    for (const auto& [contender, effort] : turns) {
      RETURN_IF_ERROR(Answer(corpus, options, contender, effort));
    }
    told(round);
  }
  return absl::OkStatus();
}

int64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stoll(line.substr(8)) * 1024;
  }
  return 0;
}

}  // namespace sightline
