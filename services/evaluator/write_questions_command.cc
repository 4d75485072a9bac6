#include "services/evaluator/write_questions_command.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/item_splits.h"
#include "common/evaluation/questions.h"
#include "common/evaluation/relevance.h"
#include "common/evaluation/stored_index.h"

namespace sightline {
namespace {

struct WriteQuestionsFlags {
  EvaluationStoreOptions options;
  int64_t limit = 0;  // all

  void Define(Flags* flags) {
    flags->String("store", "DIR", "the store with the index", &options.store);
    flags->String("captions-index", "NAME", "index of captions; default captions",
                  &options.captions_index);
    flags->String("language", "CODE", "language of the captions; default en", &options.language);
    flags->Int("limit", "questions, evenly spread; default: all", 1, 1 << 30, &limit);
  }
};

// Lines that ParseQuestions reads; a caption of very many pictures asks for none of them.
void WriteLines(absl::Span<const EvaluationQuery> queries, const Relevance& relevance,
                const Console& console) {
  const auto images = relevance.RelevantImages(queries);
  int64_t left_out = 0;
  for (size_t q = 0; q < queries.size(); ++q) {
    const std::string line =
        nlohmann::json{{"query", queries[q].text}, {"expect", images[q]}}.dump();
    if (ParseQuestions(line).ok()) {
      console.out << line << "\n";
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) {
    console.err << left_out << " captions left out: empty, too long, or of too many pictures\n";
  }
}

absl::Status Write(const WriteQuestionsFlags& flags, const Console& console) {
  ComputePool pool(UsableCores());
  ASSIGN_OR_RETURN(const std::unique_ptr<StoredIndex> captions,
                   StoredIndex::Open(flags.options.store, flags.options.captions_index, &pool,
                                     CallContext::Unbounded()));
  ASSIGN_OR_RETURN(const std::vector<ItemRecord> records, captions->Records());
  ASSIGN_OR_RETURN(const Relevance relevance, Relevance::Build(records, flags.options.language));
  const auto queries = Sample(relevance.Queries(Direction::kTextToImage), flags.limit);
  if (queries.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        captions->Name(), " has no caption in language '", flags.options.language, "'"));
  }
  WriteLines(queries, relevance, console);
  return absl::OkStatus();
}

}  // namespace

int RunWriteQuestions(const std::vector<std::string>& args, const Console& console) {
  WriteQuestionsFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kWriteQuestionsCommand, &definitions, args, console, &words, &status)) {
    return status;
  }
  std::string problem;
  if (flags.options.store.empty()) problem = "give --store DIR";
  if (!words.empty()) problem = absl::StrCat("'", words[0], "' is no flag");
  if (!problem.empty()) return UsageError(kWriteQuestionsCommand, problem, console);
  const absl::Status done = Write(flags, console);
  return done.ok() ? kSuccess : Fail(done, console);
}

}  // namespace sightline
