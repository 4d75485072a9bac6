// How fast pictures are decoded in threads of one process, and by a pool of decoders.
//
//   bazel run -c opt //tests/services/corpus_encoder:decode_rate -- FOLDER [THREADS]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "common/base/files.h"
#include "tests/services/corpus_encoder/test_decoders.h"

namespace sightline {
namespace {

constexpr int64_t kSide = 224;  // that pictures are reduced to

// Pictures that `decode` decodes a second, each picture once.
double Rate(const std::vector<std::string>& pictures, int thread_count,
            const std::function<bool(const std::string&)>& decode) {
  std::atomic<size_t> next{0}, done{0};
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (size_t k = next++; k < pictures.size(); k = next++) {
        if (decode(pictures[k])) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done) / absl::ToDoubleSeconds(absl::Now() - start);
}

int Main(const std::string& folder, int thread_count) {
  TestDecoders decoders;
  const auto names = ListFilesBelow(folder);
  if (!names.ok()) return std::fprintf(stderr, "%s\n", names.status().ToString().c_str()), 1;
  std::vector<std::string> pictures;
  for (const std::string& name : *names) pictures.push_back(*ReadFile(JoinPath(folder, name)));

  const auto in_thread = [](const std::string& bytes) {
    absl::StatusOr<Pixels> pixels = DecodeImage(bytes, DecodeLimits());
    return pixels.ok() && ReducePicture(*std::move(pixels), kSide).width > 0;
  };
  DecodeOrder order;
  order.sides = {kSide};
  order.admit = [](int64_t) { return absl::OkStatus(); };
  const auto in_process = [&](const std::string& bytes) {
    const auto picture = decoders.pool()->Decode(bytes, order, CallContext::Unbounded());
    return picture.ok() && picture->problem.empty();
  };
  // The best of a few, in turns: others may be using the machine.
  double threads = 0, processes = 0;
  for (int round = 0; round < 8; ++round) {
    threads = std::max(threads, Rate(pictures, thread_count, in_thread));
    processes = std::max(processes, Rate(pictures, thread_count, in_process));
  }
  std::printf("%zu pictures, %d threads: in them %.0f/s, by decoders %.0f/s (%.1f %%)\n",
              pictures.size(), thread_count, threads, processes, 100 * processes / threads);
  return 0;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: decode_rate FOLDER [THREADS]\n"), 2;
  return sightline::Main(argv[1], argc > 2 ? std::atoi(argv[2]) : 2);
}
