// What the programs themselves end with, by the one convention (common/config/exit_status.h): run
// as a Job runs them, interrupted, on a disk that is full or fails, and asking where nobody
// answers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/config/exit_status.h"
#include "loadtest/fleet/process.h"
#include "tests/common/image/encode.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

constexpr char kEncoder[] = "services/corpus_encoder/corpus_encoder";
constexpr char kTrainer[] = "services/trainer/trainer";
constexpr char kEvaluator[] = "services/evaluator/evaluator";
constexpr char kRouter[] = "services/router/router";
constexpr char kControl[] = "services/sightlinectl/sightlinectl";
constexpr char kSmallControl[] = "services/sightlinectl/sightlinectl_small";
constexpr char kKiller[] = "tests/services/corpus_encoder/libkill_at.so";

using Words = std::vector<std::string>;

// What happens to a program at its n-th call that changes a file (kill_at.cc).
struct Trouble {
  const char* name;  // KILL_SIGNAL or KILL_ERRNO
  int number;
};
constexpr Trouble kInterrupted = {"KILL_SIGNAL", SIGTERM};
constexpr Trouble kDiskFull = {"KILL_ERRNO", ENOSPC};
constexpr Trouble kDiskFails = {"KILL_ERRNO", EIO};
constexpr Trouble kForbidden = {"KILL_ERRNO", EACCES};

class Programs {
 public:
  std::unique_ptr<Process> Start(const Words& command) {
    auto process = Process::Start(command, log());
    REQUIRE(process.ok());
    return *std::move(process);
  }
  int Run(const Words& command) {
    const int status = *Start(command)->Wait();
    UNSCOPED_INFO(EndOfLog(log(), 10));
    return status;
  }
  int RunWith(Trouble trouble, int call, const Words& command) {
    Words all = {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", kKiller),
                 absl::StrCat("KILL_AT=", call), absl::StrCat(trouble.name, "=", trouble.number),
                 // The address sanitizer wants to come first, and need not.
                 "ASAN_OPTIONS=verify_asan_link_order=0"};
    all.insert(all.end(), command.begin(), command.end());
    return Run(all);
  }
  std::string log() const { return dir.File("log"); }

  TempDir dir;
};

// Pictures with captions, below a folder of its own.
std::string MakePictures(const TempDir& dir, int count) {
  const std::string folder = dir.File("pictures");
  REQUIRE(MakeDirectories(folder).ok());
  std::string captions;
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("p", i, ".png");
    Pixels pixels = Gradient(24, 24);
    pixels.rgb[0] = static_cast<uint8_t>(i);
    REQUIRE(WriteFileAtomically(JoinPath(folder, name), EncodePng(pixels)).ok());
    absl::StrAppend(&captions, R"({"path": ")", name, R"(", "captions": [")",
                    std::string(1 + i % 9, 'b'), " bird\"]}\n");
  }
  REQUIRE(WriteFileAtomically(JoinPath(folder, "captions.jsonl"), captions).ok());
  return folder;
}

// A port on which connections are taken and nothing is ever said.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_.get(), 4) == 0);
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  const std::string& address() const { return address_; }

  // Until somebody asks.
  Descriptor Accept() const {
    Descriptor caller(::accept(socket_.get(), nullptr, nullptr));
    REQUIRE(caller.get() >= 0);
    return caller;
  }

 private:
  const Descriptor socket_;
  std::string address_;
};

// Held by somebody else while it lives.
class HeldLock {
 public:
  explicit HeldLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    REQUIRE(::flock(file_.get(), LOCK_EX | LOCK_NB) == 0);
  }

 private:
  const Descriptor file_;
};

TEST_CASE_METHOD(Programs,
                 "corpus_encoder: what may pass is 75, and the next run comes to its end") {
  const std::string store = dir.File("store");
  const std::string model = MakeBundle(store, TinyManifest()).id;
  const Words command = {kEncoder,
                         "--store",
                         store,
                         "--model",
                         model,
                         "--corpus",
                         absl::StrCat("folder:", MakePictures(dir, 40))};
  // Before there is a work folder, and in the middle of the work.
  REQUIRE(RunWith(kInterrupted, 1, command) == kRunAgain);
  for (const Trouble& trouble : {kInterrupted, kDiskFull, kDiskFails}) {
    CAPTURE(trouble.name, trouble.number);
    REQUIRE(RunWith(trouble, 30, command) == kRunAgain);
  }
  REQUIRE(RunWith(kForbidden, 30, command) == kFailure);
  {
    const HeldLock other(JoinPath(store, "work/images/LOCK"));
    REQUIRE(Run(command) == kRunAgain);
  }
  REQUIRE(Run(command) == kSuccess);
}

