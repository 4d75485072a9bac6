// What the indexes of stored generations find and take, beside each other: recall, latency, rate
// and memory at some recalls, and searches among the rows that filters let through.
//
//   index_benchmark --store S --index I --generation A --generation B [--threads 1] [--filters]
//                   [--recall 0.95] [--rate 1000]
//
// All are loaded at once, unless there is one, and take turns, so that ratios are of the same
// minutes.  The queries are the generations' probes, and so is the truth.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/cpu_name.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/command.h"
#include "common/config/table.h"
#include "common/rpc/cpu_check.h"
#include "loadtest/bench/filter_measure.h"
#include "loadtest/bench/measured_index.h"
#include "loadtest/bench/recalls.h"

namespace sightline {
namespace {

constexpr double kFilterRecall = 0.95;
const std::vector<double> kShares = {0.001, 0.01, 0.1, 0.5};

constexpr Command kIndexBenchmark = {
    "index_benchmark", "index_benchmark --store DIR --index NAME --generation NAME... [flags]",
    "Measures recall, latency and memory of stored indexes, by turns.", nullptr};

struct Options {
  std::string store, index, json;
  std::vector<std::string> generations, on_disk;
  std::vector<std::string> recalls;
  int threads = 1;
  int rounds = 5;
  int rate = 0;  // 0: as fast as it goes, and no other
  int filter_queries = 30;
  bool filters = false;
};

// One line of the table: an index at a recall.
struct Line {
  const MeasuredIndex* index = nullptr;
  double asked = 0;  // recall; 1 of an exact kind
  Measured measured;
  std::vector<double> paced;  // processor time of a search at the rate asked for, of each round
};

class Benchmark {
 public:
  explicit Benchmark(const Options& options) : options_(options), pool_(options.threads) {}

  absl::Status Run() {
    RETURN_IF_ERROR(OpenAll());
    RETURN_IF_ERROR(FindEfforts());
    for (int round = 0; round < options_.rounds; ++round) {
      for (Line& line : lines_) {
        RETURN_IF_ERROR(line.index->Time(&line.measured));
        if (options_.rate == 0) continue;
        ASSIGN_OR_RETURN(const double paced,
                         line.index->ProcessorTimeAt(line.measured.effort, options_.rate, round));
        line.paced.push_back(paced);
      }
    }
    Tell();
    if (options_.filters) RETURN_IF_ERROR(TellFilters());
    if (options_.json.empty()) return absl::OkStatus();
    std::ofstream(options_.json) << json_.dump(2) << "\n";
    return absl::OkStatus();
  }

 private:
  absl::Status OpenAll() {
    for (const std::string& name : options_.generations) RETURN_IF_ERROR(Open(name, false));
    for (const std::string& name : options_.on_disk) RETURN_IF_ERROR(Open(name, true));
    return absl::OkStatus();
  }

  absl::Status Open(const std::string& generation, bool on_disk) {
    ASSIGN_OR_RETURN(auto opened, MeasuredIndex::Open(options_.store, options_.index, generation,
                                                      on_disk, &pool_));
    std::fprintf(stderr, "%s: %s, loaded in %.1f s\n", generation.c_str(), opened->Name().c_str(),
                 opened->load_seconds());
    indexes_.push_back(std::move(opened));
    return absl::OkStatus();
  }

  absl::Status FindEfforts() {
    ASSIGN_OR_RETURN(const std::vector<double> recalls, ReadRecalls(options_.recalls));
    for (const auto& index : indexes_) {
      if (index->exact()) {
        ASSIGN_OR_RETURN(Measured measured, index->RecallAt(1));
        lines_.push_back({index.get(), 1, std::move(measured)});
        continue;
      }
      for (const double recall : recalls) {
        absl::StatusOr<Measured> measured = index->EffortFor(recall);
        if (absl::IsNotFound(measured.status())) {
          std::fprintf(stderr, "%s\n", std::string(measured.status().message()).c_str());
          continue;
        }
        RETURN_IF_ERROR(measured.status());
        lines_.push_back({index.get(), recall, *std::move(measured)});
      }
    }
    return absl::OkStatus();
  }

  static double Rate(const Line& line) {
    double sum = 0;
    for (const double seconds : line.measured.seconds) sum += seconds;
    return static_cast<double>(line.measured.seconds.size()) / sum;
  }

