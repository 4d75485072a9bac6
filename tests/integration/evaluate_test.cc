// The fleet answers what the same models compute in this process: same rankings, same
// scores, same numbers in the end.
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/protocol.h"
#include "common/evaluation/store_ranker.h"
#include "common/kernels/cpu.h"
#include "common/kernels/kernel_choice.h"
#include "services/evaluator/commands.h"
#include "services/evaluator/compare_command.h"
#include "services/evaluator/live_ranker.h"
#include "tests/integration/fleet.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 80;
constexpr int kMeasured = 40;  // queries

const TempDir& Dir() {
  static const auto* dir = new TempDir;
  return *dir;
}

const TinyStore& Store() {
  static const auto* store = new TinyStore(MakeTinyStore(Dir().path(), kItems));
  return *store;
}

Fleet& TheFleet() {
  // Not destroyed: servers end with the process, after Catch has reported.
  static auto* fleet = new Fleet(Store(), TestLaunch());
  return *fleet;
}

struct Ran {
  int status;
  std::string out, err;
};

Ran RunWith(Fleet& fleet, std::vector<std::string> args) {
  args.insert(args.end(), {"--router", fleet.router().address()});
  std::ostringstream out, err;
  const int status = RunEvaluator(args, {out, err});
  return {status, out.str(), err.str()};
}

Ran Run(const std::vector<std::string>& args) {
  return RunWith(TheFleet(), args);
}

nlohmann::json Measure(std::vector<std::string> args, bool live) {
  const std::string path = Dir().File(live ? "live.json" : "in_process.json");
  args.insert(args.begin(), "measure");
  args.insert(args.end(),
              {"--store", Store().path, "--all", "--depths", "10,20", "--lambdas", "0.5", "--limit",
               absl::StrCat(kMeasured), "--resamples", "200", "--json", path});
  if (live) args.insert(args.end(), {"--router", TheFleet().router().address()});
  std::ostringstream out, err;
  const int status = RunEvaluator(args, {out, err});
  INFO(err.str());
  REQUIRE(status == 0);
  const auto text = ReadFile(path);
  REQUIRE(text.ok());
  return nlohmann::json::parse(*text);
}

// Changes one score of one hit.
class Perturbed : public Ranker {
 public:
  Perturbed(Ranker* ranker, float by) : ranker_(ranker), by_(by) {}
  int batch_size() const override { return ranker_->batch_size(); }
  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext& call) override {
    auto rankings = ranker_->Rank(request, call);
    if (rankings.ok()) *(*rankings)[2][0][3].rerank_score += by_;
    return rankings;
  }

 private:
  Ranker* const ranker_;
  const float by_;
};

TEST_CASE("the fleet gives the rankings and scores that this process computes") {
  const Ran ran = Run({"compare", "--store", Store().path, "--limit", "0"});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(absl::StrContains(ran.out, "text_to_image: 80 queries, 4 000 hits; "));
  REQUIRE(absl::StrContains(ran.out, "image_to_text: 80 queries, 4 000 hits; "));
  REQUIRE(absl::StrContains(ran.out, ", 0 different\n"));
  const Ran shallow = Run({"compare", "--store", Store().path, "--limit", "20", "--depth", "7"});
  INFO(shallow.out << shallow.err);
  REQUIRE(shallow.status == 0);
}

TEST_CASE("a fleet in another precision is compared in that, and one in several is refused") {
  if (kernels::KernelFor("int8", kernels::ThisCpu()) == nullptr) {
    WARN("LEFT OUT: this CPU has no instructions for int8");
    return;
  }
  FleetOptions options;
  options.precision = "int8";
  Fleet fleet(Store(), TestLaunch(), options);
  const std::vector<std::string> compare = {"compare", "--store", Store().path, "--limit", "20"};
  const Ran alike = RunWith(fleet, compare);
  INFO(alike.out << alike.err);
  REQUIRE(alike.status == 0);
  REQUIRE(absl::StrContains(
      alike.out,
      "computed in: encoder int8, reranker of pictures int8, reranker of captions int8\n"));
  options.reranker_replicas = 2;
  options.reranker_precisions = {"int8", "float32"};
  Fleet mixed(Store(), TestLaunch(), options);
  const Ran several = RunWith(mixed, compare);
  INFO(several.out << several.err);
  REQUIRE(several.status == 1);
  REQUIRE(absl::StrContains(several.err, "rerankers compute in"));
}

