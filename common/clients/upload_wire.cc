#include "common/clients/upload_wire.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/clients/convert.h"
#include "common/clients/convert_internal.h"
#include "common/clients/wire_pieces.h"

namespace sightline {
namespace {

using convert_internal::Overloaded;

WirePieces FieldsOf(const google::protobuf::MessageLite& message) {
  WirePieces pieces;
  pieces.AddFields(message);
  return pieces;
}

WirePieces PiecesOf(const ImageQuery& query) {
  WirePieces pieces;
  pieces.AddBytes(v1::EncodableQuery::kImageFieldNumber, *query.bytes, query.bytes.owner());
  return pieces;
}

// What is big of regions.  In memory as on the wire: float32, little-endian.
WirePieces RegionFeatures(const Shared<ImageInput>& image) {
  const RegionSet& regions = image->regions;
  v1::PackedVectors head;
  head.set_element_type(v1::FLOAT32);
  head.set_row_count(static_cast<int>(regions.count));
  head.set_dimension(static_cast<int>(regions.feature_size));
  WirePieces pieces = FieldsOf(head);
  const absl::string_view bytes(reinterpret_cast<const char*>(regions.features.data()),
                                regions.features.size() * sizeof(float));
  pieces.AddBytes(v1::PackedVectors::kDataFieldNumber, bytes, image.owner());
  return pieces;
}

WirePieces PiecesOf(const RegionsQuery& query) {
  const RegionSet& regions = query.image->regions;
  ImageInput small;
  small.regions.count = regions.count;
  small.regions.boxes = regions.boxes;
  small.regions.box_sizes = regions.box_sizes;
  small.regions.confidences = regions.confidences;
  small.ocr_tokens = query.image->ocr_tokens;
  small.tags = query.image->tags;
  v1::Regions message;
  ToProto(small, &message);
  message.clear_features();
  WirePieces fields = FieldsOf(message);
  fields.AddMessage(v1::Regions::kFeaturesFieldNumber, RegionFeatures(query.image));
  WirePieces pieces;
  pieces.AddMessage(v1::EncodableQuery::kRegionsFieldNumber, std::move(fields));
  return pieces;
}

WirePieces PiecesOf(const Shared<ItemFeatures>& features) {
  WirePieces tensors;
  for (const FeatureTensor& tensor : features->tensors) {
    ItemFeatures small;
    small.tensors.push_back({tensor.name, tensor.dtype, tensor.rows, tensor.columns, {}});
    v1::ItemFeatures head;
    ToProto(std::move(small), &head);
    WirePieces pieces = FieldsOf(head.tensors(0));
    pieces.AddBytes(v1::FeatureTensor::kDataFieldNumber, tensor.bytes, features.owner());
    tensors.AddMessage(v1::ItemFeatures::kTensorsFieldNumber, std::move(pieces));
  }
  WirePieces side;
  side.AddMessage(v1::RerankInput::kFeaturesFieldNumber, std::move(tensors));
  return side;
}

WirePieces PiecesOf(const EncodableQuery& query) {
  return std::visit(Overloaded{
                        [](const TextQuery& text) {
                          v1::EncodableQuery message;
                          message.set_text(text.text);
                          return FieldsOf(message);
                        },
                        [](const auto& upload) { return PiecesOf(upload); },
                    },
                    query);
}

WirePieces PiecesOf(const RerankSide& side) {
  return std::visit(Overloaded{
                        [](const TextQuery& text) {
                          v1::RerankInput message;
                          message.set_text(text.text);
                          return FieldsOf(message);
                        },
                        [](const StoredRef& stored) {
                          v1::RerankInput message;
                          ToProto(stored.target, message.mutable_stored()->mutable_generation());
                          message.mutable_stored()->set_shard(stored.shard);
                          message.mutable_stored()->set_row(stored.row);
                          return FieldsOf(message);
                        },
                        [](const Shared<ItemFeatures>& features) { return PiecesOf(features); },
                    },
                    side);
}

std::string Demanded(const PrecisionWish& wish) {
  return wish.or_any ? std::string() : wish.precision.value_or("");
}

}  // namespace

OnWire<v1::EncodeQueriesRequest> ToWire(const EncodeRequest& request) {
  OnWire<v1::EncodeQueriesRequest> wire;
  ToProto(request.target, wire.head.mutable_generation());
  wire.head.set_include_features(request.want_features);
  wire.head.set_reranker(request.reranker);
  wire.head.set_precision(Demanded(request.wish));
  WirePieces pieces = FieldsOf(wire.head);
  for (const EncodableQuery& query : request.queries) {
    wire.head.add_queries();
    pieces.AddMessage(v1::EncodeQueriesRequest::kQueriesFieldNumber, PiecesOf(query));
  }
  wire.bytes = std::move(pieces).ToByteBuffer();
  return wire;
}

OnWire<v1::RerankCandidatesRequest> ToWire(const RerankRequest& request) {
  using Message = v1::RerankCandidatesRequest;
  OnWire<Message> wire;
  ToProto(request.target, wire.head.mutable_generation());
  wire.head.set_query_side(request.query_is_text ? Message::TEXT : Message::IMAGE);
  wire.head.set_reranker(request.reranker);
  wire.head.set_precision(Demanded(request.wish));
  WirePieces pieces = FieldsOf(wire.head);
  pieces.AddMessage(Message::kQueryFieldNumber, PiecesOf(request.query));
  for (const RerankSide& candidate : request.candidates) {
    wire.head.add_candidates();
    pieces.AddMessage(Message::kCandidatesFieldNumber, PiecesOf(candidate));
  }
  wire.bytes = std::move(pieces).ToByteBuffer();
  return wire;
}

}  // namespace sightline
