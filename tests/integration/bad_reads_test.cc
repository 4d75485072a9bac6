// A fleet whose files are corrupted, cut short or cannot be read while it serves them: nobody
// exits, and every answer is right or says what it lacks.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/clients/admin_client.h"
#include "tests/integration/fleet.h"
#include "tests/integration/load.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kQuickly[] = "generations: {poll_interval: 20ms, release_after: 1s}\n";

// What each hit scored, by its id: all that an answer says.
std::map<std::string, float> Retrieved(const SearchResult& result) {
  std::map<std::string, float> scores;
  for (const Hit& hit : result.hits) scores[hit.item_id] = hit.retrieval_score;
  return scores;
}

std::map<std::string, float> Reranked(const SearchResult& result) {
  std::map<std::string, float> scores;
  for (const Hit& hit : result.hits) scores[hit.item_id] = hit.rerank_score.value_or(-1);
  return scores;
}

// A fleet of its own store, under load, whose answers are held against the first.
struct Rig {
  explicit Rig(FleetOptions options = {})
      : store(MakeTinyStore(directory.path(), 30)), fleet(store, TestLaunch(), With(options)) {
    fleet.AwaitWhole();
    const auto whole = fleet.SearchText("a red fish");
    REQUIRE(whole.ok());
    REQUIRE(whole->degraded.empty());
    expected = *whole;
    load = std::make_unique<Load>(fleet.router().address(), 2,
                                  [this](const SearchResult& result) { return Complaint(result); });
  }

  static FleetOptions With(FleetOptions options) {
    options.deterministic = true;
    options.backend_yaml += kQuickly;
    return options;
  }

  // What is wrong with an answer: a score that is another.
  std::string Complaint(const SearchResult& result) const {
    const auto retrieved = Retrieved(expected), reranked = Reranked(expected);
    for (const Hit& hit : result.hits) {
      const auto found = retrieved.find(hit.item_id);
      if (found != retrieved.end() && found->second != hit.retrieval_score) {
        return absl::StrCat(hit.item_id, " was retrieved with ", hit.retrieval_score);
      }
      const auto scored = reranked.find(hit.item_id);
      if (hit.rerank_score.has_value() && scored != reranked.end() &&
          scored->second != *hit.rerank_score) {
        return absl::StrCat(hit.item_id, " was reranked with ", *hit.rerank_score);
      }
    }
    if (result.degraded.empty() && Reranked(result) != reranked) return "whole, and other hits";
    return "";
  }

  // Files of the images' generation, "vectors" or "features".
  std::vector<std::string> FilesOf(const std::string& kind) const {
    const std::string directory = GenerationDirectory(store.path, kTinyImages, kTinyGeneration);
    std::vector<std::string> files;
    for (int shard = 0; shard < store.shard_count; ++shard) {
      files.push_back(JoinPath(directory, ShardFileName(shard, store.shard_count, kind)));
    }
    return files;
  }

  // What the server says of the images' generation.
  GenerationStatus StatusOf(const Slot& slot) const {
    const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(10));
    const auto status = MakeGrpcAdminClient(slot.address())->GetStatus(call);
    if (!status.ok()) throw std::runtime_error(status.status().ToString());
    for (const GenerationStatus& one : status->generations) {
      if (one.info.ref.index == kTinyImages) return one;
    }
    throw std::runtime_error("no generation");
  }

  // Asks until the server says so.  Throws after half a minute.
  void Await(const Slot& slot, const std::function<bool(const GenerationStatus&)>& so) const {
    const absl::Time patience = Clock::Real()->Now() + absl::Seconds(30);
    for (;;) {
      const GenerationStatus status = StatusOf(slot);
      if (so(status)) return;
      if (Clock::Real()->Now() > patience) {
        throw std::runtime_error(absl::StrCat(slot.address(), " says ", status.reason));
      }
      std::this_thread::yield();
    }
  }

  TempDir directory;
  const TinyStore store;
  Fleet fleet;
  SearchResult expected;
  std::unique_ptr<Load> load;
};

bool IsReady(const GenerationStatus& status) {
  return status.state == GenerationState::kReady;
}

