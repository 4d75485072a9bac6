// items.jsonl: what each row of a training set is.  Evaluation reads it, too: it says
// which items are held out.
//
//   {"item_id":"stamps/animals/frog","split":"train","group":17,
//    "captions":[{"language":"en","text":"A frog."}]}               (on one line)
#ifndef SIGHTLINE_SERVICES_TRAINER_ITEM_LIST_H_
#define SIGHTLINE_SERVICES_TRAINER_ITEM_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "common/dataset/splits.h"

namespace sightline {

struct ListedItem {
  std::string item_id;
  Split split = Split::kTrain;
  int64_t group = 0;  // the first row of its near duplicates in its split
  std::vector<CorpusCaption> captions;
};

// A line an item, in the order given.  Equal items give equal bytes.
std::string ItemJsonLines(absl::Span<const ListedItem> items);

// Ids of the items, a line each.  InvalidArgument, naming the line, for a file that is none.
absl::StatusOr<std::vector<std::string>> ParseItemIds(absl::string_view lines);

// skipped.jsonl: a line for each item that is in no row, with the keys item_id, path and
// reason, in the order of item ids.
std::string SkippedJsonLines(std::vector<CorpusProblem> skipped);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_ITEM_LIST_H_
