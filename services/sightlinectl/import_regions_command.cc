#include "services/sightlinectl/import_regions_command.h"

#include <utility>

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
  std::string out, captions;
  bool float32 = false;
  Flags flags;
  flags.String("out", "FILE", "what to write; a name that ends in .regions is found in a folder",
               &out);
  flags.String("captions", "FILE",
               "npz: JSON lines with captions, tags and OCR tokens; default: captions.jsonl in "
               "the folder",
               &captions);
  flags.Switch("float32", "keep features in full precision, at twice the size", &float32);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kImportRegionsCommand, &flags, args, console, &words, &status)) return status;
  constexpr char kWanted[] = "give one KIND:PATH and --out FILE";
  if (words.size() != 1 || out.empty()) return UsageError(kImportRegionsCommand, kWanted, console);
  const absl::StatusOr<CorpusSpec> parsed = ParseCorpus(words[0]);
  if (!parsed.ok()) return UsageError(kImportRegionsCommand, parsed.status().message(), console);
  if (parsed->root.empty()) return UsageError(kImportRegionsCommand, kWanted, console);
  CorpusSpec spec = *parsed;
  spec.annotations = captions;
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
