// What is asked, and which hits are right, by one of two rules.
//
// kSameWords, for a corpus as it is.  Captions are shared ("fish" of five pictures), and pictures
// occur twice, so the item that a query was made from is not the only right answer.  Two captions
// are the same if NormalizeWords makes them equal.
//
//   text -> image   the query is the picture's first caption; right is every picture
//                   that has this caption among its own
//   image -> text   the query is the picture; right is every caption that is the same as
//                   one of the picture's own
//
// kOwn, as the papers count.
//
//   text -> image   every caption is a query; right is its picture alone
//   image -> text   the query is the picture; right are its own captions alone
#ifndef SIGHTLINE_COMMON_EVALUATION_RELEVANCE_H_
#define SIGHTLINE_COMMON_EVALUATION_RELEVANCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/item_record.h"
#include "common/evaluation/query.h"

namespace sightline {

// The parts of a caption's id.
struct CaptionIdParts {
  std::string image_id;
  std::string language;
  int n = 0;  // from 1
};

// InvalidArgument if it is not one.
absl::StatusOr<CaptionIdParts> ParseCaptionId(absl::string_view item_id);

enum class RelevanceRule { kSameWords, kOwn };

// Immutable, thread-safe.  Its size is that of the captions: each distinct one is a
// number, its key.
class Relevance {
 public:
  // `captions` are the items of a captions index, whose ids are `<image id>#<language>-<n>`.
  // Captions in other languages are left out: they make no query and are never right.
  // InvalidArgument, naming the caption, for an id that is none.
  static absl::StatusOr<Relevance> Build(absl::Span<const ItemRecord> captions,
                                         absl::string_view language,
                                         RelevanceRule rule = RelevanceRule::kSameWords);

  // One for each picture that has a caption, or, by kOwn, of texts for each caption; in the order
  // of pictures' ids, and of a picture in that of its captions.
  std::vector<EvaluationQuery> Queries(Direction direction) const;

  // For each text the pictures that are right, in the order of their ids.
  std::vector<std::vector<std::string>> RelevantImages(
      absl::Span<const EvaluationQuery> texts) const;

  bool IsRelevant(Direction direction, const EvaluationQuery& query,
                  const std::string& hit_id) const;

  // How many items are right for `query`, one of Queries, at least one: of those that the captions
  // name, whatever else an index holds or lacks.
  int64_t RelevantCount(Direction direction, const EvaluationQuery& query) const;

 private:
  struct Caption {
    int n = 0;
    std::string text;
    int key = 0;
  };
  struct Image {
    std::vector<Caption> asking;  // in their order; the first one alone, unless kOwn
    std::vector<int> keys;        // of all its captions, sorted, each once
  };

  // How many items have the key.
  struct KeyCounts {
    int64_t images = 0;
    int64_t captions = 0;
  };

  // The key of a caption of `image_id`; of captions that are the same, or of one picture, one.
  static std::string KeyText(RelevanceRule rule, const std::string& image_id,
                             const std::string& caption);

  std::map<std::string, Image> images_;
  std::unordered_map<std::string, int> caption_keys_;  // by caption id
  std::vector<KeyCounts> counts_;                      // by key
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_RELEVANCE_H_
