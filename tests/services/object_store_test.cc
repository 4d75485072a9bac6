// Programs and an object store that fails, or that they are killed over: the job brings there the
// bytes that it would have left in a folder, and a server fetches just these.
//
// A point at which a program is killed is a call that changes a file or sends (kill_at.cc).
// SIGHTLINE_KILLS sets how many runs of a kind are killed, three times each (default 2; 17 make
// fifty points of each kind).
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/config/exit_status.h"
#include "common/object_store/fetch.h"
#include "loadtest/fleet/process.h"
#include "tests/common/image/encode.h"
#include "tests/common/models/tiny_model.h"
#include "tests/common/object_store/s3_test_server.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kJob[] = "services/corpus_encoder/corpus_encoder";
// What each must have fetched in the end: how the names of such files end, and how many there are.
struct Server {
  const char* program;
  const char* suffix;
  int count;
};
constexpr Server kServers[] = {{"services/index_search/index_search", ".vectors", 4},
                               {"services/reranker/reranker", ".features", 4},
                               {"services/query_encoder/query_encoder", ".safetensors", 1}};
constexpr char kControl[] = "services/sightlinectl/sightlinectl";
constexpr char kKiller[] = "tests/services/corpus_encoder/libkill_at.so";
constexpr int kKilled = 128 + SIGKILL;
constexpr char kRoot[] = "some/folder/";

using Content = std::map<std::string, std::string>;

// How many points of a kind have hit a program that still ran; the rest came after its end, and
// show nothing.
class Points {
 public:
  void Count(bool killed) {
    ++points_;
    killed_ += killed ? 1 : 0;
  }
  void Check() const {
    WARN(killed_ << " of " << points_ << " points hit a running program");
    CHECK(2 * killed_ >= points_);
  }

 private:
  int points_ = 0, killed_ = 0;
};

int Kills() {
  const char* const text = std::getenv("SIGHTLINE_KILLS");
  int kills = 2;
  if (text != nullptr) REQUIRE(absl::SimpleAtoi(text, &kills));
  return kills;
}

// What the generations of a store are made of, by path.
Content GenerationsIn(const Content& all) {
  Content generations;
  for (const auto& [path, bytes] : all) {
    if (absl::StrContains(path, "/generations/") && !absl::EndsWith(path, ".tmp")) {
      generations[path] = bytes;
    }
  }
  return generations;
}

Content FilesBelow(const std::string& folder) {
  Content files;
  const auto paths = ListFilesBelow(folder);
  REQUIRE(paths.ok());
  for (const std::string& path : *paths) {
    files[path] = *ReadFile(JoinPath(folder, path));
  }
  return files;
}

struct Pictures {
  Pictures() {
    std::string captions;
    for (int i = 0; i < 40; ++i) {
      Pixels pixels = Gradient(24, 24);
      pixels.rgb[0] = static_cast<uint8_t>(i);
      const std::string name = absl::StrCat("p", i, ".png");
      REQUIRE(WriteFileAtomically(dir.File(name), EncodePng(pixels)).ok());
      absl::StrAppend(&captions, "{\"path\": \"", name, "\", \"captions\": [\"a red fish\"]}\n");
    }
    REQUIRE(WriteFileAtomically(dir.File("captions.jsonl"), captions).ok());
  }
  TempDir dir;
};

// An object store and what works with it.
class Rig {
 public:
  explicit Rig(const Pictures& pictures, bool remote = true)
      : pictures_(pictures), remote_(remote), server_([this] {
          S3TestServerOptions options;
          options.folder = dir_.File("objects");
          return options;
        }()) {
    model_ = MakeBundle(dir_.File("origin"), TinyManifest()).id;
    if (remote) {
      REQUIRE(Control({"add-model", dir_.File("origin/models/" + model_)}) == kSuccess);
    } else {
      REQUIRE(MakeBundle(store(), TinyManifest()).id == model_);
    }
  }

  std::string store() const { return dir_.File("store"); }
  std::string cache() const { return dir_.File("cache"); }
  std::string log() const { return dir_.File("log"); }
  S3TestServer& server() { return server_; }

