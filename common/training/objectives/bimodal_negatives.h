// Captions and pictures that are made wrong by changing what they speak of: the bi-modal hard
// negatives of "VLDeformer" (Zhang et al., 2022).
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_BIMODAL_NEGATIVES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_BIMODAL_NEGATIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/training/random.h"

namespace sightline {

enum class WordKind { kOther, kNoun, kVerb, kAdjective, kAdverb };

struct CaptionWord {
  std::string text;  // in lower case, without what surrounds it
  WordKind kind = WordKind::kOther;
  std::string lemma;  // in the letters of tags and of the table of antonyms; empty: `text`
  // As the caption has it: "(Dogs" before it is known as "dogs".
  std::string before, written, after;
};

// The caption's words, which are what stands between spaces, without punctuation around it; of no
// kind yet.
std::vector<CaptionWord> SplitCaption(absl::string_view caption);

// Of a word what means the opposite, WordNet's.
using Antonyms = absl::flat_hash_map<std::string, std::vector<std::string>>;

// The caption's pieces, as SplitCaption has parted them, with words replaced, each that can be with
// probability `share` (0.5), at least one: a noun by another one of `tags`, the detector's class
// names; a verb, adjective or adverb by an antonym that it has.  What surrounds a word stays, and
// so does its capital: nothing but the words tells that the caption was made.  nullopt if nothing
// can be replaced: such a caption has no hard negative.
absl::optional<std::vector<std::string>> HardNegativeText(absl::Span<const CaptionWord> words,
                                                          absl::Span<const std::string> tags,
                                                          const Antonyms& antonyms, double share,
                                                          Random* random);

// A region of a picture of a batch.
struct RegionOf {
  int64_t picture = 0;
  int64_t region = 0;
};

// Tags of the regions of each picture of a batch.
class BatchTags {
 public:
  explicit BatchTags(std::vector<std::vector<std::string>> tags);

  // For each region of `picture` the one, of the batch, whose features and tag are shown in its
  // place: itself, or one of another picture with another tag, drawn at random.  Replaced are
  // all regions whose tag `caption` mentions, word by word, and `rest_share` (0.5) of the rest,
  // rounded down.  No tag that is mentioned comes in: it would make the caption true again.  A
  // region for which the batch has nothing else stays.
  std::vector<RegionOf> HardNegativeImage(int64_t picture, absl::Span<const std::string> caption,
                                          double rest_share, Random* random) const;

 private:
  const std::string& tag(const RegionOf& at) const { return tags_[at.picture][at.region]; }

  std::vector<std::vector<std::string>> tags_;
  std::vector<RegionOf> regions_;  // all of the batch
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_BIMODAL_NEGATIVES_H_