  void Tell() {
    Table table({{"index"},
                 {"bytes an item", true},
                 {"recall", true},
                 {"effort", true},
                 {"found of 10", true},
                 {"of 100", true},
                 {"p50 ms", true},
                 {"p99 ms", true},
                 {"a second", true},
                 {"to the first", true},
                 {"CPU ms at the rate", true}});
    json_["cpu"] = CpuName();
    json_["threads"] = options_.threads;
    json_["items"] = indexes_.front()->items();
    const double first = Rate(lines_.front());
    for (const Line& line : lines_) {
      const Measured& m = line.measured;
      const double p50 = 1e3 * Percentile(m.seconds, 0.5), p99 = 1e3 * Percentile(m.seconds, 0.99);
      const double paced_ms = 1e3 * Percentile(line.paced, 0.5);
      const std::string name = line.index->Name();
      table.AddRow({name, absl::StrFormat("%.0f", line.index->BytesAnItem()),
                    absl::StrFormat("%.2f", line.asked), absl::StrCat(m.effort),
                    absl::StrFormat("%.4f", m.recall_at_10),
                    absl::StrFormat("%.4f", m.recall_at_100), absl::StrFormat("%.3f", p50),
                    absl::StrFormat("%.3f", p99), absl::StrFormat("%.1f", Rate(line)),
                    absl::StrFormat("%.2f", Rate(line) / first),
                    line.paced.empty() ? "" : absl::StrFormat("%.3f", paced_ms)});
      json_["indexes"].push_back({{"generation", line.index->manifest().generation()},
                                  {"index", name},
                                  {"bytes_an_item", line.index->BytesAnItem()},
                                  {"resident_bytes", line.index->resident_bytes()},
                                  {"load_seconds", line.index->load_seconds()},
                                  {"asked", line.asked},
                                  {"effort", m.effort},
                                  {"recall_at_10", m.recall_at_10},
                                  {"recall_at_100", m.recall_at_100},
                                  {"p50_ms", p50},
                                  {"p99_ms", p99},
                                  {"queries_per_second", Rate(line)},
                                  {"to_the_first", Rate(line) / first}});
      if (!line.paced.empty()) {
        json_["indexes"].back()["processor_ms_at_rate"] = paced_ms;
        json_["indexes"].back()["rate"] = options_.rate;
      }
    }
    std::cout << CpuName() << ", " << options_.threads << " threads, " << indexes_.front()->items()
              << " items, " << indexes_.front()->queries().rows() << " queries, one at a time\n"
              << table.ToString() << std::flush;
  }

  absl::Status TellFilters() {
    Table table({{"index"},
                 {"share", true},
                 {"rows"},
                 {"found of 10", true},
                 {"exact"},
                 {"p50 ms", true},
                 {"scoring them alone, ms", true}});
    for (const auto& index : indexes_) {
      if (index->on_disk()) continue;  // the truth is scored row by row
      int effort = 1;
      if (!index->exact()) {
        ASSIGN_OR_RETURN(const Measured enough, index->EffortFor(kFilterRecall));
        effort = enough.effort;
      }
      ASSIGN_OR_RETURN(const std::vector<MeasuredFilter> filters,
                       MeasureFilters(*index, effort, kShares, options_.filter_queries, &pool_));
      for (const MeasuredFilter& filter : filters) {
        table.AddRow({index->Name(), absl::StrFormat("%.1f %%", 100 * filter.share),
                      PlaceName(filter.place), absl::StrFormat("%.3f", filter.recall),
                      filter.exact ? "yes" : "no", absl::StrFormat("%.3f", 1e3 * filter.seconds),
                      absl::StrFormat("%.3f", 1e3 * filter.scoring)});
        json_["filters"].push_back({{"generation", index->manifest().generation()},
                                    {"index", index->Name()},
                                    {"share", filter.share},
                                    {"place", PlaceName(filter.place)},
                                    {"recall", filter.recall},
                                    {"exact", filter.exact},
                                    {"p50_ms", 1e3 * filter.seconds},
                                    {"scoring_ms", 1e3 * filter.scoring}});
      }
    }
    std::cout << "\nsearches among some rows, at the effort for " << kFilterRecall << "\n"
              << table.ToString() << std::flush;
    return absl::OkStatus();
  }

  const Options& options_;
  ComputePool pool_;
  std::vector<std::unique_ptr<MeasuredIndex>> indexes_;
  std::vector<Line> lines_;
  nlohmann::ordered_json json_;
};

int RunIndexBenchmark(const std::vector<std::string>& args, const Console& console) {
  Options options;
  Flags flags;
  flags.String("store", "DIR", "store that has the generations", &options.store);
  flags.String("index", "NAME", "index that they are of", &options.index);
  flags.Strings("generation", "NAME", "one to measure, with its rows in memory; repeatable",
                &options.generations);
  flags.Strings("on-disk", "NAME", "one to measure, with its rows on disk; repeatable",
                &options.on_disk);
  flags.Int("threads", "of a search; default 1", 1, limits::kMaxThreads, &options.threads);
  flags.Int("rounds", "how often each query is asked; default 5", 1, 1000, &options.rounds);
  flags.Strings("recall", "R", "of approximate kinds; default 0.90, 0.95 and 0.99",
                &options.recalls);
  flags.Int(
      "rate",
      "asks as many times a second too, at random moments as a server is asked, and tells the "
      "processor time of a search then",
      1, 100000, &options.rate);
  flags.Switch("filters", "searches among some of the rows too, where rows are in memory",
               &options.filters);
  flags.Int("filter-queries", "of each kind of filter; default 30", 1, limits::kMaxProbeQueries,
            &options.filter_queries);
  flags.String("json", "FILE", "what was measured", &options.json);
  std::vector<std::string> words;
  int status = 0;
  if (!ParseArguments(kIndexBenchmark, &flags, args, console, &words, &status)) return status;
  if (options.store.empty() || options.index.empty() ||
      (options.generations.empty() && options.on_disk.empty()) || !words.empty()) {
    console.err << "index_benchmark: give --store, --index, and --generation or --on-disk\n";
    return kUsageError;
  }
  ComputePool::SingleThreadedLibraries();
  const absl::Status done = Benchmark(options).Run();
  if (done.ok()) return kSuccess;
  console.err << "index_benchmark: " << done.message() << "\n";
  return kFailure;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return 1;
  }
  return sightline::RunIndexBenchmark({argv + 1, argv + argc}, {std::cout, std::cerr});
}
