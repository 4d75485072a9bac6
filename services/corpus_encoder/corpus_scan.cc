#include "services/corpus_encoder/corpus_scan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/picture_scanner.h"
#include "services/corpus_encoder/scan_share.h"

namespace sightline {
namespace {

absl::Status CheckDistinct(const std::vector<ScannedPicture>& pictures) {
  for (size_t i = 1; i < pictures.size(); ++i) {
    const CorpusItem& a = pictures[i - 1].item;
    const CorpusItem& b = pictures[i].item;
    if (a.item_id == b.item_id) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two corpora have an item \"", a.item_id, "\": ", Printable(a.path), " and ",
          Printable(b.path), "; give one of them an id_prefix, in a file for --config"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CorpusScan> ScanCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                       const ScanOptions& options, const CallContext& call,
                                       Progress* progress) {
  CorpusScan scan;
  std::vector<ScannedPicture> listed;
  for (const std::unique_ptr<CorpusReader>& reader : readers) {
    RETURN_IF_ERROR(call.Check("listing the corpus"));
    ASSIGN_OR_RETURN(CorpusListing listing, reader->List());
    for (CorpusItem& item : listing.items) {
      listed.push_back({reader.get(), std::move(item), ""});
    }
    for (const CorpusProblem& problem : listing.rejected) {
      scan.quarantine.push_back({problem.item_id, problem.path, problem.reason});
    }
    std::move(listing.warnings.begin(), listing.warnings.end(), std::back_inserter(scan.warnings));
  }
  if (listed.empty() && scan.quarantine.empty()) {
    return absl::InvalidArgumentError("the corpora hold no item at all; are their paths right?");
  }
  std::stable_sort(listed.begin(), listed.end(),
                   [](const ScannedPicture& a, const ScannedPicture& b) {
                     return a.item.item_id < b.item.item_id;
                   });
  RETURN_IF_ERROR(CheckDistinct(listed));

  PictureScan read;
  if (options.share.workers == 1) {
    progress->Begin("read", "pictures", static_cast<int64_t>(listed.size()));
    ASSIGN_OR_RETURN(read, ScanPictures(absl::MakeConstSpan(listed), options, call, progress));
    progress->End();
  } else {
    ASSIGN_OR_RETURN(read, ScanTogether(listed, options, call, progress));
  }
  scan.byte_count = read.byte_count;
  scan.read_count = read.read_count;
  scan.await_time = read.await_time;
  scan.files = std::move(read.files);
  for (size_t i = 0; i < listed.size(); ++i) {
    if (read.reasons[i].empty()) {
      listed[i].sha256 = std::move(read.sha256[i]);
      listed[i].scan_file = i / kScanStretch;
      scan.pictures.push_back(std::move(listed[i]));
    } else {
      scan.quarantine.push_back(
          {listed[i].item.item_id, listed[i].item.path, std::move(read.reasons[i])});
    }
  }
  return scan;
}

}  // namespace sightline
