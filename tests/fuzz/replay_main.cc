// main() of a fuzz target's short mode, which needs neither fuzzer nor sanitizer: every seed,
// what is left of it when it is cut, and what becomes of it when some bytes are changed, the
// same in every run.  A target aborts where something does not hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMostCuts = 256;
constexpr int kChanges = 200;

void Try(const std::string& input) {
  // Of exactly that length, so that a tool sees a read beyond it; never null, as libFuzzer's.
  const std::unique_ptr<uint8_t[]> bytes(new uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), bytes.get());
  LLVMFuzzerTestOneInput(bytes.get(), input.size());
}

void Replay(const std::string& seed) {
  Try(seed);
  const size_t step = seed.size() / kMostCuts + 1;
  for (size_t length = 0; length < seed.size(); length += step) Try(seed.substr(0, length));
  if (seed.empty()) return;
  std::mt19937 random(1);
  for (int i = 0; i < kChanges; ++i) {
    std::string changed = seed;
    for (uint32_t k = 0; k <= random() % 4; ++k) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    Try(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      seeds.push_back(entry.path());
    }
  }
  std::sort(seeds.begin(), seeds.end());
  for (const std::string& path : seeds) {
    std::fprintf(stderr, "seed %s\n", path.c_str());  // the last one is the one that failed
    std::ifstream file(path, std::ios::binary);
    Replay(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  std::printf("cases: %zu passed, 0 failed\n", seeds.size());
  return seeds.empty() ? 1 : 0;
}
