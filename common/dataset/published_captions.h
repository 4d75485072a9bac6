// Captions of pictures as a data set has been published, whatever its files look like.
//
//   ASSIGN_OR_RETURN(PublishedCaptions set, ReadKarpathyFile(path, most));
//
// One function a format reads its files (karpathy_file.h, coco_file.h, flickr_file.h,
// multi30k_folder.h, textcaps_file.h).  Memory is in proportion to what is kept; all
// numbers are bounded, and what is wrong with a file is InvalidArgument with its path and the
// byte or the line.
#ifndef SIGHTLINE_COMMON_DATASET_PUBLISHED_CAPTIONS_H_
#define SIGHTLINE_COMMON_DATASET_PUBLISHED_CAPTIONS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/dataset/corpus.h"
#include "common/dataset/splits.h"

namespace sightline {

// Of one file, after decompression.  The largest that was published, dataset_coco.json, has
// some 140 MB.
inline constexpr int64_t kMaxPublishedBytes = int64_t{1} << 30;
inline constexpr int64_t kMaxPublishedPictures = 2'000'000;
inline constexpr int64_t kMaxPublishedCaptions = 10'000'000;

struct PublishedPicture {
  // The number or name that the data set itself gives the picture, as a text: COCO's id, or
  // else the file's name up to its extension.  Never a number that a split's author counted.
  std::string id;
  std::string file;   // below the folder of pictures
  std::string split;  // as it was published ("restval"); empty: none was
  // Those of a language in the order of the set's own numbers.
  std::vector<CorpusCaption> captions;
  std::vector<std::string> ocr_tokens;  // in the order of the set
  int64_t place = 0;                    // among all pictures of the set, in the order of the files
};

struct PublishedCaptions {
  std::vector<PublishedPicture> pictures;  // in the order of the files; no id twice
  std::vector<CorpusProblem> warnings;     // captions that are none, left out
};

// What a published split may be used for: "train" and "restval" to learn from, "val" to choose
// by, and "test" with whatever follows ("test_2016_flickr") is held out.  Nothing for an empty
// name; InvalidArgument for any other.
absl::StatusOr<absl::optional<Split>> SplitOfPublished(absl::string_view name);

// Gathers what files say of pictures, in whatever order they say it.
class PublishedBuilder {
 public:
  // `path` is named in warnings.
  explicit PublishedBuilder(absl::string_view path) : path_(path) {}

  // The picture of this id, which is known from now on.  InvalidArgument: no id, or too many.
  absl::StatusOr<size_t> PictureOf(absl::string_view id);
  // The picture of this id if it is known.
  absl::optional<size_t> Find(absl::string_view id) const;

  // Says of a picture, once, where it lies and in which split.  InvalidArgument: said already;
  // `file` is absolute, leads above its folder or is no printable path; an unknown split.
  absl::Status Describe(size_t picture, absl::string_view file, absl::string_view split);
  bool IsDescribed(size_t picture) const { return !drafts_[picture].picture.file.empty(); }

  // Adds a caption; those of a language will be in the order of `number`, equal ones as they
  // came.  One that is empty, too long or not UTF-8 is left out with a warning that says
  // `where`.  InvalidArgument: too many.
  absl::Status AddCaption(size_t picture, absl::string_view language, int64_t number,
                          absl::string_view text, absl::string_view where);
  void SetOcrTokens(size_t picture, std::vector<std::string> tokens);

  // With the first `captions_per_picture` of each language; 0: all.  InvalidArgument if a
  // picture was not described.  Ends the builder.
  absl::StatusOr<PublishedCaptions> Finish(int captions_per_picture);

 private:
  struct Draft {
    PublishedPicture picture;
    std::vector<int64_t> numbers;  // of its captions
  };

  const std::string path_;
  std::vector<Draft> drafts_;
  std::unordered_map<std::string, size_t> by_id_;
  std::vector<CorpusProblem> warnings_;
  int64_t caption_count_ = 0;
};

// "a/b/tom.jpg" -> "tom".
std::string PictureStem(absl::string_view file);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_PUBLISHED_CAPTIONS_H_
