// The calls that stages are made of, each with its answer checked: what comes back is as
// long as what was asked, belongs together, and holds numbers.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_BACKEND_CALLS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_BACKEND_CALLS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/precision.h"
#include "common/api/query.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/stage_calls.h"

namespace sightline {

// One call to the encoder, under way from construction.  Used by one thread.
class Encoding {
 public:
  // `encoder` may be null: UNAVAILABLE.  With no queries nothing is called.  `features_for`
  // names the reranker as EncodeRequest does; none: features are not wanted.  `wish` need not name
  // the model.
  Encoding(QueryEncoderClient* encoder, const GenerationInfo& target,
           std::vector<EncodableQuery> queries, const absl::optional<std::string>& features_for,
           PrecisionWish wish, const CallContext& call, absl::Time deadline);

  // Call once.  One finite row of the target's dimension for each query, and its features
  // if wanted; the encoder's error, or DEADLINE_EXCEEDED.
  absl::StatusOr<EncodeResponse> Wait();

 private:
  const size_t query_count_;
  const int dimension_;
  const bool want_features_;
  const bool configured_;
  StageCalls<EncodeResponse> calls_;
};

// What a reranker is given of an encoded query: its features; of a text without any the text, which
// the reranker then tokenizes, or says why it cannot.
RerankSide SideOf(const EncodableQuery& query, ItemFeatures features);

struct FetchCall {
  IndexSearchClient* client = nullptr;
  FetchItemsRequest request;
};

// Some calls for stored items, under way from construction.  Used by one thread.
class Fetching {
 public:
  Fetching(std::vector<FetchCall> fetches, const CallContext& call, absl::Time deadline);

  // Call once.  For each fetch its items, as many as were asked for, with the ids that
  // were asked for and with `shard` set; or what its shard said, DEADLINE_EXCEEDED if
  // nothing.  A CANCELLED call leaves the same behind.
  std::vector<absl::StatusOr<FetchItemsResponse>> Wait();

 private:
  struct Asked {
    int shard;
    std::string name;
    std::vector<std::string> item_ids;
    size_t count;
  };
  static absl::StatusOr<FetchItemsResponse> Checked(const Asked& asked,
                                                    absl::StatusOr<FetchItemsResponse> answer);

  StageCalls<FetchItemsResponse> calls_;
  std::vector<Asked> asked_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_BACKEND_CALLS_H_
