#include "services/sightlinectl/calibrate_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/named_bundle.h"
#include "common/models/inference.h"
#include "common/models/precision/calibrate.h"
#include "common/models/precision/report.h"
#include "services/sightlinectl/precision_bound.h"
#include "services/sightlinectl/precision_output.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;

constexpr int64_t kMaxReportBytes = int64_t{64} << 20;

struct Arguments {
  std::string store, model, bundle;
  std::string json, plot, state_dir, out;
  int threads = 0;  // 0: not given, so one
  bool merge = false;
};

void DefineFlags(Arguments* arguments, Flags* flags) {
  flags->String("store", "DIR", "store that holds the model", &arguments->store);
  flags->String("model", "ID", "model of that store", &arguments->model);
  flags->String("bundle", "FOLDER", "model bundle anywhere, in the place of the two",
                &arguments->bundle);
  flags->Int("threads", "that compute; default: one", 1, limits::kMaxThreads, &arguments->threads);
  flags->String("json", "FILE", "where to write the report", &arguments->json);
  flags->String("plot", "FILE", "where to draw agreement over speed, as SVG", &arguments->plot);
  flags->String("state-dir", "DIR", "of a server, to which the report then belongs",
                &arguments->state_dir);
  flags->String("out", "FOLDER", "of reports to ship, which a server's compute.reports names",
                &arguments->out);
  flags->Switch("merge", "compare the reports in FILES, made on several CPUs", &arguments->merge);
}

// What is wrong with the command line; empty if nothing.
std::string Misuse(const Arguments& arguments, const std::vector<std::string>& words) {
  const bool in_store = !arguments.store.empty() || !arguments.model.empty();
  const bool measures = in_store || !arguments.bundle.empty();
  if (arguments.merge) {
    const bool alone =
        !measures && arguments.threads == 0 && arguments.state_dir.empty() && arguments.out.empty();
    if (words.size() < 2 || !alone) {
      return "--merge goes with two files of reports or more, --json, --plot and nothing else";
    }
    std::set<std::string> files;
    for (const std::string& file : words) {
      if (!files.insert(file).second) return absl::StrCat("--merge has '", file, "' twice");
    }
    return "";
  }
  if (!words.empty()) return "give no words but with --merge";
  if (in_store != arguments.bundle.empty() ||
      (in_store && (arguments.store.empty() || arguments.model.empty()))) {
    return "give --store DIR and --model ID, or --bundle FOLDER, or --merge and files of reports";
  }
  if (!arguments.state_dir.empty() && !arguments.out.empty()) {
    return "give --state-dir DIR or --out FOLDER";
  }
  return "";
}

absl::StatusOr<ModelBundle> OpenBundle(const Arguments& arguments) {
  if (!arguments.bundle.empty()) {
    return OpenBundleFolder(arguments.bundle, /*verify_checksums=*/false);
  }
  return OpenStoredBundle(arguments.store, arguments.model, /*verify_checksums=*/false);
}

// Before minutes are spent on what then has no place.
absl::Status CheckPlaces(const Arguments& arguments) {
  for (const std::string* file : {&arguments.json, &arguments.plot}) {
    if (file->empty()) continue;
    const std::string folder = std::filesystem::path(*file).parent_path().string();
    const std::string place = folder.empty() ? "." : folder;
    if (::access((place + "/.").c_str(), W_OK) != 0) return FileError("write to", place, errno);
  }
  for (const std::string& folder : {arguments.out, ReportFolder(arguments.state_dir)}) {
    if (folder.empty()) continue;
    RETURN_IF_ERROR(MakeDirectories(folder));
    if (::access(folder.c_str(), W_OK) != 0) return FileError("write to", folder, errno);
  }
  return absl::OkStatus();
}

absl::Status WriteOne(const std::string& path, const std::string& text, const Console& console) {
  if (path.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(WriteFileAtomically(path, text));
  console.err << "written to " << path << "\n";
  return absl::OkStatus();
}

absl::Status Measure(const Arguments& arguments, const Console& console) {
  ASSIGN_OR_RETURN(const ModelBundle bundle, OpenBundle(arguments));
  RETURN_IF_ERROR(CheckPlaces(arguments));
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(std::max(arguments.threads, 1));
  CalibrationOptions options;
  options.pool = &pool;
  ASSIGN_OR_RETURN(const PrecisionReport report,
                   Calibrate(bundle, options, CallContext::Unbounded()));
  console.out << ReportText(report);
  RETURN_IF_ERROR(WriteOne(arguments.json, ReportJson(report), console));
  RETURN_IF_ERROR(WriteOne(arguments.plot, PrecisionPlot(absl::MakeSpan(&report, 1)), console));
  const std::string folder =
      arguments.out.empty() ? ReportFolder(arguments.state_dir) : arguments.out;
  if (folder.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(WriteReport(folder, report));
  const std::string name = ReportFile({report.model(), report.cpu(), report.program()});
  console.err << "written to " << JoinPath(folder, name) << "\n";
  return absl::OkStatus();
}

absl::Status Merge(const Arguments& arguments, const std::vector<std::string>& files,
                   const Console& console) {
  std::vector<PrecisionReport> reports;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string json, ReadFile(file, kMaxReportBytes));
    ASSIGN_OR_RETURN(PrecisionReport report, Within(file, ParseReport(json)));
    reports.push_back(std::move(report));
  }
  ASSIGN_OR_RETURN(const PrecisionBound bound, BoundBetween(reports));
  console.out << BoundText(reports, bound);
  RETURN_IF_ERROR(WriteOne(arguments.json, BoundJson(reports, bound), console));
  return WriteOne(arguments.plot, PrecisionPlot(reports), console);
}

}  // namespace

int RunCalibrate(const std::vector<std::string>& args, const Console& console) {
  Arguments arguments;
  Flags flags;
  DefineFlags(&arguments, &flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kCalibrateCommand, &flags, args, console, &words, &status)) return status;
  const std::string problem = Misuse(arguments, words);
  if (!problem.empty()) return UsageError(kCalibrateCommand, problem, console);
  const absl::Status done =
      arguments.merge ? Merge(arguments, words, console) : Measure(arguments, console);
  return done.ok() ? kSuccess : Fail(done, console);
}

}  // namespace sightline
