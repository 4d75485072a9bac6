#include "loadtest/scenario/workload.h"

#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "loadtest/scenario/seeded_hash.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

MixEntry TextEntry(const std::string& name, double weight) {
  MixEntry entry;
  entry.name = name;
  entry.weight = weight;
  entry.index = "images";
  return entry;
}

std::vector<SourceQuery> Numbered(int count) {
  std::vector<SourceQuery> queries;
  for (int i = 0; i < count; ++i) {
    queries.push_back({absl::StrCat("q", i), {absl::StrCat("item", i)}});
  }
  return queries;
}

Workload Create(const Scenario& scenario, std::vector<std::vector<SourceQuery>> queries) {
  auto workload = Workload::Create(scenario, std::move(queries));
  REQUIRE(workload.status().message() == "");
  return *std::move(workload);
}

std::string TextOf(const PlannedRequest& planned) {
  return std::get<TextQuery>(planned.request.query).text;
}

std::vector<std::string> ValuesOf(const std::vector<SourceQuery>& queries) {
  std::vector<std::string> values;
  for (const SourceQuery& query : queries) values.push_back(query.value);
  return values;
}

std::set<std::string> SetOf(const std::vector<SourceQuery>& queries) {
  const std::vector<std::string> values = ValuesOf(queries);
  return {values.begin(), values.end()};
}

// ---- making requests ----

TEST_CASE("a request has everything that its entry says") {
  Scenario scenario;
  MixEntry entry = TextEntry("words", 1);
  entry.top_k = {{7, 1}};
  entry.depth = {{0, 1}};
  entry.reranker = "fine";
  entry.filter = {{"sea"}, {}, {"drawing"}};
  entry.effort.effort = 70;
  entry.deadline = absl::Milliseconds(250);
  scenario.mix = {entry};
  const Workload workload = Create(scenario, {{{"a red fish", {"fish", "koi"}}}});
  REQUIRE(workload.kinds() == std::vector<std::string>{"words"});
  const PlannedRequest planned = workload.Make(12345);
  REQUIRE(planned.request.index == "images");
  REQUIRE(TextOf(planned) == "a red fish");
  REQUIRE(planned.request.top_k == 7);
  REQUIRE(planned.request.depth == 0);
  REQUIRE(planned.request.reranker == "fine");
  REQUIRE(planned.request.filter.any == std::vector<std::string>{"sea"});
  REQUIRE(planned.request.filter.none == std::vector<std::string>{"drawing"});
  REQUIRE(planned.request.effort.effort == 70);
  REQUIRE_FALSE(planned.request.effort.recall.has_value());
  REQUIRE_FALSE(planned.request.combination);
  REQUIRE(planned.deadline == absl::Milliseconds(250));
  REQUIRE(planned.kind == 0);
  REQUIRE(planned.known_items.size() == 2);
  REQUIRE(planned.known_items[1] == "koi");
}

TEST_CASE("questions are asked exactly of entries that measure recall, with their filters") {
  Scenario scenario;
  MixEntry measured = TextEntry("measured", 1), many = TextEntry("many", 1);
  measured.top_k = {{50, 1}};
  measured.depth = many.depth = {{0, 1}};
  measured.filter = {{"sea"}, {}, {}};
  measured.effort.recall = 0.9f;
  measured.measure_recall = 7;
  many.measure_recall = 1;
  scenario.mix = {TextEntry("plain", 1), measured, many};
  const Workload workload = Create(scenario, {Numbered(9), Numbered(4), Numbered(1000)});
  const std::vector<PlannedRequest> questions = workload.ExactQuestions();
  REQUIRE(questions.size() == 4 + kMaxExactQuestions);
  for (int i = 0; i < 4; ++i) {
    const PlannedRequest& question = questions[i];
    REQUIRE(question.kind == 1);
    REQUIRE(question.question == i);
    REQUIRE(TextOf(question) == absl::StrCat("q", i));
    REQUIRE(question.request.index == "images");
    REQUIRE(question.request.top_k == 7);
    REQUIRE(question.request.depth == 0);
    REQUIRE(question.request.filter.any == std::vector<std::string>{"sea"});
    REQUIRE(question.request.effort.effort == limits::kMaxEffort);
    REQUIRE_FALSE(question.request.effort.recall.has_value());
    REQUIRE(question.deadline == kExactDeadline);
  }
  REQUIRE(questions[4].kind == 2);
  // Requests of the run tell by the same numbers which question they ask.
  for (int n = 0; n < 100; ++n) {
    const PlannedRequest planned = workload.Make(n);
    REQUIRE(TextOf(planned) == absl::StrCat("q", planned.question));
  }
}

