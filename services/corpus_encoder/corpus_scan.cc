#include "services/corpus_encoder/corpus_scan.h"

#include <atomic>
#include <functional>
#include <tuple>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"
#include "services/corpus_encoder/duplicate_finder.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/id_cuts.h"
#include "services/corpus_encoder/item_content.h"
#include "services/corpus_encoder/scan_file.h"
#include "services/corpus_encoder/work_seal.h"

namespace sightline {
namespace {

constexpr int64_t kStretch = 256;  // pictures, on average

// A stretch of the listing: its hash, and how many pictures.
struct Stretch {
  std::string hash;
  uint32_t count = 0;
};

inline auto FieldsOf(Stretch& stretch) {
  return std::tie(stretch.hash, stretch.count);
}
using StretchSpool = ItemSpool<Stretch>;

class Scanner {
 public:
  Scanner(const WorkFolder& folder, const CorpusEncoderOptions& options, WorkTally& tally,
          const CallContext& call, Progress* progress)
      : folder_(folder), options_(options), tally_(tally), call_(call), progress_(progress) {}

  absl::StatusOr<CorpusScan> Run(const std::vector<std::unique_ptr<CorpusReader>>& readers) {
    ASSIGN_OR_RETURN(ListedCorpora listed, ListCorpora(readers, folder_.path(), tally_, call_));
    ASSIGN_OR_RETURN(StretchSpool stretches, StretchSpool::Create(folder_.path(), ItemCodec()));
    ASSIGN_OR_RETURN(PictureSpool pictures,
                     PictureSpool::Create(folder_.path(), ItemCodec(readers)));
    ASSIGN_OR_RETURN(std::unique_ptr<Spool> scans, Spool::Create(folder_.path()));
    CorpusScan scan{std::move(pictures), std::move(listed.rejected), std::move(listed.warnings)};
    scan.scans = std::move(scans);
    ASSIGN_OR_RETURN(const int64_t own_count, Cut(listed.pictures, stretches, scan));
    progress_->Begin("read", "pictures", own_count);
    RETURN_IF_ERROR(ForEach(listed.pictures, stretches, [&](const Stretch& stretch, auto& own) {
      return options_.share.Owns(stretch.hash) ? ReadOwn(stretch, own, scan) : absl::OkStatus();
    }));
    progress_->End();
    RETURN_IF_ERROR(Await(stretches, scan));
    DuplicateFinder duplicates(folder_.path());
    RETURN_IF_ERROR(ForEach(listed.pictures, stretches, [&](const Stretch& stretch, auto& found) {
      return TakeOver(stretch, found, scan, duplicates);
    }));
    ASSIGN_OR_RETURN(scan.duplicate_count, duplicates.AddTo(scan.warnings));
    RETURN_IF_ERROR(scan.warnings.Finish());
    RETURN_IF_ERROR(scan.pictures.Finish());
    RETURN_IF_ERROR(scan.scans->Finish());
    return scan;
  }

 private:
  using Pictures = std::vector<ScannedPicture>;
  using Visit = std::function<absl::Status(const Stretch&, Pictures&)>;

  // Returns how many pictures are this worker's.
  absl::StatusOr<int64_t> Cut(const PictureSpool& listed, StretchSpool& stretches,
                              CorpusScan& scan) {
    IdCuts cuts("scan", kStretch);
    FieldHash listing;
    listing.AddNumber(options_.share.workers);  // they decide which stretches are whose
    int64_t own_count = 0;
    Pictures pictures;
    const auto finish = [&]() -> absl::Status {
      RETURN_IF_ERROR(call_.Check("listing the corpus"));
      const Stretch stretch{StretchHash(pictures, options_.limits.max_bytes),
                            static_cast<uint32_t>(pictures.size())};
      listing.Add(stretch.hash);
      if (options_.share.Owns(stretch.hash)) own_count += stretch.count;
      pictures.clear();
      tally_.Note();
      RETURN_IF_ERROR(scan.scans->Add(stretch.hash));
      return stretches.Add(stretch);
    };
    PictureSpool::Reader reader(listed);
    for (;;) {
      ScannedPicture picture;
      ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
      if (!more) break;
      pictures.push_back(std::move(picture));
      if (cuts.EndsWith(pictures.back().item.item_id)) RETURN_IF_ERROR(finish());
    }
    if (!pictures.empty()) RETURN_IF_ERROR(finish());
    RETURN_IF_ERROR(stretches.Finish());
    scan.listing = listing.Hex();
    return own_count;
  }

