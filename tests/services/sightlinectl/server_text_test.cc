// What `status` prints of a server.
#include "services/sightlinectl/status_command.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

TEST_CASE("the status of a server is three tables") {
  ServerStatus status;
  status.service = "index_search";
  GenerationStatus ready;
  ready.state = GenerationState::kReady;
  ready.sequence = 2;
  ready.info.ref = kTarget;
  ready.info.dimension = 256;
  ready.info.shard_count = 2;
  ready.info.item_count = 10273;
  ready.info.encoder_model = std::string(64, 'e');
  ready.held_shards = {0, 1};
  GenerationStatus refused;
  refused.state = GenerationState::kRefused;
  refused.reason = "too large";
  refused.info.ref = {"captions", "g7", ""};
  refused.info.content = IndexContent::kCaptions;
  status.generations = {ready, refused};
  status.models = {{std::string(64, 'e'), "oscar", std::string(64, '0'), "small"}};
  REQUIRE(FormatServer({"a:1", status}) ==
          "a:1  index_search\n"
          "generations\n"
          "  index     generation  state    sequence  items  kind      dimension  shards  held  "
          "encoder       reranker  reason\n"
          "  pictures  g1          READY           2  10273  images          256       2  0,1   "
          "eeeeeeeeeeee  -         -\n"
          "  captions  g7          REFUSED         0      0  captions          0       0  -     "
          "-             -         too large\n"
          "models\n"
          "  model         family  space         precision  agreement  description\n"
          "  eeeeeeeeeeee  oscar   000000000000  -                  -  small\n");
}

TEST_CASE("the status of a server on devices tells what it holds of each") {
  ServerStatus status;
  status.service = "index_search";
  status.devices = {
      {0,
       "Great GPU",
       141'000'000'000,
       15'500'000'000,
       {200, 150, absl::Milliseconds(300), absl::Milliseconds(50), 7'000'000, 3'000'000}},
      {1, "", 0, 0, {}}};
  CHECK(
      FormatServer({"a:1", status}) ==
      "a:1  index_search\n"
      "devices\n"
      "  device  name       MB held      of  passes  recorded  ms a pass  waiting  MB in  MB out\n"
      "       0  Great GPU    15500  141000     200       150      1.500    0.250      7       3\n"
      "       1  -                0       -       0         0          -        -      0       "
      "0\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["devices"][0]["heldBytes"] == "15500000000");
}

TEST_CASE("the status of a server that loads tells how far it is") {
  GenerationStatus loading;
  loading.state = GenerationState::kLoading;
  loading.info.ref = kTarget;
  loading.progress =
      LoadProgress{LoadStage::kLoading, 2'500'000'000, 10'000'000'000, absl::Seconds(5)};
  GenerationStatus verifying = loading;
  verifying.info.ref.generation = "g2";
  verifying.progress = LoadProgress{LoadStage::kVerifying, 0, 4000, absl::ZeroDuration()};
  GenerationStatus nothing_to_read = loading;
  nothing_to_read.progress = LoadProgress{LoadStage::kLoading, 0, 0, absl::Seconds(5)};
  const ServerStatus status{"reranker", {loading, verifying, nothing_to_read}, {}, {}, {}};
  const std::string text = FormatServer({"a:1", status});
  INFO(text);
  CHECK(absl::StrContains(text,
                          "loading\n"
                          "  pictures/g1  load     2500/10000 MB  25 %  "
                          "[######                    ]  500/s  0:15 left\n"
                          "  pictures/g2  verify   0/4 kB   0 %  "
                          "[                          ]\n"));
  CHECK(absl::EndsWith(text, "]\n"));  // and no third line
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  const auto& progress = json[0]["status"]["generations"][0]["progress"];
  CHECK(progress["stage"] == "LOADING");
  CHECK(progress["readBytes"] == "2500000000");
  CHECK(progress["totalBytes"] == "10000000000");
  CHECK(progress["elapsed"] == "5s");
}

TEST_CASE("a CURRENT that cannot be brought up to date is told, and what is followed meanwhile") {
  ServerStatus status;
  status.service = "reranker";
  status.indexes = {{"captions", "g4", 4, ""}, {"images", "g2", 3, "UNAVAILABLE: away"}};
  CHECK(FormatServer({"a:1", status}) ==
        "a:1  reranker\n"
        "CURRENT may be out of date\n"
        "  index   sequence  generation  error\n"
        "  images         3  g2          UNAVAILABLE: away\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["indexes"][0]["sequence"] == "4");
  CHECK(json[0]["status"]["indexes"][1]["error"] == "UNAVAILABLE: away");
}

TEST_CASE("what a router keeps is told, and that it keeps nothing") {
  ServerStatus status;
  status.service = "router";
  status.caches = {{"embeddings", 0, 0, 0, 0, 0, 12}, {"results", 3, 9000, 67108864, 40, 5, 12}};
  CHECK(FormatServer({"a:1", status}) ==
        "a:1  router\n"
        "caches\n"
        "  cache       entries  bytes        of  hits  shared  misses\n"
        "  embeddings        0      0       off     0       0      12\n"
        "  results           3   9000  67108864    40       5      12\n");
  const auto json = nlohmann::json::parse(ServersJson({{"a:1", status}}));
  CHECK(json[0]["status"]["caches"][1]["hits"] == "40");
}

TEST_CASE("the rerankers of a generation are told, by name if there are several") {
  GenerationStatus ready;
  ready.state = GenerationState::kReady;
  ready.info.ref = kTarget;
  ready.info.rerankers = {{"default", std::string(64, 'f'), {}}};
  const auto text = [&] {
    return FormatServer({"a:1", ServerStatus{"router", {ready}, {}, {}, {}}});
  };
  REQUIRE(absl::StrContains(text(), "  ffffffffffff  -\n"));
  ready.info.rerankers.push_back({"fine", std::string(64, '9'), {}});
  REQUIRE(absl::StrContains(text(), "  default=ffffffffffff fine=999999999999  -\n"));
}

}  // namespace
}  // namespace sightline
