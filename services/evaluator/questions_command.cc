#include "services/evaluator/questions_command.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/clients/router_address.h"
#include "common/config/table.h"

namespace sightline {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

struct QuestionsFlags {
  std::string questions;
  std::string router = DefaultRouter();
  AskOptions ask;
  int64_t at_least = 0;

  void Define(Flags* flags) {
    ask.request.depth = 50;
    ask.request.want_records = false;
    flags->String("questions", "FILE", "a JSON object a line: {\"query\": ..., \"expect\": [ID]}",
                  &questions);
    flags->String("router", "ADDR", kRouterHelp, &router);
    flags->String("index", "NAME", "index to search; default: the only one of pictures",
                  &ask.request.index);
    flags->Int("top-k", "hits that count; default 10", 1, limits::kMaxHits, &ask.request.top_k);
    flags->Int("depth", "candidates to rerank; default 50", 0, limits::kMaxHits,
               &ask.request.depth);
    flags->Int("at-least", "questions to be answered for exit status 0; default 0", 0, 1 << 30,
               &at_least);
    flags->Duration("timeout", "how long to wait for one answer; default 30s", &ask.timeout);
  }
};

absl::StatusOr<std::vector<Question>> ReadQuestions(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  return Within(path, ParseQuestions(text));
}

// From 1; 0 if no expected item is among the hits.
int RankOf(const Question& question, const std::vector<Hit>& hits) {
  for (size_t i = 0; i < hits.size(); ++i) {
    if (std::count(question.expected.begin(), question.expected.end(), hits[i].item_id) > 0) {
      return static_cast<int>(i + 1);
    }
  }
  return 0;
}

std::string Line(const Question& question, const SearchResult& result, int rank) {
  const std::string first = result.hits.empty() ? "nothing" : Printable(result.hits[0].item_id, 0);
  return absl::StrFormat("%-4s  %3s  %s  [first: %s]%s\n", rank > 0 ? "ok" : "miss",
                         rank > 0 ? absl::StrCat(rank) : "-", Printable(question.query, 0), first,
                         result.degraded.empty() ? "" : "  degraded");
}

}  // namespace

AskedQuestions AskQuestions(SearchClient& client, absl::Span<const Question> questions,
                            const AskOptions& options, const Console& console) {
  AskedQuestions asked;
  for (const Question& question : questions) {
    SearchRequest request = options.request;
    request.query = TextQuery{question.query};
    const CallContext call(Clock::Real(), Clock::Real()->Now() + options.timeout);
    const absl::StatusOr<SearchResult> result = client.SearchItems(call, std::move(request));
    if (!result.ok()) {
      console.out << absl::StrFormat("%-4s  %3s  %s\n", "fail", "-", Printable(question.query, 0))
                  << std::flush;
      asked.exit_status = Worse(asked.exit_status, Fail(result.status(), console));
      continue;
    }
    const int rank = RankOf(question, result->hits);
    ++asked.answered;
    if (rank > 0) ++asked.found;
    console.out << Line(question, *result, rank) << std::flush;
  }
  return asked;
}

int RunQuestions(const std::vector<std::string>& args, const Console& console) {
  QuestionsFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kQuestionsCommand, &definitions, args, console, &words, &status)) {
    return status;
  }
  if (flags.questions.empty() || !words.empty()) {
    return UsageError(kQuestionsCommand, "give --questions FILE and flags alone", console);
  }
  const absl::StatusOr<std::vector<Question>> questions = ReadQuestions(flags.questions);
  if (!questions.ok()) return Fail(questions.status(), console);

  const AskedQuestions asked =
      AskQuestions(*MakeGrpcSearchClient(flags.router), *questions, flags.ask, console);
  console.out << "hits@" << flags.ask.request.top_k << ": " << asked.found << "/"
              << questions->size() << "\n";
  // Nothing learned is no success, however little was asked for.
  if (asked.answered > 0 && asked.found >= flags.at_least) return kSuccess;
  return asked.exit_status == kRunAgain ? kRunAgain : kFailure;
}

}  // namespace sightline