  // Shows every stretch with its pictures.
  absl::Status ForEach(const PictureSpool& listed, const StretchSpool& stretches,
                       const Visit& visit) {
    PictureSpool::Reader pictures(listed);
    StretchSpool::Reader reader(stretches);
    Stretch stretch;
    Pictures of_stretch;
    for (;;) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(&stretch));
      if (!more) return absl::OkStatus();
      of_stretch.resize(stretch.count);
      for (ScannedPicture& picture : of_stretch) {
        RETURN_IF_ERROR(pictures.Next(&picture).status());
      }
      RETURN_IF_ERROR(visit(stretch, of_stretch));
    }
  }

  absl::Status ReadOwn(const Stretch& stretch, const Pictures& pictures, CorpusScan& scan) {
    RETURN_IF_ERROR(call_.Check("reading the corpus"));
    const std::string path = folder_.ScanPath(stretch.hash);
    tally_.Note();
    if (ReadScanFile(path, stretch.hash, pictures.size()).ok()) {
      progress_->Skip(stretch.count);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const PictureScan own, Read(pictures));
    RETURN_IF_ERROR(WriteScanFile(path, stretch.hash, own));
    scan.byte_count += own.byte_count;
    scan.read_count += stretch.count;
    return absl::OkStatus();
  }

  // Trouble of the machine is an error, trouble with a picture a reason.
  absl::StatusOr<PictureScan> Read(const Pictures& pictures) {
    PictureScan found;  // each entry is written by the thread that took its picture
    found.sha256.resize(pictures.size());
    found.reasons.resize(pictures.size());
    std::atomic<int64_t> byte_count{0};
    RETURN_IF_ERROR(
        WorkOnThreads(options_.read_threads, pictures.size(), [&](size_t i) -> absl::Status {
          RETURN_IF_ERROR(call_.Check("reading the corpus"));
          absl::StatusOr<ItemContent> content = ReadContent(pictures[i], options_.limits.max_bytes);
          progress_->Advance(1);
          if (content.ok()) {
            found.sha256[i] = std::move(content->sha256);
            byte_count += content->byte_count;
            return absl::OkStatus();
          }
          if (!BlamesPicture(content.status())) return content.status();
          found.reasons[i] = std::string(content.status().message());
          return absl::OkStatus();
        }));
    found.byte_count = byte_count;
    return found;
  }

  absl::Status Await(const StretchSpool& stretches, CorpusScan& scan) {
    if (options_.share.workers == 1) return absl::OkStatus();
    const absl::Time start = call_.clock()->Now();
    RETURN_IF_ERROR(WriteSeal(folder_.ScanSeal(scan.listing, options_.share.worker), ""));
    Awaited others;
    others.what = "scans";
    others.seal = [&](int worker) { return folder_.ScanSeal(scan.listing, worker); };
    others.pieces = [&](const std::function<void(const WorkPiece&)>& show) -> absl::Status {
      StretchSpool::Reader reader(stretches);
      for (Stretch stretch;;) {
        ASSIGN_OR_RETURN(const bool more, reader.Next(&stretch));
        if (!more) return absl::OkStatus();
        show({stretch.hash, folder_.ScanPath(stretch.hash)});
      }
    };
    RETURN_IF_ERROR(AwaitSeals(folder_, others, options_.share, options_.await, call_, progress_));
    scan.await_time = call_.clock()->Now() - start;
    return absl::OkStatus();
  }

  absl::Status TakeOver(const Stretch& stretch, Pictures& pictures, CorpusScan& scan,
                        DuplicateFinder& duplicates) {
    RETURN_IF_ERROR(call_.Check("taking the scan over"));
    tally_.Note();
    absl::StatusOr<PictureScan> found =
        ReadScanFile(folder_.ScanPath(stretch.hash), stretch.hash, pictures.size());
    if (!found.ok()) {
      const int owner = options_.share.OwnerOf(stretch.hash);
      return BreakSeal(folder_.ScanSeal(scan.listing, owner), owner, found.status());
    }
    for (size_t i = 0; i < pictures.size(); ++i) {
      ScannedPicture& picture = pictures[i];
      if (!found->reasons[i].empty()) {
        RETURN_IF_ERROR(scan.quarantine.Add(
            {picture.item.item_id, picture.item.path, std::move(found->reasons[i])}));
        continue;
      }
      picture.sha256 = std::move(found->sha256[i]);
      picture.scan = stretch.hash;
      RETURN_IF_ERROR(duplicates.Add(picture));
      RETURN_IF_ERROR(scan.pictures.Add(picture));
    }
    return absl::OkStatus();
  }

  const WorkFolder& folder_;
  const CorpusEncoderOptions& options_;
  WorkTally& tally_;
  const CallContext& call_;
  Progress* const progress_;
};

}  // namespace

absl::StatusOr<CorpusScan> ScanCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                       const WorkFolder& folder,
                                       const CorpusEncoderOptions& options, WorkTally& tally,
                                       const CallContext& call, Progress* progress) {
  return Scanner(folder, options, tally, call, progress).Run(readers);
}

}  // namespace sightline
