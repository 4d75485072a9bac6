#include "services/trainer/extract_job.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/base/work_on_threads.h"
#include "common/dataset/region_file.h"
#include "common/image/region_set.h"
#include "services/trainer/byte_budget.h"
#include "services/trainer/item_list.h"
#include "services/trainer/picture_squarer.h"

namespace sightline {
namespace {

// Pictures whose pixels, reduced, are in memory at once.
constexpr size_t kExtractedAtOnce = 32;
constexpr char kJobFile[] = "job";

// A picture as the extractor sees it, or why there is none.
struct Reduced {
  Pixels pixels;
  std::string problem;
};

// What becomes of a part: its good pictures, and the bad ones.
struct Part {
  std::vector<RegionFileItem> items;
  std::vector<CorpusProblem> skipped;
};

RegionFileItem ItemOf(const CorpusItem& item, LabelledRegions found) {
  RegionFileItem of;
  of.line.id = item.item_id;
  of.line.captions = item.captions;
  of.line.tags = item.tags;
  of.line.ocr_tokens = item.ocr_tokens;
  of.line.split = item.split;
  of.line.published_place = item.published_place;
  of.regions = std::move(found.regions);
  of.soft_labels = std::move(found.soft_labels);
  return of;
}

class ExtractRun {
 public:
  ExtractRun(const ExtractJob& job, Progress* progress, const CallContext& call)
      : job_(job),
        folder_(job.out + ".parts"),
        progress_(*progress),
        call_(call),
        budget_(job.max_decode_bytes) {}

  absl::StatusOr<ExtractSummary> Run() {
    if (job_.model->region_extractor() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("model ", job_.model->id(),
                       " finds no regions in pictures; it reads those of a detector"));
    }
    RETURN_IF_ERROR(List());
    RETURN_IF_ERROR(OpenFolder());
    progress_.Begin("extract", "pictures", static_cast<int64_t>(pictures_.size()));
    for (int64_t part = 0; part < PartCount(); ++part) RETURN_IF_ERROR(DoPart(part));
    progress_.End();
    RETURN_IF_ERROR(Merge());
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    return summary_;
  }

 private:
  absl::Status List() {
    for (const auto& corpus : job_.corpora) {
      if (corpus->region_feature_size() > 0) {
        return absl::InvalidArgumentError(
            "a corpus has regions already; pictures are what regions are found in");
      }
      ASSIGN_OR_RETURN(CorpusListing listing, corpus->List());
      for (CorpusItem& item : listing.items) pictures_.push_back({corpus.get(), std::move(item)});
      Skip(SkippedJsonLines(std::move(listing.rejected)));
    }
    std::sort(pictures_.begin(), pictures_.end(),
              [](const ListedPicture& a, const ListedPicture& b) {
                return a.item.item_id < b.item.item_id;
              });
    for (size_t i = 1; i < pictures_.size(); ++i) {
      if (pictures_[i].item.item_id == pictures_[i - 1].item.item_id) {
        return absl::InvalidArgumentError(absl::StrCat("two corpora have a picture ",
                                                       pictures_[i].item.item_id,
                                                       "; give one of them an id_prefix"));
      }
    }
    return absl::OkStatus();
  }

  // All that the parts follow from.
  std::string JobSum() const {
    Sha256 hash;
    const auto add = [&hash](const std::string& text) {
      hash.Update(absl::StrCat(text.size(), ":"));
      hash.Update(text);
    };
    add(job_.model->id());
    add(absl::StrCat(DtypeName(job_.features), " ", job_.part_size));
    for (const ListedPicture& picture : pictures_) {
      add(ItemLineJson(ItemOf(picture.item, {}).line));
      add(picture.reader->PictureVersion(picture.item));
    }
    return hash.Hex();
  }

  // Leaves what this job has done, and nothing of another.
  absl::Status OpenFolder() {
    const std::string file = JoinPath(folder_, kJobFile);
    const std::string sum = JobSum();
    const auto known = ReadFile(file, /*max_bytes=*/1024);
    if (known.ok() && *known == sum) return absl::OkStatus();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    if (error) return FileError("remove", folder_, error.value());
    RETURN_IF_ERROR(MakeDirectories(folder_));
    return WriteFileAtomically(file, sum);
  }

  int64_t PartCount() const {
    return (static_cast<int64_t>(pictures_.size()) + job_.part_size - 1) / job_.part_size;
  }
  std::string PartPath(int64_t part, absl::string_view suffix) const {
    return JoinPath(folder_, absl::StrFormat("%06d.%s", part, suffix));
  }
  // A part is done when this is there; its region file is only if a picture was good.
  std::string DonePath(int64_t part) const { return PartPath(part, "skipped"); }
  std::string RegionsPath(int64_t part) const { return PartPath(part, "regions"); }

  absl::Status DoPart(int64_t part) {
    const size_t begin = static_cast<size_t>(part * job_.part_size);
    const size_t end = std::min(pictures_.size(), begin + static_cast<size_t>(job_.part_size));
    if (FileExists(DonePath(part))) {
      progress_.Skip(static_cast<int64_t>(end - begin));
      return absl::OkStatus();
    }
    Part done;
    for (size_t i = begin; i < end; i += kExtractedAtOnce) {
      RETURN_IF_ERROR(Extract(i, std::min(end, i + kExtractedAtOnce), &done));
    }
    if (!done.items.empty()) {
      RETURN_IF_ERROR(WriteRegionFile(
          RegionsPath(part), static_cast<int64_t>(done.items.size()), job_.features,
          [&done](int64_t i) { return absl::StatusOr<RegionFileItem>(done.items[i]); }));
    }
    return WriteFileAtomically(DonePath(part), SkippedJsonLines(done.skipped));
  }