  // The command's exit status, with the object store as its place.
  int Control(std::vector<std::string> words) {
    words.insert(words.begin(), kControl);
    words.insert(words.end(), {"--object-store", Url(), "--endpoint", server_.endpoint()});
    return *Start(words, 0)->Wait();
  }

  std::unique_ptr<Process> StartJob(int64_t point) {
    const std::string config = dir_.File("job.yaml");
    REQUIRE(WriteFileAtomically(
                config, absl::StrCat("store: ", store(), "\nmodel: ", model_, ObjectStoreYaml(),
                                     "\ncorpora: [{kind: folder, root: ", pictures_.dir.path(),
                                     "}]\nshards: 2\nunit_size: 8\ncompute: {threads: 1}\n"))
                .ok());
    return Start({kJob, "--config", config}, point);
  }
  int RunJob(int64_t point = 0) {
    const int status = *StartJob(point)->Wait();
    INFO(EndOfLog(log(), 30));
    REQUIRE((status == kSuccess || status == kKilled || status == kRunAgain));
    return status;
  }
  // Until it comes to its end.
  void FinishJob() {
    for (int run = 0; RunJob() != kSuccess; ++run) REQUIRE(run < 20);
  }

  std::unique_ptr<Process> StartServer(int64_t point, const Server& server = kServers[0]) {
    const std::string config = dir_.File("server.yaml");
    REQUIRE(WriteFileAtomically(config,
                                absl::StrCat("store: ", cache(), ObjectStoreYaml(),
                                             "\nindexes: [images, captions]\nserver: {listen: "
                                             "\"127.0.0.1:0\", metrics_listen: \"127.0.0.1:0\"}\n"
                                             "generations: {poll_interval: 50ms}\n"))
                .ok());
    return Start({server.program, "--config", config}, point);
  }
  // Whether it has loaded all, before it ended.
  bool AwaitLoaded(const Process& server, int generations) {
    bool loaded = false;
    AwaitUntil([&] {
      int count = 0;
      const std::string text = ReadFile(log()).value_or("");
      for (size_t at = 0; (at = text.find("\"generation loaded\"", at)) != text.npos; ++at) ++count;
      loaded = count >= generations;
      return loaded || !server.running();
    });
    return loaded;
  }
  void ClearLog() { REQUIRE(WriteFileAtomically(log(), "").ok()); }

  // Of the last program that came to its end: calls that change files or send.
  int64_t Calls() const {
    int64_t count = 0;
    REQUIRE(absl::SimpleAtoi(*ReadFile(dir_.File("count")), &count));
    return count;
  }

  // Everything that is in the object store, without its folder.
  Content Objects() {
    Content objects;
    for (auto& [key, object] : server_.objects().All()) {
      objects[std::string(absl::StripPrefix(key, kRoot))] = object.bytes;
    }
    return objects;
  }

 private:
  static std::string Url() { return "s3://bucket/some/folder"; }

  std::string ObjectStoreYaml() const {
    if (!remote_) return "";
    return absl::StrCat("\nobject_store: {url: \"", Url(), "\", endpoint: \"", server_.endpoint(),
                        "\"}");
  }

  std::unique_ptr<Process> Start(const std::vector<std::string>& command, int64_t point) {
    std::vector<std::string> whole = {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", kKiller),
                                      absl::StrCat("KILL_AT=", point), "KILL_SENDS=1",
                                      absl::StrCat("KILL_AT_COUNT=", dir_.File("count")),
                                      absl::StrCat("AWS_ACCESS_KEY_ID=", S3TestKeys().id),
                                      absl::StrCat("AWS_SECRET_ACCESS_KEY=", S3TestKeys().secret),
                                      // The address sanitizer wants to come first, and need not.
                                      "ASAN_OPTIONS=verify_asan_link_order=0"};
    whole.insert(whole.end(), command.begin(), command.end());
    auto process = Process::Start(whole, log());
    REQUIRE(process.ok());
    return *std::move(process);
  }

  const Pictures& pictures_;
  const bool remote_;
  const TempDir dir_;
  S3TestServer server_;
  std::string model_;
};

