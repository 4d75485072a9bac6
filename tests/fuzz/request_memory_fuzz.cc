// Any bytes as a request, measured before protobuf reads them: what is refused then protobuf
// refuses too, and what is not takes no more than was told.  The first byte chooses the message,
// the second how long the pieces are that it comes in.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "absl/types/optional.h"
#include "common/rpc/request_memory.h"
#include "sightline/v1/admin.pb.h"
#include "sightline/v1/index_search.pb.h"
#include "sightline/v1/query_encoder.pb.h"
#include "sightline/v1/reranker.pb.h"
#include "sightline/v1/search.pb.h"

namespace {

namespace v1 = sightline::v1;
using google::protobuf::io::ArrayInputStream;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename Request>
absl::optional<int64_t> Memory(const uint8_t* data, int size, int piece, int64_t most) {
  ArrayInputStream input(data, size, piece);
  return sightline::MemoryOfMessage(&input, size, *Request::descriptor(), most);
}

template <typename Request>
void Check(const uint8_t* data, int size, int piece) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const absl::optional<int64_t> told = Memory<Request>(data, size, piece, kAll);
  Require(told == Memory<Request>(data, size, -1, kAll));
  Request request;
  const bool readable = request.ParseFromArray(data, size);
  Require(told.has_value() || !readable);
  if (!told.has_value()) return;
  Require(static_cast<int64_t>(request.SpaceUsedLong()) <= *told);
  ArrayInputStream input(data, size, piece);
  Require(request.ParseFromBoundedZeroCopyStream(&input, size) == readable);
  Require(static_cast<int64_t>(request.SpaceUsedLong()) <= *told);
  // Counting that ends early tells the same of whether it is too much.
  const absl::optional<int64_t> some = Memory<Request>(data, size, piece, *told / 2);
  Require(some.has_value() && *some > *told / 2 && *some <= *told);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > (1 << 16)) return 0;
  const uint8_t kind = data[0];
  const int piece = data[1] + 1;
  const int length = static_cast<int>(size) - 2;
  data += 2;
  switch (kind) {
    case 'e':
      Check<v1::EncodeQueriesRequest>(data, length, piece);
      break;
    case 'i':
      Check<v1::SearchIndexRequest>(data, length, piece);
      break;
    case 'f':
      Check<v1::FetchItemsRequest>(data, length, piece);
      break;
    case 'r':
      Check<v1::RerankCandidatesRequest>(data, length, piece);
      break;
    case 's':
      Check<v1::SearchItemsRequest>(data, length, piece);
      break;
    case 'p':
      Check<v1::ScorePairsRequest>(data, length, piece);
      break;
    case 'g':
      Check<v1::GetItemsRequest>(data, length, piece);
      break;
    case 'a':
      Check<v1::GetStatusRequest>(data, length, piece);
      break;
    default:
      break;
  }
  return 0;
}
