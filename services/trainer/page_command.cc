#include "services/trainer/page_command.h"

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "services/trainer/run_log.h"
#include "services/trainer/run_metrics.h"
#include "services/trainer/run_page.h"

namespace sightline {
namespace {

// Far more than the longest run reports.
constexpr int64_t kMostBytes = int64_t{256} << 20;

absl::StatusOr<RunMetrics> ReadRun(const std::string& folder) {
  const std::string path = JoinPath(folder, kMetricsFile);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  return Within(path, ParseRunMetrics(text));
}

}  // namespace

int RunPageCommand(const std::vector<std::string>& args, const Console& console) {
  std::string folder, page;
  Flags flags;
  flags.String("run", "DIR", "what the run was given as --out: it has metrics.jsonl", &folder);
  flags.String("out", "FILE", "the page; default: page.html in that folder", &page);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kPageCommand, &flags, args, console, &words, &status)) return status;
  if (folder.empty() || !words.empty()) return UsageError(kPageCommand, "give --run DIR", console);
  if (page.empty()) page = JoinPath(folder, "page.html");
  const absl::StatusOr<RunMetrics> run = ReadRun(folder);
  if (!run.ok()) return Fail(run.status(), console);
  for (const std::string& doubt : RunDoubts(*run)) console.err << doubt << "\n";
  const absl::Status written = WriteFileAtomically(page, RunPage(folder, *run));
  if (!written.ok()) return Fail(written, console);
  console.out << page << "\n";
  return kSuccess;
}

}  // namespace sightline
