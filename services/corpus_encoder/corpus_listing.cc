#include "services/corpus_encoder/corpus_listing.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/record_sorter.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Sorts what a reader lists.
class SortingSink : public ListingSink {
 public:
  SortingSink(absl::string_view directory, const ItemCodec& codec, ListedCorpora& listed,
              RecordSorter& sorter, WorkTally& tally, const CallContext& call)
      : directory_(directory),
        codec_(codec),
        listed_(listed),
        sorter_(sorter),
        tally_(tally),
        call_(call) {}

  void Begin(const CorpusReader* reader) { picture_.reader = reader; }

  const std::string& directory() const override { return directory_; }

  absl::Status Item(CorpusItem item) override {
    RETURN_IF_ERROR(call_.Check("listing the corpus"));
    tally_.NoteItem();
    picture_.item = std::move(item);
    bytes_.clear();
    codec_.Append(picture_, &bytes_);
    return sorter_.Add(picture_.item.item_id, bytes_);
  }
  absl::Status Rejected(CorpusProblem problem) override { return listed_.rejected.Add(problem); }
  absl::Status Warning(CorpusProblem problem) override { return listed_.warnings.Add(problem); }

 private:
  const std::string directory_;
  const ItemCodec& codec_;
  ListedCorpora& listed_;
  RecordSorter& sorter_;
  WorkTally& tally_;
  const CallContext& call_;
  ScannedPicture picture_;
  std::string bytes_;
};

// Takes the items in the order of their ids, each id once.
class DistinctItems {
 public:
  DistinctItems(const ItemCodec& codec, ListedCorpora& listed) : codec_(codec), listed_(listed) {}

  absl::Status Add(absl::string_view encoded) {
    ScannedPicture picture;
    ByteReader bytes(encoded);
    if (!codec_.Read(bytes, &picture)) return absl::InternalError("a listed item is malformed");
    const CorpusItem& item = picture.item;
    if (last_.reader == nullptr || item.item_id != last_.item.item_id) {
      RETURN_IF_ERROR(listed_.pictures.Add(picture));
      last_ = std::move(picture);
      return absl::OkStatus();
    }
    if (picture.reader != last_.reader) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two corpora have an item \"", item.item_id,
          "\": ", EscapeUnlessPrintable(last_.item.path), " and ", EscapeUnlessPrintable(item.path),
          "; give one of them an id_prefix, in a file for --config"));
    }
    return listed_.rejected.Add(
        {item.item_id, item.path, absl::StrCat("item id taken already by ", last_.item.path)});
  }

 private:
  const ItemCodec& codec_;
  ListedCorpora& listed_;
  ScannedPicture last_;
};

}  // namespace

absl::StatusOr<ListedCorpora> ListCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                          absl::string_view directory, WorkTally& tally,
                                          const CallContext& call) {
  const ItemCodec codec(readers);
  ASSIGN_OR_RETURN(PictureSpool pictures, PictureSpool::Create(directory, codec));
  ASSIGN_OR_RETURN(Warnings warnings, Warnings::Create(directory));
  ListedCorpora listed{std::move(pictures), Quarantine(directory), std::move(warnings)};
  RecordSorter sorter(directory);
  SortingSink sink(directory, codec, listed, sorter, tally, call);
  for (const std::unique_ptr<CorpusReader>& reader : readers) {
    RETURN_IF_ERROR(call.Check("listing the corpus"));
    sink.Begin(reader.get());
    RETURN_IF_ERROR(reader->ListTo(sink));
  }
  if (sorter.size() == 0 && listed.rejected.size() == 0) {
    return absl::InvalidArgumentError("the corpora hold no item at all; are their paths right?");
  }
  DistinctItems items(codec, listed);
  RETURN_IF_ERROR(sorter.VisitAll([&](absl::string_view, absl::string_view encoded) {
    tally.NoteItem();
    return items.Add(encoded);
  }));
  RETURN_IF_ERROR(listed.pictures.Finish());
  return listed;
}

}  // namespace sightline
