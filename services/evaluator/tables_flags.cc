#include "services/evaluator/tables_flags.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/evaluation/score_timing.h"
#include "services/evaluator/evaluator_flags.h"

namespace sightline {
namespace {

constexpr char kDepth[] = "20";
constexpr int kMaxNdcgCutoff = 1'000'000;
constexpr double kMostSeconds = 1e12;

// What stands between commas in any of `lists`.
std::vector<std::string> Words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (const absl::string_view word : absl::StrSplit(list, ',')) words.emplace_back(word);
  }
  return words;
}

// "NAME=VALUE", the name not in `names` before.
absl::StatusOr<std::pair<std::string, std::string>> NamedValue(const std::string& text,
                                                               std::set<std::string>* names) {
  std::pair<std::string, std::string> named = absl::StrSplit(text, absl::MaxSplits('=', 1));
  RETURN_IF_ERROR(CheckScoresName(named.first));
  if (named.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has nothing after NAME="));
  }
  if (!names->insert(named.first).second) {
    return absl::InvalidArgumentError(absl::StrCat("'", named.first, "' is given twice"));
  }
  return named;
}

// What says how matrices rank is not for lists, which have been ranked.
absl::Status PlanLists(const TablesFlags& flags, TablesPlan* plan) {
  const std::pair<absl::string_view, bool> given[] = {
      {"matrix", !flags.matrices.empty()},
      {"pairs", !flags.pairs.empty()},
      {"ensemble", !flags.ensembles.empty()},
      {"runs", !flags.runs.empty()},
      {"policies", !flags.policies.empty()},
      {"protocol", !flags.protocol.empty()},
      {"depths", !flags.depths.empty()},
      {"lambdas", !flags.lambdas.empty()},
      {"rerank-scores", !flags.rerank_scores.empty()},
      {"ties", !flags.ties.empty()},
      {"languages", !flags.languages.empty()},
      {"seconds", !flags.seconds.empty()}};
  for (const auto& [flag, is_given] : given) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is for matrices; --lists have been ranked, and say the rest"));
  }
  std::set<std::string> seen;
  for (const std::string& file : flags.lists) {
    if (!file.empty() && seen.insert(file).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--lists: '", file, "' is no file that is given once"));
  }
  plan->lists = flags.lists;
  return absl::OkStatus();
}

