#include "services/corpus_encoder/quarantine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr size_t kExamples = 3;
constexpr int64_t kMostLogged = 20;
constexpr char kSeparator = '\0';  // in no id, path or reason, and before all that is

// Lines into a file that appears when all are there.
class LineFile {
 public:
  static absl::StatusOr<LineFile> Create(absl::string_view path) {
    ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, AtomicFile::Create(path));
    return LineFile(std::move(file));
  }

  absl::Status Add(absl::string_view line) {
    constexpr size_t kEnough = 1 << 20;
    buffer_.append(line.data(), line.size());
    return buffer_.size() < kEnough ? absl::OkStatus() : Flush();
  }

  absl::Status Commit() {
    RETURN_IF_ERROR(Flush());
    return file_->Commit();
  }

 private:
  explicit LineFile(std::unique_ptr<AtomicFile> file) : file_(std::move(file)) {}

  absl::Status Flush() {
    RETURN_IF_ERROR(file_->WriteAt(written_, buffer_));
    written_ += static_cast<int64_t>(buffer_.size());
    buffer_.clear();
    return absl::OkStatus();
  }

  std::unique_ptr<AtomicFile> file_;
  std::string buffer_;
  int64_t written_ = 0;
};

}  // namespace

std::string ProblemJsonLine(const CorpusProblem& problem) {
  const nlohmann::ordered_json line = {
      {"item_id", problem.item_id}, {"path", problem.path}, {"reason", problem.reason}};
  return absl::StrCat(
      line.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace), "\n");
}

absl::Status Quarantine::Add(const CorpusProblem& problem) {
  if (examples_.size() < kExamples) examples_.push_back(problem);
  std::string key = problem.item_id;
  key += kSeparator;
  key += problem.path;
  key += kSeparator;
  key += problem.reason;
  return sorter_.Add(key, "");
}

absl::Status Quarantine::VisitAll(const std::function<absl::Status(const CorpusProblem&)>& visit) {
  return sorter_.VisitAll([&](absl::string_view key, absl::string_view) {
    const std::vector<std::string> fields = absl::StrSplit(key, absl::MaxSplits(kSeparator, 2));
    return visit({fields[0], fields[1], fields[2]});
  });
}

absl::Status Quarantine::AddAll(Quarantine& other) {
  return other.VisitAll([this](const CorpusProblem& problem) { return Add(problem); });
}

absl::Status Quarantine::WriteTo(absl::string_view path) {
  ASSIGN_OR_RETURN(LineFile file, LineFile::Create(path));
  RETURN_IF_ERROR(
      VisitAll([&](const CorpusProblem& problem) { return file.Add(ProblemJsonLine(problem)); }));
  return file.Commit();
}

absl::StatusOr<Warnings> Warnings::Create(absl::string_view directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<Spool> lines, Spool::Create(directory));
  return Warnings(std::move(lines));
}

absl::Status Warnings::Add(const CorpusProblem& problem) {
  if (size() < kMostLogged) {
    Log(Severity::kWarning, "item is not as it should be",
        {{"item_id", problem.item_id}, {"path", problem.path}, {"reason", problem.reason}});
  }
  return lines_->Add(ProblemJsonLine(problem));
}

absl::Status Warnings::Finish() {
  if (size() > kMostLogged) {
    Log(Severity::kWarning, "more items are not as they should be",
        {{"count", size() - kMostLogged}});
  }
  return lines_->Finish();
}

absl::Status Warnings::WriteTo(absl::string_view path) const {
  ASSIGN_OR_RETURN(LineFile file, LineFile::Create(path));
  Spool::Reader reader(*lines_);
  for (;;) {
    absl::string_view line;
    ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) return file.Commit();
    RETURN_IF_ERROR(file.Add(line));
  }
}

absl::Status CheckQuarantineShare(absl::string_view what, const Quarantine& quarantine,
                                  int64_t item_count, double max_share) {
  if (static_cast<double>(quarantine.size()) <= max_share * static_cast<double>(item_count)) {
    return absl::OkStatus();
  }
  std::string first;
  for (const CorpusProblem& example : quarantine.examples()) {
    absl::StrAppend(&first, first.empty() ? "" : "; ", example.item_id, ": ", example.reason);
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "%d of %d %s are bad, more than limits.max_quarantine_share (%g) allows; the first: %s",
      quarantine.size(), item_count, what, max_share, first));
}

absl::Status CheckSomeAreGood(absl::string_view what, const Quarantine& quarantine,
                              int64_t item_count) {
  if (quarantine.size() < item_count || quarantine.examples().empty()) return absl::OkStatus();
  const CorpusProblem& first = quarantine.examples().front();
  return absl::FailedPreconditionError(absl::StrCat(
      "all ", item_count, " ", what, " are bad; the first: ", first.item_id, ": ", first.reason));
}

absl::Status CheckBadItems(const BadItems& bad, double max_share, const std::string& ledger) {
  absl::Status status = CheckQuarantineShare("pictures", bad.images, bad.image_count, max_share);
  if (status.ok()) {
    status = CheckQuarantineShare("captions", bad.captions, bad.caption_count, max_share);
  }
  if (status.ok()) status = CheckSomeAreGood("pictures", bad.images, bad.image_count);
  if (status.ok()) return status;
  Quarantine all(ledger.substr(0, ledger.rfind('/')));
  RETURN_IF_ERROR(all.AddAll(bad.images));
  RETURN_IF_ERROR(all.AddAll(bad.captions));
  RETURN_IF_ERROR(all.WriteTo(ledger));
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), ".  All of them are in ", ledger));
}

}  // namespace sightline
