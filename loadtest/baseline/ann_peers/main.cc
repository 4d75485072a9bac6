// Approximate search by ours and by its peers, FAISS and hnswlib, over the same vectors: each
// one's rate at a recall, and the ratio of ours, of the same rounds.
//
//   ann_peers --cache DIR [--items N] [--only NAME]...      (ann_peers.sh starts it)
//
// Indexes are built once and kept below the cache, so that the next run only measures.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/compute_pool.h"
#include "common/base/cpu_name.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/command.h"
#include "common/config/table.h"
#include "common/rpc/cpu_check.h"
#include "loadtest/baseline/ann_peers/ann_corpus.h"
#include "loadtest/baseline/ann_peers/ann_report.h"
#include "loadtest/baseline/ann_peers/faiss_contender.h"
#include "loadtest/baseline/ann_peers/hnswlib_contender.h"
#include "loadtest/baseline/ann_peers/our_contenders.h"
#include "loadtest/baseline/ann_peers/turns.h"
#include "loadtest/bench/recalls.h"
#include "loadtest/synthesize/synthetic_vectors.h"

namespace sightline {
namespace {

constexpr Command kCommand = {
    "ann_peers", "ann_peers --cache DIR [flags]",
    "Measures our indexes, FAISS's and hnswlib's by turns, one query at a time.", nullptr};

struct Options {
  std::string cache;
  std::string store;
  int64_t items = 100'000;
  int64_t queries = 1'000;
  int64_t seed = 1;
  int dimension = 768;
  int lists = 0;
  int top_k = 10;
  int rounds = 5;
  int build_threads = 1;
  std::vector<std::string> recalls;
  std::vector<std::string> ours;
  std::vector<std::string> faiss;
  std::vector<std::string> only;
  std::string json;
  bool processor_time = false;
  bool rebuild = false;
  bool list = false;
};

void Define(Options* options, Flags* flags) {
  flags->String("cache", "DIR", "where indexes that were built are kept", &options->cache);
  flags->String("store", "DIR", "takes its pictures and captions instead of synthetic vectors",
                &options->store);
  flags->Int("items", "default 100000", 1000, 100'000'000, &options->items);
  flags->Int("queries", "default 1000", 1, 1'000'000, &options->queries);
  flags->Int("seed", "another seed, other vectors; default 1", 0, INT64_MAX, &options->seed);
  flags->Int("dimension", "default 768", 1, limits::kMaxDimension, &options->dimension);
  flags->Int("lists", "of inverted files; default: about four times the root of the items", 1,
             1 << 20, &options->lists);
  flags->Int("top-k", "default 10", 1, kTruthDepth, &options->top_k);
  flags->Int("rounds", "default 5", 1, 1000, &options->rounds);
  flags->Int("build-threads", "default 1", 1, limits::kMaxThreads, &options->build_threads);
  flags->Strings("recall", "R", "that rates are told at; default 0.90, 0.95 and 0.99",
                 &options->recalls);
  flags->Strings("ours", "SPEC", "an index of ours more: \"ivf code=pq4 list_count=4096\"",
                 &options->ours);
  flags->Strings("faiss", "FACTORY", "an index of FAISS more, by its index_factory",
                 &options->faiss);
  flags->Strings("only", "NAME", "only contenders whose names begin so", &options->only);
  flags->String("json", "FILE", "writes the figures there too", &options->json);
  flags->Switch("processor-time", "rates by that, for a machine that has other work",
                &options->processor_time);
  flags->Switch("rebuild", "builds indexes that are there already", &options->rebuild);
  flags->Switch("list", "prints the names of the contenders and ends", &options->list);
}

// A power of two near 4 sqrt(items), as FAISS's guidelines have it.
int ListsFor(int64_t items) {
  int lists = 16;
  while (int64_t{lists} * lists < 8 * items) lists *= 2;
  return lists;
}

absl::StatusOr<std::vector<MeasuredContender>> AllContenders(const Options& options, int64_t items,
                                                             int dimension) {
  const std::string lists =
      absl::StrCat("IVF", options.lists > 0 ? options.lists : ListsFor(items));
  std::vector<std::string> factories = {
      "HNSW16",
      "HNSW32",
      "HNSW32,SQ8",
      absl::StrCat(lists, ",Flat"),
      absl::StrCat(lists, ",SQ8"),
      absl::StrCat(lists, ",PQ", std::max(1, dimension / 4), "x4fs,RFlat"),
  };
  factories.insert(factories.end(), options.faiss.begin(), options.faiss.end());
  std::vector<std::string> specs = OurSpecs();
  specs.insert(specs.end(), options.ours.begin(), options.ours.end());
  std::vector<std::unique_ptr<Contender>> all;
  for (const std::string& spec : specs) {
    ASSIGN_OR_RETURN(auto contender, OurContender(spec, items, dimension));
    all.push_back(std::move(contender));
  }
  for (const std::string& factory : factories) all.push_back(FaissContender(factory));
  for (const int links : {16, 32}) all.push_back(HnswlibContender(links));

  std::vector<MeasuredContender> wanted;
  for (std::unique_ptr<Contender>& contender : all) {
    const std::string& name = contender->name();
    if (options.only.empty() ||
        std::any_of(options.only.begin(), options.only.end(),
                    [&name](const std::string& only) { return absl::StartsWith(name, only); })) {
      wanted.emplace_back().contender = std::move(contender);
    }
  }
  if (!wanted.empty()) return wanted;
  return absl::InvalidArgumentError("--only leaves nobody; --list prints the names");
}

// Of the processor, in all threads: the same on a machine that has other work.
double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Builds what is not there yet.  How long that took lies beside the index.
absl::Status Prepare(const AnnCorpus& corpus, const Options& options, MeasuredContender* measured) {
  const Contender& contender = *measured->contender;
  const std::string path = JoinPath(options.cache, absl::StrCat(corpus.key, "-", contender.name()));
  const std::string seconds_path = path + ".seconds";
  if (options.rebuild || !FileExists(seconds_path)) {
    std::cerr << "building " << contender.name() << "\n";
    const double start = ProcessorSeconds();
    RETURN_IF_ERROR(contender.Build(corpus.items, options.build_threads, path));
    const double seconds = ProcessorSeconds() - start;
    RETURN_IF_ERROR(WriteFileAtomically(seconds_path, absl::StrFormat("%.1f\n", seconds)));
  }
  ASSIGN_OR_RETURN(const std::string seconds, ReadFile(seconds_path, 64));
  if (!absl::SimpleAtod(seconds, &measured->build_seconds)) {
    return absl::DataLossError(absl::StrCat(seconds_path, " is no number; remove it"));
  }
  RETURN_IF_ERROR(measured->contender->Share(corpus.items));
  malloc_trim(0);
  const int64_t before = ResidentBytes();
  RETURN_IF_ERROR(measured->contender->Load(corpus.items, path));
  // What the first search takes is part of it.
  measured->contender->SetEffort(measured->contender->Sweeps().front().front());
  std::vector<int64_t> rows;
  RETURN_IF_ERROR(measured->contender->Search(corpus.queries.row(0).data(), options.top_k, &rows));
  malloc_trim(0);
  measured->bytes = ResidentBytes() - before + contender.SharedBytes(corpus.items);
  std::cerr << contender.name() << ": " << measured->bytes / 1'000'000 << " MB\n";
  return absl::OkStatus();
}

absl::StatusOr<AnnCorpus> MakeCorpus(const Options& options) {
  ComputePool pool(options.build_threads);
  if (!options.store.empty()) return ReadAnnCorpus(options.store, options.queries, &pool);
  VectorSpec spec;
  spec.seed = options.seed;
  spec.dimension = options.dimension;
  spec.clusters = ClustersFor(options.items);
  return DrawAnnCorpus(spec, options.items, options.queries, &pool);
}

absl::Status Measure(const AnnCorpus& corpus, const Options& options, AnnReport* report) {
  RETURN_IF_ERROR(MakeDirectories(options.cache));
  for (MeasuredContender& contender : report->contenders) {
    RETURN_IF_ERROR(Prepare(corpus, options, &contender));
  }
  for (MeasuredContender& contender : report->contenders) {
    RETURN_IF_ERROR(ChooseEfforts(corpus, options.top_k, report->recalls.front(), &contender));
    std::cerr << contender.contender->name() << ": " << contender.efforts.size() << " efforts\n";
  }
  TurnOptions turns;
  turns.k = options.top_k;
  turns.rounds = options.rounds;
  turns.processor_time = options.processor_time;
  return TakeTurns(
      corpus, turns, [](int round) { std::cerr << "round " << round + 1 << "\n"; },
      &report->contenders);
}

// What is known before anything is measured.
AnnReport Begin(const AnnCorpus& corpus, const Options& options) {
  AnnReport report;
  getloadavg(&report.load, 1);
  report.cpu = CpuName();
  report.items = corpus.items.rows;
  report.queries = corpus.queries.rows();
  report.top_k = options.top_k;
  report.rounds = options.rounds;
  report.processor_time = options.processor_time;
  report.items_are =
      absl::StrCat(WithThousands(corpus.items.rows), " x ", corpus.items.dimension,
                   options.store.empty() ? absl::StrCat(", seed ", options.seed) : " of a store");
  return report;
}

int Run(const std::vector<std::string>& args, const Console& console) {
  Options options;
  Flags flags;
  Define(&options, &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kCommand, &flags, args, console, &words, &status)) return status;
  if (!words.empty()) {
    return UsageError(kCommand, absl::StrCat("unknown argument '", words[0], "'"), console);
  }
  const absl::StatusOr<std::vector<double>> recalls = ReadRecalls(options.recalls);
  if (!recalls.ok()) return UsageError(kCommand, recalls.status().message(), console);
  if (options.list) {
    absl::StatusOr<std::vector<MeasuredContender>> contenders =
        AllContenders(options, options.items, options.dimension);
    if (!contenders.ok()) return UsageError(kCommand, contenders.status().message(), console);
    for (const MeasuredContender& contender : *contenders) {
      console.out << contender.contender->name() << "\n";
    }
    return kSuccess;
  }
  if (options.cache.empty()) return UsageError(kCommand, "--cache is missing", console);
  const absl::StatusOr<AnnCorpus> corpus = MakeCorpus(options);
  if (!corpus.ok()) return Fail(corpus.status(), console);
  absl::StatusOr<std::vector<MeasuredContender>> contenders =
      AllContenders(options, corpus->items.rows, corpus->items.dimension);
  if (!contenders.ok()) return UsageError(kCommand, contenders.status().message(), console);
  AnnReport report = Begin(*corpus, options);
  report.recalls = *recalls;
  report.contenders = *std::move(contenders);
  ComputePool::SingleThreadedLibraries();
  const absl::Status measured = Measure(*corpus, options, &report);
  if (!measured.ok()) return Fail(measured, console);
  console.out << TextOf(report) << std::flush;
  if (options.json.empty()) return kSuccess;
  const absl::Status written = WriteFileAtomically(options.json, JsonOf(report));
  return written.ok() ? kSuccess : Fail(written, console);
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return sightline::kFailure;
  }
  return sightline::WithOutput(
      sightline::Run(std::vector<std::string>(argv + 1, argv + argc), {std::cout, std::cerr}));
}
