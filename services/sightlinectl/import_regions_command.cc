#include "services/sightlinectl/import_regions_command.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "common/dataset/region_file.h"

namespace sightline {
namespace {

// Of one item, as floats.
constexpr int64_t kMaxItemBytes = int64_t{256} << 20;
constexpr size_t kMostTold = 10;

absl::StatusOr<RegionFileItem> ReadItem(const CorpusReader& reader, const CorpusItem& item) {
  RegionFileItem read;
  read.line.id = item.item_id;
  read.line.captions = item.captions;
  read.line.tags = item.tags;
  read.line.ocr_tokens = item.ocr_tokens;
  ASSIGN_OR_RETURN(read.regions, reader.ReadRegions(item, kMaxItemBytes));
  return read;
}

}  // namespace

absl::StatusOr<ImportedRegions> ImportRegions(const CorpusSpec& spec, const std::string& out,
                                              Dtype features) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> reader, OpenCorpus(spec));
  if (reader->region_feature_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("a corpus of kind ", CorpusKindName(spec.kind),
                                                   " holds pictures, no regions"));
  }
  ASSIGN_OR_RETURN(CorpusListing listing, reader->List());
  ImportedRegions imported;
  imported.left_out = std::move(listing.rejected);
  std::vector<CorpusItem> good;
  for (CorpusItem& item : listing.items) {
    const absl::Status readable = reader->ReadRegions(item, kMaxItemBytes).status();
    if (readable.ok()) {
      good.push_back(std::move(item));
    } else {
      imported.left_out.push_back(
          {item.item_id, Printable(item.path), std::string(readable.message())});
    }
  }
  if (good.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the corpus has no item that can be read", imported.left_out.empty() ? "" : "; the first: ",
        imported.left_out.empty() ? "" : imported.left_out[0].reason));
  }
  imported.item_count = static_cast<int64_t>(good.size());
  RETURN_IF_ERROR(WriteRegionFile(out, imported.item_count, features,
                                  [&](int64_t i) { return ReadItem(*reader, good[i]); }));
  return imported;
}

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
  const absl::StatusOr<ImportedRegions> imported =
      ImportRegions(spec, out, float32 ? Dtype::kFloat32 : Dtype::kFloat16);
  if (!imported.ok()) return Fail(imported.status(), console);
  console.out << "wrote " << imported->item_count << " items to " << out << "\n";
  const std::vector<CorpusProblem>& left_out = imported->left_out;
  for (size_t i = 0; i < left_out.size() && i < kMostTold; ++i) {
    console.err << "left out " << Printable(left_out[i].path, 0) << ": "
                << Printable(left_out[i].reason, 0) << "\n";
  }
  if (left_out.empty()) return kSuccess;
  console.err << left_out.size() << " items were left out\n";
  return kFailure;
}

}  // namespace sightline