TEST_CASE("one score that is off by more than rounding is found") {
  ComputePool pool(1);
  const CallContext call = CallContext::Unbounded();
  EvaluationStoreOptions options;
  options.store = Store().path;
  const auto store = EvaluationStore::Open(options, &pool, call);
  REQUIRE(store.ok());
  LiveRankerOptions live_options;
  live_options.images = {kTinyImages, kTinyGeneration, ""};
  live_options.captions = {kTinyCaptions, kTinyGeneration, ""};
  LiveRanker live(&TheFleet().search(), live_options);
  StoreRanker in_process(store->get());
  const std::vector<EvaluationQuery> queries =
      Sample((*store)->relevance().Queries(Direction::kTextToImage), 4);
  const Method method = {20, {CombinationKind::kAddLambda, 0.5f}};
  const RankRequest request = {Direction::kTextToImage, queries, {&method, 1}, kListLength};
  const auto agreement = CompareRankers(request, /*grid=*/0, &in_process, &live, call);
  REQUIRE(agreement.ok());
  INFO(agreement->first_problem);
  REQUIRE(agreement->agrees());
  Perturbed wrong(&live, 1e-4f);
  const auto found = CompareRankers(request, /*grid=*/0, &in_process, &wrong, call);
  REQUIRE(found->differing_lists == 1);
  int differing = 0;
  const auto see = [&](const ComparedLists& lists) {
    if (lists.agreement.agrees()) return;
    ++differing;
    REQUIRE(lists.query.item_id == queries[2].item_id);
    REQUIRE(lists.expected.size() == lists.actual.size());
  };
  REQUIRE(CompareRankers(request, /*grid=*/0, &in_process, &wrong, call, see).ok());
  REQUIRE(differing == 1);
  REQUIRE(
      absl::StrContains(found->first_problem, absl::StrCat("query '", queries[2].item_id, "': ")));
  Perturbed rounded(&live, 1e-6f);
  REQUIRE(CompareRankers(request, /*grid=*/0, &in_process, &rounded, call)->agrees());
}

TEST_CASE("measured live and in process, the numbers are the same") {
  const nlohmann::json in_process = Measure({}, /*live=*/false);
  const nlohmann::json live = Measure({}, /*live=*/true);
  REQUIRE(live["mode"] == "live");
  REQUIRE(in_process["results"].size() == 2);
  for (size_t block = 0; block < 2; ++block) {
    const auto& ours = in_process["results"][block]["methods"];
    const auto& theirs = live["results"][block]["methods"];
    REQUIRE(ours.size() == 7);
    REQUIRE(theirs.size() == 7);
    REQUIRE(ours[0] == theirs[0]);  // retrieval alone
    std::set<double> seen;
    int equal = 0;
    for (size_t m = 0; m < ours.size(); ++m) {
      INFO(ours[m].dump() << theirs[m].dump());
      REQUIRE(ours[m]["name"] == theirs[m]["name"]);
      const double mrr = ours[m]["mrr"].get<double>();
      // A tie that changes places moves one rank by one, at the most from 1 to 2.
      REQUIRE(theirs[m]["mrr"].get<double>() == Approx(mrr).margin(0.51 / kMeasured));
      seen.insert(mrr);
      equal += ours[m] == theirs[m] ? 1 : 0;
    }
    // Such ties are few; and the methods differ, or each could pass for another.
    REQUIRE(equal >= 5);
    REQUIRE(seen.size() >= 4);
  }
}