TEST_CASE("each kind of query becomes its own") {
  Scenario scenario;
  scenario.mix = {TextEntry("image", 1), TextEntry("item", 1)};
  scenario.mix[0].kind = QueryKind::kImage;
  scenario.mix[1].kind = QueryKind::kItem;
  const Workload workload = Create(scenario, {{{"JPEG", {}}}, {{"fish", {}}}});
  bool seen[2] = {};
  for (int n = 0; n < 50; ++n) {
    const PlannedRequest planned = workload.Make(n);
    seen[planned.kind] = true;
    REQUIRE(planned.known_items.empty());
    if (planned.kind == 0) REQUIRE(*std::get<ImageQuery>(planned.request.query).bytes == "JPEG");
    if (planned.kind == 1) {
      REQUIRE(std::get<ItemQuery>(planned.request.query).item_id == "fish");
      REQUIRE(std::get<ItemQuery>(planned.request.query).index.empty());
    }
  }
  REQUIRE((seen[0] && seen[1]));
}

TEST_CASE("entry, hits and depth are drawn by weight, independently of each other") {
  Scenario scenario;
  scenario.mix = {TextEntry("often", 3), TextEntry("seldom", 1)};
  for (MixEntry& entry : scenario.mix) {
    entry.top_k = {{10, 1}, {50, 4}};
    entry.depth = {{0, 0.5}, {20, 0.5}};
  }
  const Workload workload = Create(scenario, {Numbered(5), Numbered(5)});
  constexpr int kRequests = 40000;
  std::map<std::string, double> counts;
  for (int n = 0; n < kRequests; ++n) {
    const PlannedRequest planned = workload.Make(n);
    counts[absl::StrCat(planned.kind, " ", planned.request.top_k, " ", *planned.request.depth)] +=
        1.0 / kRequests;
  }
  REQUIRE(counts.size() == 8);
  for (const auto& [key, share] : counts) {
    INFO(key);
    const double expected =
        (key[0] == '0' ? 0.75 : 0.25) * (absl::StrContains(key, " 50 ") ? 0.8 : 0.2) * 0.5;
    REQUIRE(share == Approx(expected).margin(0.006));
  }
}

TEST_CASE("a query comes again only after all others have had their turn") {
  Scenario scenario;
  scenario.mix = {TextEntry("a", 1)};
  const Workload workload = Create(scenario, {Numbered(7)});
  for (int start = 0; start < 20; ++start) {
    std::set<std::string> seen;
    for (int n = start; n < start + 7; ++n) seen.insert(TextOf(workload.Make(n)));
    REQUIRE(seen.size() == 7);
  }
}

TEST_CASE("equal seeds make equal requests, and others make others") {
  Scenario scenario;
  scenario.mix = {TextEntry("a", 1), TextEntry("b", 1)};
  const auto kinds = [&](uint64_t seed) {
    scenario.seed = seed;
    const Workload workload = Create(scenario, {Numbered(3), Numbered(3)});
    std::string kinds;
    for (int64_t n = 0; n < 64; ++n) absl::StrAppend(&kinds, workload.Make(n).kind);
    return kinds;
  };
  REQUIRE(kinds(1) == kinds(1));
  REQUIRE(kinds(1) != kinds(2));
}