// What a job leaves in a folder, and how often it may be killed over an object store.
struct Whole {
  explicit Whole(const Pictures& pictures) {
    Rig folder(pictures, /*remote=*/false);
    folder.FinishJob();
    generations = GenerationsIn(FilesBelow(folder.store()));
    REQUIRE(generations.size() == 2 * (4 + 2 * 3));
    Rig remote(pictures);
    remote.FinishJob();
    calls = remote.Calls();
    Check(remote);
  }

  // That the object store publishes these generations, with all that they need.
  void Check(Rig& rig) const {
    const Content objects = rig.Objects();
    CHECK(GenerationsIn(objects) == generations);
    for (const char* index : {"images", "captions"}) {
      const auto current =
          objects.find(absl::StrCat("indexes/", index, "/CURRENT/0000000000000000001"));
      REQUIRE(current != objects.end());
      const std::string name = generations.begin()->first.substr(
          generations.begin()->first.find("generations/") + 12, 16);
      CHECK_THAT(current->second, Catch::Contains(name));
    }
  }

  Content generations;
  int64_t calls = 0;
};

TEST_CASE("a job that is killed anywhere leaves in the object store the bytes of a folder") {
  const Pictures pictures;
  const Whole whole(pictures);
  std::mt19937 random(20261123);
  Points points;
  for (int i = 0; i < Kills(); ++i) {
    Rig rig(pictures);
    for (int kill = 0; kill < 3; ++kill) {
      const int64_t point = 1 + static_cast<int64_t>(random() % (whole.calls / (kill + 1)));
      CAPTURE(i, kill, point);
      points.Count(rig.RunJob(point) == kKilled);
      // What is published is whole at any time.
      const Content objects = rig.Objects();
      for (const auto& [key, bytes] : objects) {
        if (absl::StrContains(key, "images/CURRENT/")) {
          CHECK(GenerationsIn(objects) == whole.generations);
        }
      }
    }
    rig.FinishJob();
    whole.Check(rig);
  }
  points.Check();
}

TEST_CASE("a job whose volume is new carries over from what the object store has") {
  const Pictures pictures;
  Rig rig(pictures);
  rig.FinishJob();
  const Content before = GenerationsIn(rig.Objects());
  REQUIRE(std::system(("rm -r " + rig.store()).c_str()) == 0);
  rig.ClearLog();
  Pixels pixels = Gradient(24, 24);
  REQUIRE(WriteFileAtomically(pictures.dir.File("new.png"), EncodePng(pixels)).ok());
  rig.FinishJob();
  const Content after = GenerationsIn(rig.Objects());
  CHECK(after.size() == 2 * before.size());
  for (const auto& [path, bytes] : before) CHECK(after.at(path) == bytes);
  CHECK_THAT(*ReadFile(rig.log()), Catch::Contains("carried   40 images"));
}

TEST_CASE("a server that is killed while it fetches goes on, and serves the store's bytes") {
  const Pictures pictures;
  Rig rig(pictures);
  rig.FinishJob();
  const Content objects = rig.Objects();
  std::mt19937 random(20261124);
  Points points;
  for (int i = 0; i < Kills(); ++i) {
    const Server& kind = kServers[i % 3];
    CAPTURE(kind.program);
    REQUIRE(std::system(("rm -rf " + rig.cache()).c_str()) == 0);
    for (int kill = 0; kill < 3; ++kill) {
      const int64_t point = 1 + static_cast<int64_t>(random() % 40);
      CAPTURE(i, kill, point);
      rig.ClearLog();
      const auto server = rig.StartServer(point, kind);
      points.Count(!rig.AwaitLoaded(*server, 2) && *server->Wait() == kKilled);
    }
    rig.ClearLog();
    const auto server = rig.StartServer(0, kind);
    INFO(EndOfLog(rig.log(), 30));
    REQUIRE(rig.AwaitLoaded(*server, 2));
    int count = 0;
    for (const auto& [path, bytes] : FilesBelow(rig.cache())) {
      if (!absl::StartsWith(path, "models/") && !absl::StrContains(path, "/generations/")) continue;
      CAPTURE(path);
      CHECK(objects.at(path) == bytes);
      count += absl::EndsWith(path, kind.suffix) ? 1 : 0;
    }
    CHECK(count == kind.count);
  }
  points.Check();
}

