// Any bytes as a message of the wire, read as a server reads it and as a client does.
// The first byte chooses which.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "common/base/error_details.h"
#include "common/clients/convert.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_backends.h"
#include "common/clients/convert_search.h"
#include "tests/support/wire_message.h"

namespace {

namespace v1 = sightline::v1;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename Message>
bool Parse(const uint8_t* data, size_t size, Message* message) {
  return message->ParseFromArray(data, static_cast<int>(size));
}

// A request is refused by field, or it survives the way to the wire and back.
template <typename Message>
void CheckRequest(const uint8_t* data, size_t size) {
  Message message;
  if (!Parse(data, size, &message)) return;
  auto request = sightline::FromProto(message);
  if (!request.ok()) {
    Require(absl::IsInvalidArgument(request.status()));
    Require(sightline::GetFields(request.status()).size() == 1);
    return;
  }
  Message again;
  ToProto(*std::move(request), &again);
  Require(sightline::FromProto(again).ok());
}

// An answer is an internal error or a result; the request comes first, its length in one
// byte.
template <typename Request, typename Answer>
void CheckAnswer(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] > size - 1) return;
  Request request;
  Answer answer;
  if (!Parse(data + 1, data[0], &request)) return;
  if (!Parse(data + 1 + data[0], size - 1 - data[0], &answer)) return;
  const auto result = sightline::FromProto(request, answer);
  Require(result.ok() || absl::IsInternal(result.status()));
}

void CheckVectors(const uint8_t* data, size_t size) {
  v1::PackedVectors message;
  if (!Parse(data, size, &message)) return;
  const auto matrix =
      sightline::FromProto(message, sightline::VectorBounds{0, 1000, 0}, sightline::FieldPath("v"));
  if (!matrix.ok()) return;
  Require(matrix->rows() == message.row_count());
  Require(sightline::AllFinite(matrix->values()));
  v1::PackedVectors again;
  sightline::PackVectors(matrix->values(), static_cast<int>(matrix->rows()), matrix->dimension(),
                         message.element_type(), &again);
  Require(again.data() == message.data());
}

void CheckStatus(const uint8_t* data, size_t size) {
  v1::GetStatusResponse message;
  if (!Parse(data, size, &message)) return;
  const auto status = sightline::FromProto(message);
  Require(status.ok() || absl::IsInternal(status.status()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t kind = data[0];
  ++data;
  --size;
  switch (kind) {
    case 'v':
      CheckVectors(data, size);
      break;
    case 'e':
      CheckRequest<v1::EncodeQueriesRequest>(data, size);
      break;
    case 'i':
      CheckRequest<v1::SearchIndexRequest>(data, size);
      break;
    case 'f':
      CheckRequest<v1::FetchItemsRequest>(data, size);
      break;
    case 'r':
      CheckRequest<v1::RerankCandidatesRequest>(data, size);
      break;
    case 's':
      CheckRequest<v1::SearchItemsRequest>(data, size);
      break;
    case 'p':
      CheckRequest<v1::ScorePairsRequest>(data, size);
      break;
    case 'g':
      CheckRequest<v1::GetItemsRequest>(data, size);
      break;
    case 'E':
      CheckAnswer<v1::EncodeQueriesRequest, v1::EncodeQueriesResponse>(data, size);
      break;
    case 'I':
      CheckAnswer<v1::SearchIndexRequest, v1::SearchIndexResponse>(data, size);
      break;
    case 'F':
      CheckAnswer<v1::FetchItemsRequest, v1::FetchItemsResponse>(data, size);
      break;
    case 'R':
      CheckAnswer<v1::RerankCandidatesRequest, v1::RerankCandidatesResponse>(data, size);
      break;
    case 'S':
      CheckAnswer<v1::SearchItemsRequest, v1::SearchItemsResponse>(data, size);
      break;
    case 'P':
      CheckAnswer<v1::ScorePairsRequest, v1::ScorePairsResponse>(data, size);
      break;
    case 'G':
      CheckAnswer<v1::GetItemsRequest, v1::GetItemsResponse>(data, size);
      break;
    case 'A':
      CheckStatus(data, size);
      break;
    default:
      break;
  }
  return 0;
}
