// Which images and captions of a matrix take part in a ranking: the papers' pools.
//
//   whole         all queries, all candidates: COCO 5k, Flickr 1k
//   folds         so many disjoint pools of as many images each, in the order in which the set was
//                 published (MatrixItems::places; where that is not known, of rows), whose results
//                 are averaged: COCO 1k of SGRAF and T-EMDE, five folds of 1 000 images (their
//                 sims[i*5000:(i+1)*5000:5], where each image stands five times)
//   list          the images that a file names and their captions: COCO 1k of OSCAR, VinVL and
//                 VLDeformer (test_img_keys_1k).  Not comparable with the folds.
//   distractors   queries are of the images that a file names, candidates are all: COCO-full and
//                 Flickr-full of LightningDOT, 20k distractors of "Retrieve Fast, Rerank Smart"
//   captions      queries are the captions that a file names, and the images that they are of;
//                 candidates are all but the other captions of these images, which would be right
//                 too
//   shared words  the same of the captions that share so many content words with the text in their
//                 images: table 3 of "scene-text aware" dual encoders
//   pools         those that a file names, each by itself and all averaged: whether pictures that
//                 are nearly alike are told apart
#ifndef SIGHTLINE_COMMON_EVALUATION_EVALUATION_POOL_H_
#define SIGHTLINE_COMMON_EVALUATION_EVALUATION_POOL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/query.h"

namespace sightline {

// Rows and columns, each list ascending.  Every query has a right candidate in the pool.  A value.
struct EvaluationPool {
  std::vector<int> images;    // candidates of captions
  std::vector<int> captions;  // candidates of images
  std::vector<int> image_queries;
  std::vector<int> caption_queries;
  // By direction, candidates of which it is only known how many there are, beside those.
  std::array<int64_t, 2> unnamed = {};

  const std::vector<int>& queries(Direction direction) const {
    return direction == Direction::kTextToImage ? caption_queries : image_queries;
  }
  const std::vector<int>& candidates(Direction direction) const {
    return direction == Direction::kTextToImage ? images : captions;
  }
  int64_t candidate_count(Direction direction) const {
    return static_cast<int64_t>(candidates(direction).size()) +
           unnamed[static_cast<int>(direction)];
  }
};

enum class PoolKind { kWhole, kFolds, kList, kDistractors, kCaptions, kSharedWords, kPools };

// Pools by name.  `image_count` and `caption_count`, unless 0, are what the matrix has to have.
struct Protocol {
  std::string name;  // as it was asked for
  PoolKind kind = PoolKind::kWhole;
  int folds = 1;         // of kFolds
  int shared_words = 0;  // of kSharedWords
  std::string file;      // of all others but kWhole
  int image_count = 0;
  int caption_count = 0;
};

// "whole", "coco_5k", "flickr_1k", "coco_1k_folds", "folds:N", "list:FILE", "distractors:FILE",
// "captions:FILE", "shared_words:N", "pools:FILE".  InvalidArgument, with all of them, for another.
absl::StatusOr<Protocol> ParseProtocol(const std::string& name);

// One pool, one for each fold, or one for each line of kPools.  `text` is what the protocol's file
// has, "" if it has none: of a list and of distractors an image's id a line, of captions a
// caption's, each of which ends at the first tab; of pools the ids of a pool's images a line, with
// tabs between.  Blank lines are passed over.
//
// InvalidArgument if the items are not what the protocol is about: another number of images or
// captions, images that folds cannot share equally, a named image that is no row or caption that is
// no column; for an id that is too long or stands in a list or in a pool twice, with its line; for
// a file that names nothing; for captions whose shared words nobody has counted; and for a pool
// without a query.
absl::StatusOr<std::vector<EvaluationPool>> MakePools(const Protocol& protocol,
                                                      const MatrixItems& items,
                                                      absl::string_view text);

// The same, by the protocol's file.  As the disk reports, and as MakePools with the file's name.
absl::StatusOr<std::vector<EvaluationPool>> ReadPools(const Protocol& protocol,
                                                      const MatrixItems& items);

// What people should know of these pools, with an end, for all that they are no error: that folds
// go by rows, since places are not known.  Empty: nothing.
std::string PoolsNote(const Protocol& protocol, const MatrixItems& items);

// The pool with the captions of one language alone, as candidates and as queries; images stay
// candidates, and are queries where they have such a caption.  InvalidArgument if none is left.
absl::StatusOr<EvaluationPool> InLanguage(const EvaluationPool& pool, const MatrixItems& items,
                                          absl::string_view language);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_EVALUATION_POOL_H_
