#include "services/sightlinectl/import_regions_command.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "common/config/table.h"
#include "services/sightlinectl/import_regions.h"

namespace sightline {
namespace {

constexpr size_t kMostTold = 10;

// At most kMostTold of them.
void Tell(absl::string_view what, const std::vector<CorpusProblem>& problems,
          const Console& console) {
  for (size_t i = 0; i < problems.size() && i < kMostTold; ++i) {
    console.err << what << " " << Printable(problems[i].path, 0) << ": "
                << Printable(problems[i].reason, 0) << "\n";
  }
}

}  // namespace

int RunImportRegions(const std::vector<std::string>& args, const Console& console) {
  CorpusSpec spec;
  std::string out;
  bool float32 = false;
  Flags flags;
  flags.String("out", "FILE", "what to write; a name that ends in .regions is found in a folder",
               &out);
  flags.String("captions", "FILE",
               "npz: JSON lines with captions, tags and OCR tokens; default: captions.jsonl in "
               "the folder",
               &spec.annotations);
  flags.Switch("float32", "keep features in full precision, at twice the size", &float32);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kImportRegionsCommand, &flags, args, console, &words, &status)) return status;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(words.empty() ? "" : words[0], absl::MaxSplits(':', 1));
  if (words.size() != 1 || parts.second.empty() || out.empty()) {
    return UsageError(kImportRegionsCommand, "give one KIND:PATH and --out FILE", console);
  }
  const absl::StatusOr<CorpusKind> kind = ParseCorpusKind(parts.first);
  if (!kind.ok()) return UsageError(kImportRegionsCommand, kind.status().message(), console);
  spec.kind = *kind;
  spec.root = parts.second;
  spec.languages = {};
  const absl::StatusOr<ImportedRegions> imported = ImportRegions(
      spec, out, float32 ? Dtype::kFloat32 : Dtype::kFloat16, [&](int64_t done, int64_t total) {
        console.err << 100 * done / total << " % read\n" << std::flush;
      });
  if (!imported.ok()) return Fail(imported.status(), console);
  console.out << "wrote " << imported->item_count << " items to " << out << "\n";
  Tell("warning:", imported->warnings, console);
  if (imported->warnings.size() > kMostTold) {
    console.err << imported->warnings.size() << " captions were left out\n";
  }
  Tell("left out", imported->left_out, console);
  if (imported->left_out.empty()) return kSuccess;
  console.err << imported->left_out.size() << " items were left out\n";
  return kFailure;
}

}  // namespace sightline