// Changes every 64th byte of the file that is there.
void CorruptInPlace(const std::string& path) {
  std::string content = *ReadFile(path);
  for (size_t at = 0; at < content.size(); at += 64) content[at] = static_cast<char>(~content[at]);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::pwrite(fd, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
  ::close(fd);
}

TEST_CASE("vectors and models that rot while they are served change no answer") {
  Rig rig;
  std::vector<std::string> files = rig.FilesOf("vectors");
  const auto models = ListFilesBelow(JoinPath(rig.store.path, "models"));
  REQUIRE(models.ok());
  for (const std::string& name : *models) {
    files.push_back(JoinPath(JoinPath(rig.store.path, "models"), name));
  }
  for (const std::string& file : files) CorruptInPlace(file);
  rig.load->AwaitAnswers(20);
  for (const std::string& file : files) REQUIRE(::truncate(file.c_str(), 1000) == 0);
  rig.load->AwaitAnswers(20);
  rig.load->Stop();
  CHECK(rig.load->complaints().empty());
  CHECK(rig.load->codes() == std::set<absl::StatusCode>{absl::StatusCode::kOk});
  const auto after = rig.fleet.SearchText("a red fish");
  REQUIRE(after.ok());
  CHECK(after->degraded.empty());
  CHECK(Reranked(*after) == Reranked(rig.expected));
}

TEST_CASE("features that cannot be read are done without, and come back by themselves") {
  Rig rig;
  {
    const FailingReads failing({".features", EIO});
    rig.load->AwaitAnswers(10);
    rig.Await(rig.fleet.reranker(), [](const GenerationStatus& status) {
      return !IsReady(status) && absl::StrContains(status.reason, reasons::kReadFailed.name) &&
             absl::StrContains(status.reason, ".features");
    });
    rig.load->AwaitAnswers(10);
  }
  rig.Await(rig.fleet.reranker(), IsReady);
  rig.fleet.AwaitWhole();
  rig.load->Stop();
  CHECK(rig.load->complaints().empty());
}

TEST_CASE("features that rot while they are served are refused by name, and never scored") {
  Rig rig;
  const std::vector<std::string> files = rig.FilesOf("features");
  std::vector<std::string> whole;
  for (const std::string& file : files) whole.push_back(*ReadFile(file));
  SECTION("corrupted in place") {
    for (const std::string& file : files) CorruptInPlace(file);
  }
  SECTION("cut short in place") {
    for (const std::string& file : files) REQUIRE(::truncate(file.c_str(), 5000) == 0);
  }
  rig.Await(rig.fleet.reranker(), [](const GenerationStatus& status) {
    return !IsReady(status) && absl::StrContains(status.reason, ".features") &&
           !absl::StrContains(status.reason, reasons::kReadFailed.name);
  });
  rig.load->AwaitAnswers(20);
  // Whole ones, renamed into place, are all that it takes.
  for (size_t i = 0; i < files.size(); ++i) REQUIRE(WriteFileAtomically(files[i], whole[i]).ok());
  rig.Await(rig.fleet.reranker(), IsReady);
  rig.fleet.AwaitWhole();
  rig.load->Stop();
  CHECK(rig.load->complaints().empty());
}

TEST_CASE("with another replica at hand, a server that cannot read its files is not missed") {
  FleetOptions options;
  options.shard_replicas = 2;
  options.encoder_replicas = 2;
  options.reranker_replicas = 2;
  Rig rig(options);
  const std::vector<Slot*> slots = {&rig.fleet.shard(0), &rig.fleet.encoder(),
                                    &rig.fleet.reranker()};
  for (Slot* slot : slots) slot->member.reset();
  {
    const FailingReads failing({"", EIO});  // of any file
    // It starts, says what is wrong, and tries again.
    for (Slot* slot : slots) slot->member = TestLaunch()(slot->service, slot->yaml);
    for (Slot* slot : slots) {
      rig.Await(*slot, [](const GenerationStatus& status) {
        return status.state == GenerationState::kRefused;
      });
    }
    for (int i = 0; i < 5; ++i) {
      const auto result = rig.fleet.SearchText("a red fish");
      REQUIRE(result.ok());
      CHECK(rig.Complaint(*result).empty());
    }
    rig.load->AwaitAnswers(20);
  }
  for (Slot* slot : slots) rig.Await(*slot, IsReady);
  rig.fleet.AwaitWhole();
  rig.load->Stop();
  CHECK(rig.load->complaints().empty());
}

}  // namespace
}  // namespace sightline
