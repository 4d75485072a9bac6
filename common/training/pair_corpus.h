// Pictures as regions, with their captions, to learn from: what corpora list.  Captions are held
// in memory; regions are read when they are asked for.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_PAIR_CORPUS_H_
#define SIGHTLINE_COMMON_TRAINING_PAIR_CORPUS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/checksum.h"
#include "common/dataset/corpus.h"
#include "common/image/image_input.h"

namespace sightline {

struct PairCorpusOptions {
  // Captions in other languages are passed over.
  std::vector<std::string> languages = {"en"};
  // Captions of a picture that are taken in each language, the first ones; 0: all.
  int captions_per_picture = 0;
  // Captions of which this is true are left out, and Notes says that there are such, as `refused`
  // calls them: "captions of more than 60 wordpieces"; null: none.
  std::function<bool(const std::string& caption)> refuses;
  std::string refused;
  // Whether pictures without a caption that is taken are there, too: to be found, not to be learnt.
  bool keeps_captionless = false;
  // Which pictures are taken; null: all.
  std::function<bool(const CorpusItem& item)> wanted;
};

// Immutable, thread-safe.
class PairCorpus {
 public:
  // Pictures without a caption that is taken are left out, unless the options keep them.  What a
  // source rejects is left out, too, and captions without a visible character (Notes).
  // InvalidArgument for a corpus of pictures, corpora of different widths, an id of two pictures,
  // or if no caption is taken; else as the readers.
  static absl::StatusOr<std::unique_ptr<PairCorpus>> Open(
      std::vector<std::unique_ptr<CorpusReader>> corpora, const PairCorpusOptions& options);

  // By corpus, then by id.
  int64_t picture_count() const { return static_cast<int64_t>(pictures_.size()); }
  // By picture, in each one's order.
  int64_t caption_count() const { return static_cast<int64_t>(captions_.size()); }
  // What people should know before they learn or measure by it, a line each: that pictures of a
  // source were left out, with the first one's reason; what its source warns of; captions that
  // were left out; and languages that are asked for and have no caption.
  const std::vector<std::string>& Notes() const { return notes_; }
  // Numbers in a region's feature.
  int region_feature_size() const { return region_feature_size_; }
  // What to know before these regions are shown to a model that takes them with their boxes'
  // numbers and without (Model::region_feature_sizes), which may have learnt from the other kind
  // alone; empty for one that takes one kind.
  std::string NoteOfWidth(absl::Span<const int> sizes) const;
  // Classes of regions' soft labels, of the corpora that have them; 0 if none has, or they are of
  // different numbers of classes.
  int soft_label_count() const { return soft_label_count_; }

  const std::string& item_id(int64_t picture) const { return pictures_[picture].item.item_id; }
  const std::string& caption(int64_t caption) const { return captions_[caption].text; }
  // Its source's code of it.
  const std::string& language(int64_t caption) const { return captions_[caption].language; }
  int64_t picture_of(int64_t caption) const { return captions_[caption].picture; }
  int64_t first_caption(int64_t picture) const { return pictures_[picture].first_caption; }
  int64_t caption_count(int64_t picture) const { return pictures_[picture].caption_count; }
  // Which of the corpora it was opened with a picture is of, from 0.
  int corpus_of(int64_t picture) const { return pictures_[picture].corpus; }
  int corpus_count() const { return static_cast<int>(readers_.size()); }

  // Whether a caption may be right for a picture: it is one of its own, or has the words of one
  // (NormalizeWords).
  bool MayBeRight(int64_t caption, int64_t picture) const;

  // Whether every caption has a picture that is wrong for it, and every picture such a caption:
  // InvalidArgument, naming one that has none.
  absl::Status CheckTellable() const;
  // Whether any caption is wrong for any picture, of a corpus by its number from 1, of all together
  // if that is 0: InvalidArgument if all may be right for all.
  absl::Status CheckAnyWrong(int64_t corpus) const;

  // SHA-256 in hex over ids, captions and their languages, tags, words in the pictures, and what
  // tells their regions and soft labels from others.  Those of region files are told by the files'
  // checksums.  Of other sources a hundred pictures, evenly spread, were read when this was opened,
  // and of the rest only the sizes of files that hold one picture each are known: regions of
  // another detector make another digest, a few that were replaced may not.
  const std::string& Digest() const { return digest_; }

  // With tags and words to be read in it.  Errors as ReadRegions, and name the picture.
  absl::StatusOr<ImageInput> ReadPicture(int64_t picture) const;
  bool HasSoftLabels(int64_t picture) const {
    return pictures_[picture].reader->soft_label_count() > 0;
  }
  // Of each of its regions soft_label_count() probabilities.  Errors as ReadSoftLabels, and name
  // the picture.  REQUIRES: that it has some.
  absl::StatusOr<std::vector<float>> ReadSoftLabels(int64_t picture) const;

 private:
  struct Picture {
    const CorpusReader* reader = nullptr;
    int corpus = 0;   // the reader's place
    CorpusItem item;  // without captions
    int64_t first_caption = 0;
    int64_t caption_count = 0;
    std::vector<int32_t> words;  // of its captions, see Caption; sorted
  };
  struct Caption {
    std::string text;
    std::string language;
    int64_t picture = 0;
    int32_t words = 0;  // equal for captions of the same words
  };

  // Captions that are not taken.
  struct LeftOut {
    int64_t count = 0;
    std::string first;  // its picture
  };

  PairCorpus() = default;
  absl::Status Add(const CorpusReader& reader, int corpus, const PairCorpusOptions& options);
  void AddPicture(Picture picture, const PairCorpusOptions& options);
  // Of one in a wanted language.
  bool Takes(const std::string& caption, const std::string& item_id,
             const PairCorpusOptions& options);
  void NoteProblems(const CorpusListing& listing);
  void NoteLeftOut(absl::string_view captions, const LeftOut& left_out);
  void NoteMissingLanguages(const PairCorpusOptions& options);
  absl::Status FindTwins() const;
  void NumberWords();
  absl::StatusOr<std::string> MakeDigest() const;
  absl::Status AddRegions(const CorpusReader& reader, int64_t begin, int64_t end,
                          Sha256* hash) const;
  absl::Status AddPictureRegions(int64_t picture, Sha256* hash) const;

  std::vector<std::unique_ptr<CorpusReader>> readers_;
  std::vector<Picture> pictures_;
  std::vector<Caption> captions_;
  std::vector<std::string> notes_;
  int64_t seen_ = 0, wanted_ = 0;  // pictures of the corpora; those of them that options want
  LeftOut blank_, refused_;
  int region_feature_size_ = 0;
  int soft_label_count_ = 0;
  std::string digest_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PAIR_CORPUS_H_