TEST_CASE("a server that is told to stop while it fetches ends well and soon") {
  const Pictures pictures;
  Rig rig(pictures);
  rig.FinishJob();
  S3Fault fault;
  fault.kind = S3Fault::kStall;
  fault.operation = "GetObject";
  fault.key_part = ".vectors";
  fault.times = -1;
  rig.server().Inject(fault);
  rig.ClearLog();
  const auto server = rig.StartServer(0);
  AwaitUntil([&] {
    const auto files = ListFilesBelow(rig.cache());
    return files.ok() && std::any_of(files->begin(), files->end(), [](const std::string& file) {
             return absl::EndsWith(file, absl::StrCat(".vectors", kPartSuffix));
           });
  });
  const absl::Time begin = absl::Now();
  REQUIRE(server->Signal(SIGTERM).ok());
  CHECK(*server->Wait() == kSuccess);
  CHECK(absl::Now() - begin < absl::Seconds(10));  // the store is waited for for half a minute
  const std::string log = *ReadFile(rig.log());
  CHECK_THAT(log, Catch::Contains("\"drained\"") && Catch::Contains("\"stopped\"") &&
                      !Catch::Contains("\"started\"") && !Catch::Contains("ERROR"));
}

TEST_CASE("a store that fails, stalls, lies and loses answers costs time and nothing else") {
  const Pictures pictures;
  const Whole whole(pictures);
  Rig rig(pictures);
  std::mt19937 random(20261125);
  const S3Fault::Kind kinds[] = {S3Fault::kAnswer,   S3Fault::kReset,      S3Fault::kResetAfter,
                                 S3Fault::kTruncate, S3Fault::kWrongRange, S3Fault::kDamage};
  for (int i = 0; i < 60; ++i) {
    S3Fault fault;
    fault.kind = kinds[random() % 6];
    fault.skip = static_cast<int>(random() % 20);
    if (fault.kind == S3Fault::kDamage) fault.operation = "PutObject";  // what has a body
    rig.server().Inject(fault);
  }
  rig.FinishJob();
  whole.Check(rig);
  rig.ClearLog();
  const auto server = rig.StartServer(0);
  REQUIRE(rig.AwaitLoaded(*server, 2));
  for (const auto& [path, bytes] : GenerationsIn(FilesBelow(rig.cache()))) {
    CAPTURE(path);
    CHECK(whole.generations.at(path) == bytes);
  }
}

TEST_CASE("a store that ignores If-None-Match is refused before any work is done") {
  const Pictures pictures;
  Rig rig(pictures);
  S3Fault fault;
  fault.kind = S3Fault::kIgnoreIfNoneMatch;
  fault.times = -1;
  rig.server().Inject(fault);
  CHECK(*rig.StartJob(0)->Wait() == kFailure);
  CHECK_THAT(*ReadFile(rig.log()), Catch::Contains("If-None-Match"));
  CHECK(GenerationsIn(rig.Objects()).empty());
}

TEST_CASE("operators publish, roll back, prune and fetch in an object store") {
  const Pictures pictures;
  Rig rig(pictures);
  rig.FinishJob();
  Pixels pixels = Gradient(24, 24);
  REQUIRE(WriteFileAtomically(pictures.dir.File("new.png"), EncodePng(pixels)).ok());
  rig.FinishJob();
  rig.ClearLog();
  CHECK(rig.Control({"rollback", "images"}) == kSuccess);
  CHECK_THAT(*ReadFile(rig.log()), Catch::Contains("(sequence 3)"));
  CHECK(rig.Control({"prune", "images", "--keep", "1"}) == kSuccess);
  CHECK(rig.Control({"prune", "nothing"}) == kSuccess);
  CHECK_THAT(*ReadFile(rig.log()), Catch::Contains("was never published"));
  CHECK(rig.Control({"fetch", "images", "--store", rig.cache()}) == kSuccess);
  const Content objects = rig.Objects();
  const Content fetched = GenerationsIn(FilesBelow(rig.cache()));
  CHECK(fetched.size() == 10);
  for (const auto& [path, bytes] : fetched) CHECK(objects.at(path) == bytes);
  CHECK(rig.Control({"fetch", "images"}) == kUsageError);
}

}  // namespace
}  // namespace sightline
