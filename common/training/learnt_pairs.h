// Captions and pictures of a corpus as a network reads them.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_LEARNT_PAIRS_H_
#define SIGHTLINE_COMMON_TRAINING_LEARNT_PAIRS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/network/trainable_network.h"
#include "common/training/pair_corpus.h"

namespace sightline {

// Captions' tokens are held in memory, of pictures how large they are; pictures are read when they
// are asked for.  Immutable once it has read both; as thread-safe as the network's ReadImage.
class LearntPairs {
 public:
  // Both outlive the object.
  LearntPairs(const PairCorpus* corpus, const TrainableNetwork* learner)
      : corpus_(*corpus), learner_(*learner) {}

  // Before text() is asked for.  InvalidArgument for captions that the network cannot read, naming
  // some with their pictures.
  absl::Status ReadCaptions();
  // Reads every picture once, so that none ends a run that has learnt for hours, and before
  // image_rows() and what follows it is asked for.  InvalidArgument for pictures that their corpus
  // has but damaged, or that the network cannot read, naming some; DataLoss and Unavailable as
  // PairCorpus::ReadPicture; else the call's.
  absl::Status ReadPictures(const CallContext& call);

  const PairCorpus& corpus() const { return corpus_; }
  const TrainableNetwork& learner() const { return learner_; }
  // Special tokens included.
  TokenSpan text(int64_t caption) const { return tokens_[caption]; }
  // Errors as PairCorpus::ReadPicture and Network::ReadImage; they name the picture.
  absl::StatusOr<ImageNumbers> ReadImage(int64_t picture) const;
  // ImageNumbers::rows() of it.
  int64_t image_rows(int64_t picture) const { return sizes_[picture].rows; }
  // Whether a network that reads the words in a picture reads any in this one.
  bool HasSceneText(int64_t picture) const { return sizes_[picture].ids > 1; }
  // How many of them the corpus has, of which the network may read some.
  int64_t region_count(int64_t picture) const { return sizes_[picture].regions; }
  int64_t tag_count(int64_t picture) const { return sizes_[picture].tags; }

 private:
  struct Size {
    int32_t rows = 0;
    int32_t ids = 0;  // the separator counts
    int32_t regions = 0, tags = 0;
  };

  // Of what the corpus has.  Errors as Network::ReadImage; they name the picture.
  absl::StatusOr<ImageNumbers> Read(int64_t picture, const ImageInput& input) const;

  const PairCorpus& corpus_;
  const TrainableNetwork& learner_;
  std::vector<std::vector<int32_t>> tokens_;  // of each caption
  std::vector<Size> sizes_;                   // of each picture
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_LEARNT_PAIRS_H_