TEST_CASE("threads make the requests that one thread makes") {
  Scenario scenario;
  scenario.mix = {TextEntry("a", 1), TextEntry("b", 2)};
  const Workload workload = Create(scenario, {Numbered(30), Numbered(20)});
  constexpr int kThreads = 4, kRequests = 2000;
  std::vector<std::string> texts(kRequests);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int n = kRequests - 1 - t; n >= 0; n -= kThreads) {
        const PlannedRequest planned = workload.Make(n);
        texts[n] = absl::StrCat(planned.kind, TextOf(planned), planned.known_items[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int n = 0; n < kRequests; ++n) {
    const PlannedRequest planned = workload.Make(n);
    REQUIRE(texts[n] == absl::StrCat(planned.kind, TextOf(planned), planned.known_items[0]));
  }
}

TEST_CASE("known items outlive the workload that a copy was made of") {
  Scenario scenario;
  scenario.mix = {TextEntry("a", 1)};
  absl::optional<Workload> first = Create(scenario, {Numbered(1)});
  const Workload copy = *first;
  const PlannedRequest planned = first->Make(0);
  first.reset();
  REQUIRE(planned.known_items[0] == "item0");
  REQUIRE(TextOf(copy.Make(0)) == "q0");
}

TEST_CASE("a workload without queries or with impossible weights is refused") {
  Scenario scenario;
  REQUIRE_FALSE(Workload::Create(scenario, {}).ok());
  scenario.mix = {TextEntry("a", 1)};
  REQUIRE_FALSE(Workload::Create(scenario, {}).ok());
  REQUIRE_FALSE(Workload::Create(scenario, {{}}).ok());
  scenario.mix = {TextEntry("a", 0)};
  REQUIRE_FALSE(Workload::Create(scenario, {Numbered(1)}).ok());
  scenario.mix = {TextEntry("a", 1)};
  scenario.mix[0].top_k.clear();
  REQUIRE_FALSE(Workload::Create(scenario, {Numbered(1)}).ok());
}

TEST_CASE("hashes of neighbours are spread evenly") {
  constexpr int kCells = 16, kDraws = 64000;
  std::vector<int> cells(kCells);
  for (int n = 0; n < kDraws; ++n) {
    const double uniform = SeededUniform(1, 2, n);
    REQUIRE((uniform >= 0 && uniform < 1));
    ++cells[static_cast<int>(uniform * kCells)];
  }
  double chi_squared = 0;
  for (int count : cells) chi_squared += (count - 4000.0) * (count - 4000.0) / 4000.0;
  REQUIRE(chi_squared < 37.7);  // exceeded once in a thousand, at 15 degrees of freedom
}

// ---- reading queries ----

class QueryFiles {
 public:
  MixEntry Write(QueryKind kind, const std::string& name, const std::string& text) {
    REQUIRE(WriteFileAtomically(dir_.File(name), text).ok());
    MixEntry entry = TextEntry("mixed", 1);
    entry.kind = kind;
    entry.queries = dir_.File(name);
    return entry;
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

TEST_CASE("a text a line; blank lines, space and repetitions are passed over") {
  QueryFiles files;
  const MixEntry entry =
      files.Write(QueryKind::kText, "t.txt", "a red fish\r\n\n  sea \nsea\na red fish");
  const auto queries = LoadQueries(entry, 1);
  REQUIRE(queries.ok());
  REQUIRE(SetOf(*queries) == std::set<std::string>{"a red fish", "sea"});
  REQUIRE(queries->size() == 2);
  REQUIRE((*queries)[0].known_items.empty());
}

TEST_CASE("questions know their items, and equal ones share them") {
  QueryFiles files;
  const MixEntry entry = files.Write(QueryKind::kText, "q.jsonl",
                                     "{\"query\":\"fish\",\"expect\":[\"a\",\"b\"]}\n"
                                     "{\"query\":\"fish\",\"expect\":[\"b\",\"c\"]}\n");
  const auto queries = LoadQueries(entry, 1);
  REQUIRE(queries.ok());
  REQUIRE(queries->size() == 1);
  REQUIRE((*queries)[0].value == "fish");
  REQUIRE((*queries)[0].known_items == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("pictures are those files below a folder that look like some") {
  QueryFiles files;
  REQUIRE(MakeDirectories(files.dir().File("deep/.hidden")).ok());
  for (const char* name :
       {"a.jpg", "b.PNG", "deep/c.webp", "d.txt", ".e.jpg", "deep/.hidden/f.png", "deep/g.jpeg"}) {
    REQUIRE(WriteFileAtomically(files.dir().File(name), name).ok());
  }
  MixEntry entry = TextEntry("pictures", 1);
  entry.kind = QueryKind::kImage;
  entry.queries = files.dir().path();
  const auto queries = LoadQueries(entry, 1);
  REQUIRE(queries.status().message() == "");
  REQUIRE(SetOf(*queries) == std::set<std::string>{"a.jpg", "b.PNG", "deep/c.webp", "deep/g.jpeg"});

  REQUIRE(WriteFileAtomically(files.dir().File("a.jpg"), "").ok());
  REQUIRE(absl::StrContains(LoadQueries(entry, 1).status().message(), "a.jpg is empty"));
}

TEST_CASE("distinct limits how many are used, and the seed chooses which") {
  std::string text;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "query ", i, "\n");
  QueryFiles files;
  MixEntry entry = files.Write(QueryKind::kItem, "ids", text);
  const auto all = LoadQueries(entry, 1);
  REQUIRE(all->size() == 100);
  REQUIRE(ValuesOf(*all) != ValuesOf(*LoadQueries(entry, 2)));
  REQUIRE(SetOf(*all) == SetOf(*LoadQueries(entry, 2)));
  entry.distinct = 5;
  const auto few = LoadQueries(entry, 1);
  REQUIRE(few->size() == 5);
  REQUIRE(ValuesOf(*few) == ValuesOf(*LoadQueries(entry, 1)));
  REQUIRE(SetOf(*few) != SetOf(*LoadQueries(entry, 2)));
  entry.distinct = 1000;
  REQUIRE(LoadQueries(entry, 1)->size() == 100);
}

TEST_CASE("files that cannot be asked from are told by their name") {
  QueryFiles files;
  const std::string long_line(limits::kMaxTextBytes + 1, 'x');
  for (const auto& [name, text, problem] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"empty.txt", " \n\n", "holds nothing to ask for 'mixed'"},
           {"bad.txt",
            "good\nb\xff"
            "d\n",
            "line 2"},
           {"long.txt", "a\nb\n" + long_line, "line 3 has 16385 bytes"},
           {"q.jsonl", "{\"query\":\"x\"}\n", "line 1: "}}) {
    const MixEntry entry = files.Write(QueryKind::kText, name, text);
    const auto queries = LoadQueries(entry, 1);
    REQUIRE(queries.status().code() == absl::StatusCode::kInvalidArgument);
    INFO(queries.status().message());
    REQUIRE(absl::StrContains(queries.status().message(), entry.queries));
    REQUIRE(absl::StrContains(queries.status().message(), problem));
  }
  MixEntry entry = TextEntry("gone", 1);
  entry.queries = files.dir().File("gone.txt");
  REQUIRE(LoadQueries(entry, 1).status().code() == absl::StatusCode::kNotFound);
  entry.kind = QueryKind::kImage;
  REQUIRE_FALSE(LoadQueries(entry, 1).ok());
}

TEST_CASE("items without a file are asked of whoever knows the fleet's") {
  Scenario scenario;
  MixEntry entry = TextEntry("item", 1);
  entry.kind = QueryKind::kItem;
  entry.distinct = 2;
  scenario.mix = {entry};
  const auto workload = Workload::Load(scenario, [](const std::string& index) {
    REQUIRE(index == "images");
    return std::vector<std::string>{"a", "b", "c", "a"};
  });
  REQUIRE(workload.ok());
  std::set<std::string> ids;
  for (int n = 0; n < 10; ++n) {
    ids.insert(std::get<ItemQuery>(workload->Make(n).request.query).item_id);
  }
  REQUIRE(ids.size() == 2);

  REQUIRE_FALSE(
      Workload::Load(scenario, [](const std::string&) { return std::vector<std::string>(); }).ok());
  REQUIRE(
      Workload::Load(scenario, [](const std::string&) -> absl::StatusOr<std::vector<std::string>> {
        return absl::UnavailableError("away");
      }).status() == absl::UnavailableError("away"));
}

}  // namespace
}  // namespace sightline