TEST_CASE_METHOD(Programs,
                 "corpus_encoder: mistakes are 2, and what no other run would mend is 1") {
  REQUIRE(Run({kEncoder}) == kUsageError);
  REQUIRE(Run({kEncoder, "--nonsense"}) == kUsageError);
  REQUIRE(Run({kEncoder, "--config", dir.File("none.yaml")}) == kUsageError);
  REQUIRE(WriteFileAtomically(dir.File("bad.yaml"), "colour: red\n").ok());
  REQUIRE(Run({kEncoder, "--config", dir.File("bad.yaml")}) == kUsageError);
  REQUIRE(Run({kEncoder, "--store", dir.path(), "--model", std::string(64, 'a'), "--corpus",
               absl::StrCat("folder:", MakePictures(dir, 2))}) == kFailure);
}

// Few and small: what it learns is no matter.
constexpr char kTrainConfig[] = R"(
threads: 1
device: cpu
combination: replace
bi: {epochs: 2, batch_size: 4, distractors: 0}
joint: {epochs: 1, queries: 2, negatives: 2, random_negatives: 1, mined: 2}
validation: {every: 0, depth: 3}
)";
constexpr char kTrainModel[] = R"({
  "family": "oscar",
  "tokenizer": {"kind": "WORDPIECE", "vocabularyFile": "vocab.txt", "lowercase": true,
                "maxTokenCount": 12},
  "embedding": {"dimension": 16, "metric": "COSINE"},
  "crossEncoder": {"scoreKind": "softmax_match", "combination": "replace"},
  "transformer": {"layerCount": 1, "hiddenSize": 16, "headCount": 2, "intermediateSize": 16,
                  "positionCount": 16, "tokenTypeCount": 2, "regionFeatureSize": 14,
                  "maxRegionCount": 16, "regionLayerNorm": true, "layerNormEpsilon": 1e-12},
  "gridExtractor": {"imageSize": 16, "stages": [{"channelCount": 8}, {"channelCount": 8}],
                    "mean": [0.5, 0.5, 0.5], "standardDeviation": [0.5, 0.5, 0.5]}
})";

TEST_CASE_METHOD(Programs, "trainer: what may pass is 75 for both commands, and each goes on") {
  const std::string model = dir.File("model.json"), config = dir.File("train.yaml");
  const std::string set = dir.File("set");
  REQUIRE(WriteFileAtomically(model, kTrainModel).ok());
  REQUIRE(WriteFileAtomically(config, kTrainConfig).ok());
  const Words prepare = {kTrainer,      "prepare",   "--out",
                         set,           "--corpus",  absl::StrCat("folder:", MakePictures(dir, 40)),
                         "--languages", "en",        "--model-config",
                         model,         "--threads", "1"};
  for (const Trouble& trouble : {kInterrupted, kDiskFull, kDiskFails}) {
    CAPTURE(trouble.name, trouble.number);
    REQUIRE(RunWith(trouble, 3, prepare) == kRunAgain);
  }
  REQUIRE(RunWith(kForbidden, 3, prepare) == kFailure);
  REQUIRE(Run(prepare) == kSuccess);

  const Words train = {kTrainer,         "train", "--config", config,
                       "--data",         set,     "--out",    dir.File("run"),
                       "--model-config", model,   "--store",  dir.File("store")};
  for (const Trouble& trouble : {kDiskFull, kInterrupted}) {
    CAPTURE(trouble.name);
    REQUIRE(RunWith(trouble, 3, train) == kRunAgain);
  }
  REQUIRE(FileExists(dir.File("run/checkpoints")));
  REQUIRE(Run(train) == kSuccess);
}

TEST_CASE_METHOD(Programs, "trainer: mistakes are 2, and what no other run would mend is 1") {
  REQUIRE(Run({kTrainer}) == kUsageError);
  REQUIRE(Run({kTrainer, "prepare"}) == kUsageError);
  REQUIRE(WriteFileAtomically(dir.File("bad.yaml"), "colour: red\n").ok());
  REQUIRE(Run({kTrainer, "train", "--config", dir.File("bad.yaml")}) == kUsageError);
  REQUIRE(Run({kTrainer, "prepare", "--out", dir.File("set"), "--corpus", "folder:/nowhere"}) ==
          kFailure);
}

