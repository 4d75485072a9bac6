#include "services/corpus_encoder/corpus_scan.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Errors that say something of the picture, not of the machine.
bool BlamesPicture(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status);
}

// Reads pictures on several threads; what was found lies beside each picture.
class PictureScanner {
 public:
  PictureScanner(std::vector<ScannedPicture>& pictures, const ScanOptions& options,
                 const CallContext& call, Progress* progress)
      : pictures_(pictures),
        reasons_(pictures.size()),
        options_(options),
        call_(call),
        progress_(progress) {}

  absl::Status Run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.threads; ++i) threads.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : threads) thread.join();
    return error_;
  }

  // Why a picture cannot be read; empty if it can.
  const std::vector<std::string>& reasons() const { return reasons_; }
  int64_t byte_count() const { return byte_count_; }

 private:
  void Work() {
    while (!failed_) {
      const size_t i = next_++;
      if (i >= pictures_.size()) return;
      const absl::Status status = ScanOne(i);
      progress_->Advance(1);
      if (status.ok()) continue;
      failed_ = true;
      std::lock_guard<std::mutex> lock(mutex_);
      if (error_.ok()) error_ = status;
    }
  }

  absl::Status ScanOne(size_t i) {
    RETURN_IF_ERROR(call_.Check("reading the corpus"));
    ScannedPicture& picture = pictures_[i];
    const absl::StatusOr<std::string> bytes =
        picture.reader->ReadPicture(picture.item, options_.max_picture_bytes);
    if (!bytes.ok()) {
      if (!BlamesPicture(bytes.status())) return bytes.status();
      reasons_[i] = std::string(bytes.status().message());
      return absl::OkStatus();
    }
    picture.sha256 = Sha256Hex(*bytes);
    byte_count_ += static_cast<int64_t>(bytes->size());
    return absl::OkStatus();
  }

  std::vector<ScannedPicture>& pictures_;
  std::vector<std::string> reasons_;
  const ScanOptions options_;
  const CallContext call_;
  Progress* const progress_;
  std::atomic<size_t> next_{0};
  std::atomic<int64_t> byte_count_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  absl::Status error_;  // guarded by mutex_
};

absl::Status CheckDistinct(const std::vector<ScannedPicture>& pictures) {
  for (size_t i = 1; i < pictures.size(); ++i) {
    const CorpusItem& a = pictures[i - 1].item;
    const CorpusItem& b = pictures[i].item;
    if (a.item_id == b.item_id) {
      return absl::InvalidArgumentError(
          absl::StrCat("two corpora have an item \"", a.item_id, "\": ", Printable(a.path), " and ",
                       Printable(b.path), "; give one of them an id_prefix"));
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

  progress->Begin("read", "pictures", static_cast<int64_t>(listed.size()));
  PictureScanner scanner(listed, options, call, progress);
  RETURN_IF_ERROR(scanner.Run());
  progress->End();
  scan.byte_count = scanner.byte_count();
  for (size_t i = 0; i < listed.size(); ++i) {
    if (scanner.reasons()[i].empty()) {
      scan.pictures.push_back(std::move(listed[i]));
    } else {
      scan.quarantine.push_back(
          {listed[i].item.item_id, listed[i].item.path, scanner.reasons()[i]});
    }
  }
  return scan;
}

}  // namespace sightline
