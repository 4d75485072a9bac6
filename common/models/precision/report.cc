#include "common/models/precision/report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/bundle/model_probes.h"
#include "common/kernels/cpu.h"
#include "common/log/log.h"
#include "common/models/precision/agreement.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionAgreement;
using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;

constexpr int kFormatVersion = 1;
constexpr int64_t kMaxBytes = int64_t{64} << 20;
constexpr int kMaxObjects = 100;
constexpr char kFloat32[] = "float32";
// Of a pair or a text, whatever computes it.
constexpr double kLeastSeconds = 1e-7;
constexpr double kMostSeconds = 1e4;
constexpr double kRounding = 1e-9;

// Of what computes: kernels and networks, as they stand in the sources.
constexpr char kProgram[] =
#include "common/models/precision/program.inc"
    ;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("precision report: ", what));
}

bool IsShare(double value) {
  return value >= 0 && value <= 1;
}

bool IsSane(const PrecisionAgreement& agreement) {
  return IsShare(agreement.top10_overlap()) && std::abs(agreement.kendall()) <= 1 &&
         agreement.greatest_difference() >= 0 && agreement.mean_difference() >= 0 &&
         agreement.score_deviation() >= 0 && IsShare(agreement.recall_at_1());
}

absl::Status CheckScores(const PrecisionScores& scores, const PrecisionScores& reference,
                         int item_count) {
  if (!IsSane(scores.agreement())) return Malformed("an agreement is out of its bounds");
  if (!(scores.seconds() >= kLeastSeconds && scores.seconds() <= kMostSeconds)) {
    return Malformed(absl::StrCat("takes ", scores.seconds(), " seconds"));
  }
  const int count = scores.scores_size();
  if (count == 0 || count % item_count != 0 || count / item_count > kMostProbeTexts ||
      count != reference.scores_size()) {
    return Malformed(absl::StrCat("has ", count, " scores of ", item_count, " items, and ",
                                  reference.scores_size(), " in float32"));
  }
  const bool finite = std::all_of(scores.scores().begin(), scores.scores().end(),
                                  [](float score) { return std::isfinite(score); });
  if (!finite) return Malformed("a score is not finite");
  // What is decided by is what the scores say.
  const double overlap = Compare(reference.scores(), scores.scores(), item_count,
                                 std::vector<std::vector<int>>(count / item_count))
                             .top10_overlap();
  if (std::abs(overlap - scores.agreement().top10_overlap()) <= kRounding) return absl::OkStatus();
  return Malformed(absl::StrCat("its top10_overlap is ", scores.agreement().top10_overlap(),
                                ", that of its scores ", overlap));
}

// Those that there are, on any CPU.
constexpr absl::string_view kPrecisions[] = {kFloat32, "bfloat16", "int8"};

absl::Status CheckPrecisions(const PrecisionReport& report) {
  if (report.results_size() == 0 || report.results(0).precision() != kFloat32) {
    return Malformed("does not begin with float32");
  }
  std::set<std::string> names;
  for (const PrecisionResult& result : report.results()) {
    const std::string& name = result.precision();
    if (std::find(std::begin(kPrecisions), std::end(kPrecisions), name) == std::end(kPrecisions)) {
      return Malformed(absl::StrCat("there is no precision '", absl::CHexEscape(name), "'"));
    }
    if (!names.insert(name).second) return Malformed(absl::StrCat(name, " is there twice"));
  }
  return absl::OkStatus();
}

absl::Status CheckReport(const PrecisionReport& report) {
  if (report.format_version() != kFormatVersion) {
    return Malformed(absl::StrCat("has format version ", report.format_version(),
                                  ", this program knows ", kFormatVersion));
  }
  RETURN_IF_ERROR(CheckPrecisions(report));
  const PrecisionResult& reference = report.results(0);
  for (const PrecisionResult& result : report.results()) {
    if (result.has_pairs() != reference.has_pairs() ||
        result.has_texts() != reference.has_texts()) {
      return Malformed(
          absl::StrCat(absl::CHexEscape(result.precision()), " has other parts than float32"));
    }
    if (!result.has_pairs() && !result.has_texts()) {
      // A model that has nothing to choose from.
      if (report.results_size() == 1) continue;
      return Malformed(absl::StrCat(result.precision(), " has no scores"));
    }
    if (report.item_count() <= 0 || report.item_count() > kMostProbeItems) {
      return Malformed(absl::StrCat("has ", report.item_count(), " items; 1 to ", kMostProbeItems,
                                    " are scored"));
    }
    if (result.has_pairs()) {
      RETURN_IF_ERROR(CheckScores(result.pairs(), reference.pairs(), report.item_count()));
    }
    if (result.has_texts()) {
      RETURN_IF_ERROR(CheckScores(result.texts(), reference.texts(), report.item_count()));
    }
  }
  return absl::OkStatus();
}

bool Fits(const PrecisionReport& report, const ReportKey& key) {
  return report.model() == key.model && report.cpu() == key.cpu && report.program() == key.program;
}

}  // namespace

ReportKey KeyHere(absl::string_view model, absl::string_view device) {
  std::string where = kernels::NamesOf(kernels::ThisCpu());
  if (!device.empty()) absl::StrAppend(&where, "; ", device);
  return {std::string(model), std::move(where), kProgram};
}

std::string ReportFile(const ReportKey& key) {
  const std::string where = Sha256Hex(absl::StrCat(key.cpu, "\n", key.program));
  return absl::StrCat(key.model, "-", where.substr(0, 16), ".json");
}

std::string ReportFolder(absl::string_view state_dir) {
  return state_dir.empty() ? "" : JoinPath(state_dir, "precision");
}

std::string ReportJson(const PrecisionReport& report) {
  return ManifestJson(report);
}

absl::StatusOr<PrecisionReport> ParseReport(absl::string_view json) {
  // An empty object is two bytes of JSON and fifty times that in memory.
  if (std::count(json.begin(), json.end(), '{') > kMaxObjects) {
    return Malformed(absl::StrCat("more than ", kMaxObjects, " objects"));
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  PrecisionReport report;
  try {
    const auto status = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(json.data(), json.size()), &report, options);
    if (!status.ok()) {
      return Malformed(absl::CHexEscape(std::string(status.message()).substr(0, 300)));
    }
  } catch (const std::exception& error) {
    return Malformed(error.what());
  }
  RETURN_IF_ERROR(CheckReport(report));
  return report;
}

absl::StatusOr<PrecisionReport> FindReport(const std::vector<std::string>& folders,
                                           const ReportKey& key) {
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    const std::string path = JoinPath(folder, ReportFile(key));
    const absl::StatusOr<std::string> json = ReadFile(path, kMaxBytes);
    if (absl::IsNotFound(json.status())) continue;
    absl::StatusOr<PrecisionReport> report =
        json.ok() ? ParseReport(*json) : absl::StatusOr<PrecisionReport>(json.status());
    if (report.ok() && Fits(*report, key)) return report;
    Log(Severity::kWarning, "precision report not taken",
        {{"path", path},
         {"error", report.ok()
                       ? absl::InvalidArgumentError("it is of another model, CPU or program")
                       : report.status()}});
  }
  return absl::NotFoundError(absl::StrCat("there is no precision report of model ", key.model,
                                          " for this CPU (", key.cpu, ") and program"));
}

absl::Status WriteReport(const std::string& folder, const PrecisionReport& report) {
  RETURN_IF_ERROR(MakeDirectories(folder));
  return WriteFileAtomically(
      JoinPath(folder, ReportFile({report.model(), report.cpu(), report.program()})),
      ReportJson(report));
}

}  // namespace sightline
