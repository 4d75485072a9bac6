// Our exact search on a GPU beside FAISS's, in one run: the same rows of float16 and queries, by
// turns.
//
//   faiss_check --rows 1000000 --dimension 768 --top_k 20 --device 0 --json faiss.json
//
// Ends with 0 if FAISS finds nearly what ours does (its sums are others), with 1 if not, with 3
// where there is no GPU that can be used.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "common/index/device_form.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"
#include "deploy/gpu/check_output.h"
#include "deploy/gpu/check_tools.h"
#include "deploy/gpu/faiss_flat.h"
#include "deploy/gpu/made_up_rows.h"
#include "nlohmann/json.hpp"

namespace sightline {
namespace {

// Of our rows, that FAISS finds.  It rounds sums, so that the last of a list may be another.
constexpr double kLeastShared = 0.98;

struct Options {
  int64_t rows = 1000000;
  int dimension = 768;
  int top_k = 20;
  int device = 0;
  std::string json;
};

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "faiss_check: %s\nusage: faiss_check [--rows N] [--dimension N] [--top_k N] "
               "[--device N] [--json FILE]\n",
               std::string(problem).c_str());
  std::exit(2);
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const absl::string_view name = argv[i];
    if (i + 1 == argc) Usage(absl::StrCat(name, " needs a value"));
    const absl::string_view value = argv[i + 1];
    const bool good = name == "--rows"        ? absl::SimpleAtoi(value, &options.rows)
                      : name == "--dimension" ? absl::SimpleAtoi(value, &options.dimension)
                      : name == "--top_k"     ? absl::SimpleAtoi(value, &options.top_k)
                      : name == "--device"    ? absl::SimpleAtoi(value, &options.device)
                                              : name == "--json";
    if (!good) Usage(absl::StrCat(name, " ", value, " is no argument"));
    if (name == "--json") options.json = std::string(value);
  }
  if (options.rows < 1 || options.dimension < 1 || options.top_k < 1 || options.top_k > 1000 ||
      options.device < 0) {
    Usage("--rows, --dimension and --top_k are 1 at least, --top_k 1000 at most, --device 0");
  }
  return options;
}

// What FAISS has found of queries that are searched again and again.
struct FaissLists {
  std::vector<float> scores;
  std::vector<int64_t> rows;
};

void SearchByFaiss(FaissFlat& faiss, const EmbeddingMatrix& queries, int top_k, FaissLists* lists) {
  lists->scores.resize(queries.rows() * top_k);
  lists->rows.resize(queries.rows() * top_k);
  const absl::Status searched = faiss.Search(queries.values().data(), queries.rows(), top_k,
                                             lists->scores.data(), lists->rows.data());
  if (!searched.ok()) Die(searched, 1);
}

// The share of our rows that are FAISS's as well.
double SharedBy(const Lists& ours, const FaissLists& theirs, int top_k) {
  int64_t shared = 0, all = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const auto begin = theirs.rows.begin() + static_cast<std::ptrdiff_t>(i * top_k);
    for (const Neighbor& neighbor : ours[i]) {
      ++all;
      shared += std::find(begin, begin + top_k, neighbor.row) != begin + top_k;
    }
  }
  return all == 0 ? 1 : static_cast<double>(shared) / static_cast<double>(all);
}

double Median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

int Run(const Options& options) {
  const auto devices = ValueOrDie(CudaScanDevices(), 3);
  const std::string name = ValueOrDie(devices->Describe(options.device), 3).name;
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::vector<uint16_t> numbers = MadeUpRows(options.rows, options.dimension, &pool);
  const VectorView rows = {numbers.data(), options.rows, options.dimension, options.dimension,
                           Dtype::kFloat16};
  std::vector<float> wide(numbers.size());
  Float16ToFloat32(reinterpret_cast<const char*>(numbers.data()), numbers.size(), wide.data());
  const auto faiss =
      ValueOrDie(FaissFlat::Make(wide.data(), options.rows, options.dimension, options.device), 1);
  auto scan =
      ValueOrDie(devices->Load(rows, /*order=*/{}, options.device, CallContext::Unbounded()), 3);
  const auto ours = ValueOrDie(OpenDeviceFlatIndex(rows, std::move(scan), &pool), 1);
  std::printf("%lld rows of %d, top %d on %s\n", static_cast<long long>(options.rows),
              options.dimension, options.top_k, name.c_str());
  SearchOptions search;
  search.top_k = options.top_k;
  nlohmann::json json = {{"program", "faiss_check"},
                         {"device", name},
                         {"rows", options.rows},
                         {"dimension", options.dimension},
                         {"top_k", options.top_k}};
  bool good = true;
  for (const int batch : kBatches) {
    const EmbeddingMatrix queries = MadeUpQueries(batch, options.dimension);
    FaissLists theirs;
    std::vector<double> our_seconds, their_seconds;
    for (int round = 0; round < kRounds; ++round) {
      our_seconds.push_back(MedianSeconds(1, [&](int) { Search(*ours, queries, search); }));
      their_seconds.push_back(
          MedianSeconds(1, [&](int) { SearchByFaiss(*faiss, queries, options.top_k, &theirs); }));
    }
    const double shared = SharedBy(Search(*ours, queries, search), theirs, options.top_k);
    const double seconds = Median(our_seconds), faiss_seconds = Median(their_seconds);
    std::printf("batch %3d  %9.3f ms, FAISS %9.3f ms: %5.2f times as fast; FAISS finds %.1f %%\n",
                batch, seconds * 1e3, faiss_seconds * 1e3, faiss_seconds / seconds, shared * 100);
    json["searches"].push_back({{"batch", batch},
                                {"seconds", seconds},
                                {"faiss_seconds", faiss_seconds},
                                {"shared", shared}});
    good = good && shared >= kLeastShared;
  }
  if (!good) std::printf("FAISS finds something else: less than %.0f %%\n", kLeastShared * 100);
  return WriteJson(options.json, json) && good ? 0 : 1;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  sightline::ShowEachLine();
  return sightline::Run(sightline::ReadOptions(argc, argv));
}