  absl::Status Extract(size_t begin, size_t end, Part* part) {
    std::vector<Reduced> reduced(end - begin);
    RETURN_IF_ERROR(WorkOnThreads(job_.threads, reduced.size(), [&](size_t i) {
      ComputePool::SingleThreadedLibraries();
      return Reduce(pictures_[begin + i], &reduced[i]);
    }));
    std::vector<Pixels> good;
    for (Reduced& picture : reduced) {
      if (picture.problem.empty()) good.push_back(std::move(picture.pixels));
    }
    std::vector<LabelledRegions> found;
    if (!good.empty()) {
      ASSIGN_OR_RETURN(found, Within(absl::StrCat("pictures ", pictures_[begin].item.item_id,
                                                  " to ", pictures_[end - 1].item.item_id),
                                     job_.model->region_extractor()->ExtractLabelled(good, call_)));
    }
    size_t next = 0;
    for (size_t i = 0; i < reduced.size(); ++i) {
      const CorpusItem& item = pictures_[begin + i].item;
      if (reduced[i].problem.empty()) {
        LabelledRegions& own = found[next++];
        absl::Status fits = absl::OkStatus();
        if (job_.features == Dtype::kFloat16) fits = CheckFitsFloat16(own.regions);
        if (fits.ok()) {
          part->items.push_back(ItemOf(item, std::move(own)));
          continue;
        }
        reduced[i].problem = std::string(fits.message());
      }
      part->skipped.push_back({item.item_id, item.path, reduced[i].problem});
    }
    progress_.Advance(static_cast<int64_t>(end - begin));
    return absl::OkStatus();
  }

  // Trouble of the picture is told in it; of the machine, it is the error.
  absl::Status Reduce(const ListedPicture& picture, Reduced* reduced) {
    RETURN_IF_ERROR(call_.Check("read the pictures"));
    absl::StatusOr<Pixels> pixels = Decode(picture);
    if (pixels.ok()) {
      reduced->pixels = *std::move(pixels);
    } else if (BlamesPicture(pixels.status())) {
      reduced->problem = std::string(pixels.status().message());
    } else {
      return pixels.status();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Pixels> Decode(const ListedPicture& picture) {
    ASSIGN_OR_RETURN(const std::string encoded,
                     picture.reader->ReadPicture(picture.item, job_.limits.max_bytes));
    ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(encoded, job_.limits));
    const int64_t cost = int64_t{header.width} * header.height * kBytesPerPixel;
    budget_.Take(cost);
    absl::StatusOr<Pixels> pixels = DecodeImage(encoded, job_.limits);
    if (pixels.ok()) pixels = job_.model->region_extractor()->Reduce(*std::move(pixels));
    budget_.Return(cost);
    return pixels;
  }

  void Skip(const std::string& lines) {
    summary_.skipped += std::count(lines.begin(), lines.end(), '\n');
    skipped_ += lines;
  }

  absl::Status Merge() {
    std::vector<std::unique_ptr<RegionFile>> files;
    std::vector<int64_t> first;  // item of each file
    for (int64_t part = 0; part < PartCount(); ++part) {
      ASSIGN_OR_RETURN(const std::string skipped, ReadFile(DonePath(part)));
      Skip(skipped);
      if (!FileExists(RegionsPath(part))) continue;
      ASSIGN_OR_RETURN(files.emplace_back(), RegionFile::Open(RegionsPath(part)));
      first.push_back(summary_.written);
      summary_.written += files.back()->item_count();
    }
    const std::string list = absl::StrCat(job_.out, kSkippedSuffix);
    RETURN_IF_ERROR(WriteFileAtomically(list, skipped_));
    if (summary_.written == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("none of ", pictures_.size(), " pictures is good; ", list, " says why"));
    }
    return WriteRegionFile(
        job_.out, summary_.written, job_.features,
        [&](int64_t item) -> absl::StatusOr<RegionFileItem> {
          const auto after = std::upper_bound(first.begin(), first.end(), item);
          const size_t file = static_cast<size_t>(after - first.begin()) - 1;
          const int64_t of_file = item - first[file];
          RegionFileItem of;
          ASSIGN_OR_RETURN(of.line, files[file]->Item(of_file));
          ASSIGN_OR_RETURN(of.regions, files[file]->Regions(of_file, kMostModelRegionBytes));
          ASSIGN_OR_RETURN(of.soft_labels, files[file]->SoftLabels(of_file, kMostModelRegionBytes));
          return of;
        });
  }

  const ExtractJob& job_;
  const std::string folder_;
  Progress& progress_;
  const CallContext& call_;
  ByteBudget budget_;
  std::vector<ListedPicture> pictures_;  // by id
  std::string skipped_;                  // a line each
  ExtractSummary summary_;
};

}  // namespace

absl::StatusOr<ExtractSummary> ExtractRegions(const ExtractJob& job, Progress* progress,
                                              const CallContext& call) {
  return ExtractRun(job, progress, call).Run();
}

}  // namespace sightline
