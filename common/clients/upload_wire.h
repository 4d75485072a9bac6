// Requests that carry uploads, to the wire without a copy of them (wire_pieces.h).
#ifndef SIGHTLINE_COMMON_CLIENTS_UPLOAD_WIRE_H_
#define SIGHTLINE_COMMON_CLIENTS_UPLOAD_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include "common/api/query_encoder.h"
#include "common/api/reranker.h"
#include "sightline/v1/query_encoder.pb.h"
#include "sightline/v1/reranker.pb.h"

namespace sightline {

template <typename Message>
struct OnWire {
  // The request with its lists as long as they are and nothing in them: what its answer is
  // read with.
  Message head;
  // The request.  Pictures, regions and features in it are those of the plain request, kept
  // as long as any copy of this lives.
  grpc::ByteBuffer bytes;
};

OnWire<v1::EncodeQueriesRequest> ToWire(const EncodeRequest& request);
OnWire<v1::RerankCandidatesRequest> ToWire(const RerankRequest& request);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_UPLOAD_WIRE_H_
