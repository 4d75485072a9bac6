#include "common/clients/upload_wire.h"

#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clients/convert.h"
#include "common/clients/wire_pieces.h"
#include "tests/support/catch.h"
#include "tests/support/wire_message.h"

namespace sightline {
namespace {

using google::protobuf::util::MessageDifferencer;

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

ImageInput Regions(int count, int width) {
  ImageInput image;
  image.regions.count = count;
  image.regions.feature_size = width;
  for (int i = 0; i < count * width; ++i) image.regions.features.push_back(0.5f * i - 3);
  for (int i = 0; i < count; ++i) {
    image.regions.boxes.insert(image.regions.boxes.end(), {0, 0, 0.5f, 1});
    image.regions.box_sizes.insert(image.regions.box_sizes.end(), {0.5f, 1});
    image.regions.confidences.push_back(0.25f);
  }
  image.ocr_tokens = {"EXIT", ""};
  image.tags = {"door"};
  return image;
}

ItemFeatures Features(size_t bytes) {
  ItemFeatures features;
  features.tensors.push_back(
      {"regions", Dtype::kInt8, 1, static_cast<int64_t>(bytes), std::string(bytes, '\7')});
  features.tensors.push_back({"none", Dtype::kFloat32, 0, 4, ""});
  return features;
}

// Where the bytes of the wire lie, those of at least `least`.
std::vector<const void*> Lying(const grpc::ByteBuffer& wire, size_t least) {
  std::vector<grpc::Slice> slices;
  REQUIRE(wire.Dump(&slices).ok());
  std::vector<const void*> found;
  for (const grpc::Slice& slice : slices) {
    if (slice.size() >= least) found.push_back(slice.begin());
  }
  return found;
}

// The referee: the message, field by field.
v1::EncodeQueriesRequest Plain(const EncodeRequest& request) {
  v1::EncodeQueriesRequest message;
  ToProto(request.target, message.mutable_generation());
  message.set_include_features(request.want_features);
  message.set_reranker(request.reranker);
  for (const EncodableQuery& query : request.queries) {
    v1::EncodableQuery* const out = message.add_queries();
    if (const auto* text = std::get_if<TextQuery>(&query)) out->set_text(text->text);
    if (const auto* image = std::get_if<ImageQuery>(&query)) out->set_image(*image->bytes);
    if (const auto* regions = std::get_if<RegionsQuery>(&query)) {
      ToProto(*regions->image, out->mutable_regions());
    }
  }
  return message;
}

TEST_CASE("a request to encode is the message that it stands for, whatever its lengths") {
  for (const size_t length : {0, 1, 23, 24, 127, 128, 16383, 16384, 300000}) {
    EncodeRequest request;
    request.target = kTarget;
    request.want_features = length % 2 == 1;
    request.reranker = length > 100 ? "fine" : "";
    request.queries = {ImageQuery{std::string(length, 'x')}, TextQuery{std::string(length, 'y')},
                       RegionsQuery{Regions(1 + static_cast<int>(length % 7), 3)}, ImageQuery{"z"},
                       TextQuery{"after a picture"}};
    const auto wire = ToWire(request);
    INFO(length);
    CHECK(MessageDifferencer::Equals(Parsed(wire), Plain(request)));
    CHECK(wire.head.queries_size() == 5);
    CHECK(wire.head.ByteSizeLong() < 200);
  }
}

TEST_CASE("a request to rerank is the message that it stands for") {
  RerankRequest request;
  request.target = kTarget;
  request.query_is_text = false;
  request.query = Features(300000);
  request.candidates = {TextQuery{"a red fish"}, StoredRef{kTarget, 2, 9}, Features(1)};
  request.reranker = "fine";
  const auto wire = ToWire(request);
  const v1::RerankCandidatesRequest read = Parsed(wire);
  v1::ItemFeatures query;
  ToProto(Features(300000), &query);
  CHECK(MessageDifferencer::Equals(read.query().features(), query));
  CHECK(read.query_side() == v1::RerankCandidatesRequest::IMAGE);
  CHECK(read.reranker() == "fine");
  REQUIRE(read.candidates_size() == 3);
  CHECK(read.candidates(0).text() == "a red fish");
  CHECK(read.candidates(1).stored().shard() == 2);
  CHECK(read.candidates(1).stored().row() == 9);
  CHECK(read.candidates(1).stored().generation().index() == "pictures");
  CHECK(read.candidates(2).features().tensors_size() == 2);
  CHECK(wire.head.candidates_size() == 3);
}

TEST_CASE("uploads are sent from where they lie, to any number of replicas") {
  EncodeRequest request;
  request.target = kTarget;
  request.queries = {ImageQuery{std::string(1 << 20, 'x')}, RegionsQuery{Regions(100, 100)}};
  const EncodeRequest copy = request;
  const std::vector<const void*> expected = {
      std::get<ImageQuery>(request.queries[0]).bytes->data(),
      std::get<RegionsQuery>(request.queries[1]).image->regions.features.data()};
  CHECK(Lying(ToWire(request).bytes, 1 << 15) == expected);
  CHECK(Lying(ToWire(copy).bytes, 1 << 15) == expected);
}

TEST_CASE("what is sent keeps the upload, and nothing else does") {
  std::weak_ptr<const std::string> picture;
  std::weak_ptr<const ItemFeatures> features;
  grpc::ByteBuffer encode, rerank;
  {
    const ImageQuery query{std::string(1 << 20, 'x')};
    picture = query.bytes.owner();
    EncodeRequest request;
    request.queries = {query};
    encode = ToWire(request).bytes;
    const Shared<ItemFeatures> side = Features(1000);
    features = side.owner();
    RerankRequest pairs;
    pairs.query = side;
    rerank = ToWire(pairs).bytes;
  }
  CHECK_FALSE(picture.expired());
  CHECK_FALSE(features.expired());
  encode.Clear();
  rerank.Clear();
  CHECK(picture.expired());
  CHECK(features.expired());
}

}  // namespace
}  // namespace sightline
