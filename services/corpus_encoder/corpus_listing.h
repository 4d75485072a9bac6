// What the corpora have, in one order, on disk.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_LISTING_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_LISTING_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "services/corpus_encoder/item_spool.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/scanned_picture.h"
#include "services/corpus_encoder/work_await.h"

namespace sightline {

using PictureSpool = ItemSpool<ScannedPicture>;

struct ListedCorpora {
  PictureSpool pictures;  // by item id; not read yet
  Quarantine rejected;    // that cannot be items
  Warnings warnings;      // not finished: more may come
};

// Lists all of `readers`, which must outlive the result.  Temporary files lie in `directory`;
// memory does not grow with the corpora, but for what a reader's ListTo holds.  Items are noted
// in `tally`.
//
// InvalidArgument when two corpora give one id, naming both paths, or when there is no item
// at all; CANCELLED when `call` is; what a reader's ListTo returned.
absl::StatusOr<ListedCorpora> ListCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                          absl::string_view directory, WorkTally& tally,
                                          const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_LISTING_H_