TEST_CASE(
    "by the papers' protocol a deterministic fleet's numbers are this process's to the digit") {
  FleetOptions options;
  options.deterministic = true;
  Fleet fleet(Store(), TestLaunch(), options);
  const auto measured = [&](const std::string& name, const std::vector<std::string>& more) {
    const std::string path = Dir().File(name);
    std::vector<std::string> args = {
        "measure",       "--store", Store().path, "--captions", "all",         "--all",
        "--depths",      "10,20",   "--lambdas",  "0.5",        "--resamples", "200",
        "--list-length", "400",     "--json",     path,         "--lists",     path + ".lists"};
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int status = RunEvaluator(args, {out, err});
    INFO(err.str());
    REQUIRE(status == 0);
    return nlohmann::json::parse(*ReadFile(path));
  };
  const auto tables = [](const std::string& name) {
    const std::string path = Dir().File(name + ".tables");
    std::ostringstream out, err;
    const int status = RunEvaluator(
        {"tables", "--lists", Dir().File(name + ".lists"), "--json", path, "--resamples", "200"},
        {out, err});
    INFO(err.str());
    REQUIRE(status == 0);
    return nlohmann::json::parse(*ReadFile(path))["tables"];
  };
  const nlohmann::json in_process = measured("own.json", {"--deterministic"});
  const nlohmann::json live = measured("fleet.json", {"--router", fleet.router().address()});
  REQUIRE(in_process["both_directions"][0]["methods"].size() == 7);
  // No answer has another digit.
  const std::string differences = Dir().File("differences.jsonl");
  const Ran compared =
      RunWith(fleet, {"compare", "--store", Store().path, "--captions", "all", "--deterministic",
                      "--limit", "0", "--depth", "20", "--differences", differences});
  INFO(compared.out << compared.err << ReadFile(differences).value_or("no list"));
  REQUIRE(compared.status == 0);
  REQUIRE(ReadFile(differences)->empty());
  REQUIRE(live["both_directions"] == in_process["both_directions"]);
  REQUIRE(live["results"] == in_process["results"]);
  // So are the tables of its lists, which say what `measure` has told.
  const nlohmann::json of_fleet = tables("fleet.json");
  REQUIRE(of_fleet == tables("own.json"));
  for (int m = 0; m < 7; ++m) {
    const nlohmann::json& row = of_fleet[0]["methods"][m];
    REQUIRE(row["ar"]["value"].get<double>() ==
            Approx(live["both_directions"][0]["methods"][m]["ar"].get<double>()));
    REQUIRE(row["image_to_text"]["mrr"]["value"].get<double>() ==
            Approx(live["results"][1]["methods"][m]["mrr"].get<double>()));
  }
}

TEST_CASE("questions are asked, counted, and decide the exit status") {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    const TinyItem& item = Store().items[i * 7];
    // With every picture in the hits, each is found.
    absl::StrAppend(&text, "{\"query\":\"", item.caption, "\",\"expect\":[\"", item.image_id,
                    "\"]}\n");
  }
  absl::StrAppend(&text, "{\"query\":\"a red fish\",\"expect\":[\"nowhere\"]}\n");
  const std::string path = Dir().File("questions.jsonl");
  REQUIRE(WriteFileAtomically(path, text).ok());
  const Ran enough = Run({"questions", "--questions", path, "--top-k", "80", "--at-least", "5"});
  INFO(enough.out << enough.err);
  REQUIRE(enough.status == 0);
  REQUIRE(absl::StrContains(enough.out, "\nmiss    -  a red fish  [first: "));
  REQUIRE(absl::EndsWith(enough.out, "]\nhits@80: 5/6\n"));
  REQUIRE(Run({"questions", "--questions", path, "--top-k", "80", "--at-least", "6"}).status == 1);
}

}  // namespace
}  // namespace sightline