absl::Status PlanScores(const TablesFlags& flags, TablesPlan* plan, std::set<std::string>* names) {
  if (flags.matrices.empty()) {
    return absl::InvalidArgumentError("give --matrix NAME=FILE.npy, or --lists FILE");
  }
  if (!flags.families.empty()) {
    return absl::InvalidArgumentError("--families is for --lists; --pairs says those of matrices");
  }
  if (flags.pairs.empty()) return absl::InvalidArgumentError("give --pairs FILE.jsonl");
  for (const std::string& text : flags.matrices) {
    ASSIGN_OR_RETURN(auto named, Within("--matrix", NamedValue(text, names)));
    plan->matrices.push_back({std::move(named.first), std::move(named.second)});
  }
  const std::set<std::string> matrices = *names;
  for (const std::string& text : flags.ensembles) {
    ASSIGN_OR_RETURN(const auto named, Within("--ensemble", NamedValue(text, names)));
    const std::vector<std::string> members = absl::StrSplit(named.second, '+');
    for (const std::string& member : members) {
      if (matrices.count(member) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--ensemble: '", member, "' is no --matrix; one is NAME=A+B"));
    }
    plan->ensembles.push_back({named.first, members});
  }
  return absl::OkStatus();
}

absl::StatusOr<TablesPlan::Stages> PlanStages(const std::string& text,
                                              const std::set<std::string>& known) {
  std::pair<std::string, std::string> scores = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool two = text.find(':') != std::string::npos;
  if (known.count(scores.first) > 0 && (!two || known.count(scores.second) > 0)) {
    return TablesPlan::Stages{scores.first, scores.second};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is neither the name of a matrix or ensemble nor two such, A:B"));
}

// What ranks, by the names that --runs gives.
using NamedRuns = std::map<std::string, std::vector<TablesPlan::Stages>>;

absl::StatusOr<NamedRuns> PlanRuns(const TablesFlags& flags, const std::set<std::string>& known) {
  NamedRuns runs;
  std::set<std::string> names = known;
  for (const std::string& text : flags.runs) {
    ASSIGN_OR_RETURN(const auto named, Within("--runs", NamedValue(text, &names)));
    std::vector<TablesPlan::Stages>& own = runs[named.first];
    const std::vector<std::string> texts = absl::StrSplit(named.second, '+');
    for (const std::string& run : texts) {
      ASSIGN_OR_RETURN(own.emplace_back(), Within("--runs", PlanStages(run, known)));
      if (own.back().rerank.empty() == own.front().rerank.empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--runs: '", named.second, "' reranks in some runs alone; give A+B, or A:C+B:D"));
    }
  }
  return runs;
}

absl::StatusOr<TablesPlan::Policy> PlanPolicy(const std::string& name,
                                              const std::set<std::string>& known,
                                              const NamedRuns& runs,
                                              const std::vector<Method>& methods) {
  TablesPlan::Policy policy;
  policy.name = name;
  const auto several = runs.find(name);
  if (several != runs.end()) {
    policy.runs = several->second;
  } else {
    ASSIGN_OR_RETURN(policy.runs.emplace_back(), Within("--policies", PlanStages(name, known)));
  }
  policy.methods = policy.runs.front().rerank.empty() ? std::vector<Method>{Method()} : methods;
  return policy;
}

// What says how is reranked is for those that do.
absl::Status CheckReranks(const TablesFlags& flags, const TablesPlan& plan) {
  for (const TablesPlan::Policy& policy : plan.policies) {
    if (!policy.runs.front().rerank.empty()) return absl::OkStatus();
  }
  const std::pair<absl::string_view, const std::string*> given[] = {
      {"depths", &flags.depths},
      {"lambdas", &flags.lambdas},
      {"rerank-scores", &flags.rerank_scores}};
  for (const auto& [flag, value] : given) {
    if (value->empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is for policies that rerank; name one, A:B, in --policies"));
  }
  return absl::OkStatus();
}

absl::Status PlanPolicies(const TablesFlags& flags, const std::set<std::string>& known,
                          TablesPlan* plan) {
  ASSIGN_OR_RETURN(const NamedRuns runs, PlanRuns(flags, known));
  ASSIGN_OR_RETURN(
      const std::vector<int> depths,
      ParseNumbers("depths", flags.depths.empty() ? kDepth : flags.depths, 1, limits::kMaxHits));
  std::vector<float> lambdas;
  if (!flags.lambdas.empty()) {
    ASSIGN_OR_RETURN(lambdas, ParseLambdas("lambdas", flags.lambdas));
  }
  std::vector<Method> methods = Methods(depths, AllCombinations(lambdas, Combination()));
  methods.erase(methods.begin());  // retrieval alone, which is a policy of its own
  std::vector<std::string> names = Words(flags.policies);
  if (names.empty()) {
    for (const TablesPlan::Matrix& matrix : plan->matrices) names.push_back(matrix.name);
    for (const TablesPlan::Ensemble& ensemble : plan->ensembles) names.push_back(ensemble.name);
    for (const auto& [name, stages] : runs) names.push_back(name);
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("--policies: '", name, "' is given twice"));
    }
    ASSIGN_OR_RETURN(TablesPlan::Policy policy, PlanPolicy(name, known, runs, methods));
    plan->policies.push_back(std::move(policy));
  }
  return CheckReranks(flags, *plan);
}

absl::Status OneOf(absl::string_view flag, const std::string& value, absl::string_view first,
                   absl::string_view second, bool* is_second) {
  *is_second = value == second;
  if (value == first || value == second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": '", value, "' is neither ", first, " nor ", second));
}

absl::Status PlanLanguages(const TablesFlags& flags, TablesPlan* plan) {
  plan->languages = Words(flags.languages);
  std::set<std::string> seen;
  for (const std::string& language : plan->languages) {
    if (!language.empty() && seen.insert(language).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--languages: '", language, "' is no language that does not stand before"));
  }
  if (seen.count("each") == 0 || seen.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError("--languages: each stands for all; give it alone");
}

absl::Status PlanLayouts(const TablesFlags& flags, TablesPlan* plan) {
  for (const std::string& name : Words(flags.layouts)) {
    ASSIGN_OR_RETURN(const PaperLayout* const layout, Within("--layout", FindLayout(name)));
    if (layout->of_languages() && plan->languages.empty() && plan->lists.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--layout: ", name, " has a column for each language; give --languages"));
    }
    plan->layouts.push_back(layout);
  }
  return absl::OkStatus();
}

absl::Status PlanSeconds(const TablesFlags& flags, const std::set<std::string>& known,
                         TablesPlan* plan) {
  std::set<std::string> names;
  for (const std::string& text : flags.seconds) {
    ASSIGN_OR_RETURN(const auto named, Within("--seconds", NamedValue(text, &names)));
    if (known.count(named.first) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--seconds: '", named.first, "' is neither the name of a matrix nor of an ensemble"));
    }
    double seconds = 0;
    if (!absl::SimpleAtod(named.second, &seconds) || !(seconds > 0 && seconds <= kMostSeconds)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--seconds: '", named.second, "' is no number of seconds above 0"));
    }
    plan->seconds.emplace(named.first, seconds);
  }
  return absl::OkStatus();
}

// What is read, with what lies beside it, is not to be written over, nor what was just written.
absl::Status CheckOutputs(const TablesFlags& flags, const TablesPlan& plan) {
  std::map<std::string, std::string> named_by;
  for (const std::string& file : plan.lists) named_by.emplace(PathOf(file), "--lists");
  if (!flags.families.empty()) named_by.emplace(PathOf(flags.families), "--families");
  if (!flags.pairs.empty()) named_by.emplace(PathOf(flags.pairs), "--pairs");
  if (!plan.protocol.file.empty()) named_by.emplace(PathOf(plan.protocol.file), "--protocol");
  for (const TablesPlan::Matrix& matrix : plan.matrices) {
    for (const std::string& file : {matrix.file, TimingPath(matrix.file)}) {
      named_by.emplace(PathOf(file), absl::StrCat("--matrix ", matrix.name));
    }
  }
  for (const auto& [flag, file] :
       {std::pair("--json", &flags.json), {"--csv", &flags.csv}, {"--page", &flags.page}}) {
    std::error_code error;
    const auto found = std::filesystem::status(*file, error);
    // A terminal, or nowhere, may have all of them.
    if (file->empty() || (exists(found) && !is_regular_file(found))) continue;
    const auto [there, fresh] = named_by.emplace(PathOf(*file), flag);
    if (!fresh) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " is ", *file, ", the file of ",
                                                     there->second, "; give it one of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void TablesFlags::Define(Flags* flags) {
  flags->Strings("lists", "FILE",
                 "instead of matrices what `measure --lists` wrote, of a fleet or of this process; "
                 "repeatable: several of one language are folds, of several a table each",
                 &lists);
  flags->String(
      "families", "FILE",
      "with --lists: a picture's id, a tab and its family's a line; default: each picture "
      "alone",
      &families);
  flags->Strings("matrix", "NAME=FILE.npy",
                 "float32 scores, a row for each image and a column for each caption; repeatable",
                 &matrices);
  flags->String("pairs", "FILE.jsonl", "what rows and columns are", &pairs);
  flags->Strings("ensemble", "NAME=A+B", "the mean of these matrices; repeatable", &ensembles);
  flags->Strings(
      "runs", "NAME=P+Q",
      "a policy whose results are the mean of these, runs of one method: A+B or A:C+B:D; "
      "repeatable",
      &runs);
  flags->Strings("policies", "A,A:B,...",
                 "what ranks: scores alone, or the best by A reranked by B; the first is what the "
                 "others are compared with; default: all scores alone, and all --runs",
                 &policies);
  flags->String("protocol", "NAME",
                "whole (default), coco_5k, flickr_1k, coco_1k_folds, folds:N, list:FILE, "
                "distractors:FILE, captions:FILE, shared_words:N or pools:FILE",
                &protocol);
  flags->String("depths", "N,...", "candidates to rerank; default 20", &depths);
  flags->String("lambdas", "L,...",
                "weights of the retrieval score in both sums; default: replace alone", &lambdas);
  flags->String(
      "rerank-scores", "KIND",
      "what B's numbers are: softmax_match, sigmoid, logit_match, rank_raw; default: what "
      "B.npy.json says, or softmax_match",
      &rerank_scores);
  flags->String("ties", "RULE",
                "order: the candidate that stands first in the file comes first (default); "
                "expected: means over all orders",
                &ties);
  flags->Strings("languages", "CODE,...",
                 "a table for each of these languages, or for each, and Meta-Ave; default: all "
                 "captions in one",
                 &languages);
  flags->String("columns", "ORDER", "tr-ir (default) or ir-tr", &columns);
  flags->String("recall", "K,K,K", "of tables, AR and rsum: 1,5,10 (default) or 5,10,20", &recall);
  flags->Int("ndcg", "the cutoff of NDCG; default 10", 1, kMaxNdcgCutoff, &measure.ndcg_cutoff);
  flags->Int("resamples", "of the bootstrap; default 10000", 100, 1000000, &bootstrap.resamples);
  flags->Int("seed", "of the bootstrap; default 1", 0, int64_t{1} << 53, &bootstrap.seed);
  flags->Strings("layout", "PAPER,...",
                 absl::StrCat("print the tables of these papers: ", LayoutNames()), &layouts);
  flags->Strings("seconds", "NAME=S",
                 "what a caption takes that looks for all images by these scores, where "
                 "FILE.npy.json does not say it; repeatable",
                 &seconds);
  flags->String("page", "FILE", "write an HTML page of tables and plots there, too", &page);
  flags->String("json", "FILE", "write everything there, too", &json);
  flags->String("csv", "FILE", "write a line for each language and method there, too", &csv);
  flags->Int("threads", "cores to use; default: all", 1, limits::kMaxThreads, &threads);
}

absl::StatusOr<TablesPlan> PlanTables(const TablesFlags& flags) {
  TablesPlan plan;
  if (flags.lists.empty()) {
    std::set<std::string> names;
    RETURN_IF_ERROR(PlanScores(flags, &plan, &names));
    RETURN_IF_ERROR(PlanPolicies(flags, names, &plan));
    RETURN_IF_ERROR(PlanLanguages(flags, &plan));
    RETURN_IF_ERROR(PlanSeconds(flags, names, &plan));
  } else {
    RETURN_IF_ERROR(PlanLists(flags, &plan));
  }
  RETURN_IF_ERROR(PlanLayouts(flags, &plan));
  const std::string protocol = flags.protocol.empty() ? "whole" : flags.protocol;
  ASSIGN_OR_RETURN(plan.protocol, Within("--protocol", ParseProtocol(protocol)));
  if (!flags.rerank_scores.empty()) {
    ASSIGN_OR_RETURN(plan.rerank_kind,
                     Within("--rerank-scores", ParseScoreKind(flags.rerank_scores)));
  }
  plan.measure = flags.measure;
  bool expected = false, full = false, text_first = false;
  RETURN_IF_ERROR(
      OneOf("ties", flags.ties.empty() ? "order" : flags.ties, "order", "expected", &expected));
  RETURN_IF_ERROR(OneOf("recall", flags.recall, "1,5,10", "5,10,20", &full));
  RETURN_IF_ERROR(OneOf("columns", flags.columns, "tr-ir", "ir-tr", &text_first));
  plan.measure.ties = expected ? TieRule::kExpectedRank : TieRule::kCandidateOrder;
  plan.recall = full ? RecallTriple::k5To20 : RecallTriple::k1To10;
  plan.image_to_text_first = !text_first;
  RETURN_IF_ERROR(CheckOutputs(flags, plan));
  return plan;
}

}  // namespace sightline