TEST_CASE_METHOD(Programs, "evaluator: a router that does not answer is 75, and so is a signal") {
  const SilentServer router;
  REQUIRE(WriteFileAtomically(dir.File("q"), R"({"query": "fish", "expect": ["a"]})").ok());
  const auto questions = [&](const std::string& address) {
    return Words{kEvaluator, "questions", "--questions", dir.File("q"), "--router", address};
  };
  REQUIRE(Run(questions("127.0.0.1:1")) == kRunAgain);
  for (const int signal : {SIGTERM, SIGINT}) {
    const auto asking = Start(questions(router.address()));
    const Descriptor caller = router.Accept();
    REQUIRE(asking->Signal(signal).ok());
    REQUIRE(*asking->Wait() == kRunAgain);
  }
  REQUIRE(absl::StrContains(EndOfLog(log(), 3), "interrupted; run the same command again"));
  const TinyStore store = MakeTinyStore(dir.File("store"), 6);
  const Words measure = {kEvaluator, "measure",     "--store",   store.path,
                         "--router", "127.0.0.1:1", "--timeout", "1s"};
  REQUIRE(Run(measure) == kRunAgain);
  REQUIRE(Run({kEvaluator, "measure", "--store", dir.File("nowhere")}) == kFailure);
  REQUIRE(Run({kEvaluator, "measure"}) == kUsageError);
}

TEST_CASE_METHOD(Programs, "sightlinectl: nobody who answers is 75, and so is a signal") {
  const SilentServer router;
  const auto query = [&](const std::string& address, const char* timeout) {
    return Words{kSmallControl, "query", "fish", "--router", address, "--timeout", timeout};
  };
  REQUIRE(Run(query("127.0.0.1:1", "5s")) == kRunAgain);
  REQUIRE(Run(query(router.address(), "50ms")) == kRunAgain);
  const Descriptor impatient = router.Accept();
  const auto asking = Start(query(router.address(), "1h"));
  const Descriptor caller = router.Accept();
  REQUIRE(asking->Signal(SIGTERM).ok());
  REQUIRE(*asking->Wait() == kRunAgain);
}

TEST_CASE_METHOD(Programs, "sightlinectl on a store ends by the convention") {
  const TinyStore store = MakeTinyStore(dir.File("store"), 6);
  const Words publish = {kSmallControl,   "publish", kTinyImages,
                         kTinyGeneration, "--store", store.path};
  for (const Trouble& trouble : {kInterrupted, kDiskFull, kDiskFails}) {
    CAPTURE(trouble.name, trouble.number);
    REQUIRE(RunWith(trouble, 1, publish) == kRunAgain);
  }
  REQUIRE(RunWith(kForbidden, 1, publish) == kFailure);
  {
    const HeldLock other(JoinPath(IndexDirectory(store.path, kTinyImages), ".publishing"));
    REQUIRE(Run(publish) == kRunAgain);
  }
  REQUIRE(Run(publish) == kSuccess);
  REQUIRE(Run({kSmallControl, "publish", kTinyImages, "g9", "--store", store.path}) == kFailure);
  REQUIRE(Run({kSmallControl, "prune", "films", "--store", store.path}) == kSuccess);
  REQUIRE(Run({kSmallControl, "prune", "films", "--store", dir.File("none")}) == kFailure);
}

TEST_CASE_METHOD(Programs, "the small sightlinectl says where the commands are that it lacks") {
  const Words convert = {"convert", "none.pt", "--vocab", "none.txt", "--out", dir.File("store")};
  Words small = {kSmallControl}, whole = {kControl};
  small.insert(small.end(), convert.begin(), convert.end());
  whole.insert(whole.end(), convert.begin(), convert.end());
  REQUIRE(Run(small) == kUsageError);
  REQUIRE(absl::StrContains(EndOfLog(log(), 1), "the whole one is in the image `sightline`"));
  REQUIRE(Run(whole) == kFailure);
  for (const char* program : {kSmallControl, kControl}) {
    REQUIRE(Run({program, "help"}) == kSuccess);
    REQUIRE(Run({program, "query"}) == kUsageError);
  }
}

TEST_CASE_METHOD(Programs,
                 "a server: a configuration that is refused is 2, a port that is taken 75") {
  const SilentServer taken;
  const std::string config = dir.File("router.yaml");
  const std::string rest =
      "encoders: [127.0.0.1:1]\nindexes: {images: {shards: [{addresses: [127.0.0.1:2]}]}}\n";
  REQUIRE(WriteFileAtomically(config, absl::StrCat("server: {listen: \"", taken.address(),
                                                   "\", metrics_listen: \"\"}\n", rest))
              .ok());
  REQUIRE(Run({kRouter, "--config", config}) == kRunAgain);
  REQUIRE(Run({kRouter, "--config", config, "--check"}) == kSuccess);
  REQUIRE(WriteFileAtomically(config, "colour: red\n").ok());
  REQUIRE(Run({kRouter, "--config", config}) == kUsageError);
  REQUIRE(Run({kRouter}) == kUsageError);
}

}  // namespace
}  // namespace sightline
