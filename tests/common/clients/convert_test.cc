#include "common/clients/convert.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bool Names(const absl::Status& status, const std::string& field) {
  const std::vector<std::string> fields = GetFields(status);
  return status.code() == absl::StatusCode::kInvalidArgument &&
         absl::StartsWith(std::string(status.message()), field + " ") && fields.size() == 1 &&
         fields[0] == field;
}

EmbeddingMatrix Counting(int rows, int dimension) {
  EmbeddingMatrix matrix(rows, dimension);
  for (int i = 0; i < rows * dimension; ++i) matrix.mutable_data()[i] = 0.1f * i - 3;
  return matrix;
}

absl::StatusOr<EmbeddingMatrix> Read(const v1::PackedVectors& vectors) {
  return FromProto(vectors, VectorBounds{1, 8, 0}, FieldPath("v"));
}

TEST_CASE("a field path spells parents, names and indices") {
  const FieldPath root("request");
  const FieldPath list(root, "queries", 3);
  REQUIRE(FieldPath(list, "text").ToString() == "request.queries[3].text");
}

TEST_CASE("packed float32 vectors come back bit for bit") {
  const EmbeddingMatrix matrix = Counting(3, 5);
  v1::PackedVectors message;
  ToProto(matrix, &message);
  REQUIRE(message.data().size() == 3 * 5 * 4);
  const auto read = Read(message);
  REQUIRE(read.ok());
  REQUIRE(read->rows() == 3);
  REQUIRE(read->dimension() == 5);
  REQUIRE(read->values() == matrix.values());
}

TEST_CASE("packed float16 vectors come back within half a unit of the eleventh bit") {
  const EmbeddingMatrix matrix = Counting(2, 7);
  v1::PackedVectors message;
  PackVectors(matrix.values(), 2, 7, v1::FLOAT16, &message);
  REQUIRE(message.data().size() == 2 * 7 * 2);
  const auto read = Read(message);
  REQUIRE(read.ok());
  for (int i = 0; i < 14; ++i) {
    const float exact = matrix.values()[i];
    REQUIRE(std::abs(read->values()[i] - exact) <= std::abs(exact) / 2048 + 1e-7f);
  }
}

TEST_CASE("a float16 that is an infinity is refused like any other") {
  v1::PackedVectors message;
  PackVectors({1.0f, 70000.0f}, 1, 2, v1::FLOAT16, &message);
  REQUIRE(Names(Read(message).status(), "v.data"));
}

TEST_CASE("packed vectors that lie about themselves are refused by field") {
  v1::PackedVectors good;
  ToProto(Counting(2, 4), &good);
  REQUIRE(Read(good).ok());
  struct Lie {
    const char* field;
    void (*tell)(v1::PackedVectors*);
  };
  const Lie lies[] = {
      {"v.element_type", [](auto* v) { v->clear_element_type(); }},
      {"v.element_type", [](auto* v) { v->set_element_type(v1::INT8); }},
      {"v.element_type", [](auto* v) { v->set_element_type(static_cast<v1::ElementType>(77)); }},
      {"v.row_count", [](auto* v) { v->set_row_count(0); }},
      {"v.row_count", [](auto* v) { v->set_row_count(-2); }},
      {"v.row_count", [](auto* v) { v->set_row_count(9); }},
      {"v.row_count", [](auto* v) { v->set_row_count(std::numeric_limits<int>::max()); }},
      {"v.dimension", [](auto* v) { v->set_dimension(0); }},
      {"v.dimension", [](auto* v) { v->set_dimension(-4); }},
      {"v.dimension", [](auto* v) { v->set_dimension(4097); }},
      {"v.dimension", [](auto* v) { v->set_dimension(std::numeric_limits<int>::max()); }},
      {"v.data", [](auto* v) { v->set_row_count(8); }},
      {"v.data", [](auto* v) { v->set_dimension(4096); }},
      {"v.data", [](auto* v) { v->set_element_type(v1::FLOAT16); }},
      {"v.data", [](auto* v) { v->mutable_data()->pop_back(); }},
      {"v.data", [](auto* v) { v->mutable_data()->push_back(0); }},
      {"v.data", [](auto* v) { v->clear_data(); }},
      {"v.data", [](auto* v) { v->mutable_data()->replace(4, 4, "\x00\x00\xC0\x7F", 4); }},  // NaN
      {"v.data", [](auto* v) { v->mutable_data()->replace(8, 4, "\x00\x00\x80\xFF", 4); }},  // -inf
  };
  for (const Lie& lie : lies) {
    v1::PackedVectors bad = good;
    lie.tell(&bad);
    INFO(bad.ShortDebugString());
    REQUIRE(Names(Read(bad).status(), lie.field));
  }
}

TEST_CASE("a declared dimension is the only one that is taken") {
  v1::PackedVectors message;
  ToProto(Counting(1, 4), &message);
  REQUIRE(FromProto(message, VectorBounds{1, 1, 4}, FieldPath("v")).ok());
  REQUIRE(Names(FromProto(message, VectorBounds{1, 1, 5}, FieldPath("v")).status(), "v.dimension"));
}

// Whatever the numbers: either an error that names a field, or exactly the data sent.
TEST_CASE("random packed vectors are refused or read whole") {
  std::mt19937 random(20240711);
  const int counts[] = {-1, 0, 1, 2, 3, 7, 8, 9, 4096, 1 << 30, std::numeric_limits<int>::max()};
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    v1::PackedVectors message;
    message.set_element_type(static_cast<v1::ElementType>(random() % 7));
    message.set_row_count(counts[random() % 11]);
    message.set_dimension(counts[random() % 11]);
    // Half of the time as long as it should be, where that is short.
    const int64_t elements = int64_t{message.row_count()} * message.dimension();
    const bool fits = elements >= 0 && elements < 100 && random() % 2 == 0;
    const size_t size = message.element_type() == v1::FLOAT16 ? 2 : 4;
    message.mutable_data()->resize(fits ? elements * size : random() % 130);
    for (char& c : *message.mutable_data()) c = static_cast<char>(random() % 0x70);
    const auto read = Read(message);
    if (!read.ok()) {
      REQUIRE(GetFields(read.status()).size() == 1);
      continue;
    }
    ++accepted;
    REQUIRE(read->values().size() * size == message.data().size());
  }
  REQUIRE(accepted > 100);
}

ItemFeatures SomeFeatures() {
  ItemFeatures features;
  features.tensors.push_back({"ids", Dtype::kInt32, 1, 3, std::string(12, 'a')});
  features.tensors.push_back({"rows", Dtype::kFloat16, 2, 2, std::string(8, 'b')});
  features.tensors.push_back({"none", Dtype::kInt8, 0, 5, ""});
  return features;
}

TEST_CASE("item features come back whole") {
  v1::ItemFeatures message;
  ToProto(SomeFeatures(), &message);
  const auto read = FromProto(message, FieldPath("f"));
  REQUIRE(read.ok());
  REQUIRE(read->tensors.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const FeatureTensor expected = SomeFeatures().tensors[i];
    REQUIRE(read->tensors[i].name == expected.name);
    REQUIRE(read->tensors[i].dtype == expected.dtype);
    REQUIRE(read->tensors[i].rows == expected.rows);
    REQUIRE(read->tensors[i].columns == expected.columns);
    REQUIRE(read->tensors[i].bytes == expected.bytes);
  }
}

TEST_CASE("item features that break a bound are refused by field") {
  v1::ItemFeatures good;
  ToProto(SomeFeatures(), &good);
  struct Lie {
    const char* field;
    void (*tell)(v1::ItemFeatures*);
  };
  const Lie lies[] = {
      {"f.tensors[0].name", [](auto* f) { f->mutable_tensors(0)->set_name("Ids"); }},
      {"f.tensors[0].name", [](auto* f) { f->mutable_tensors(0)->clear_name(); }},
      {"f.tensors[0].name", [](auto* f) { f->mutable_tensors(0)->set_name(std::string(65, 'a')); }},
      {"f.tensors[1].name", [](auto* f) { f->mutable_tensors(1)->set_name("ids"); }},
      {"f.tensors[1].element_type", [](auto* f) { f->mutable_tensors(1)->clear_element_type(); }},
      {"f.tensors[1].row_count", [](auto* f) { f->mutable_tensors(1)->set_row_count(-1); }},
      {"f.tensors[1].row_count", [](auto* f) { f->mutable_tensors(1)->set_row_count(4097); }},
      {"f.tensors[1].column_count", [](auto* f) { f->mutable_tensors(1)->set_column_count(0); }},
      {"f.tensors[1].column_count",
       [](auto* f) { f->mutable_tensors(1)->set_column_count(1 << 30); }},
      {"f.tensors[1].data", [](auto* f) { f->mutable_tensors(1)->set_data("short"); }},
      {"f.tensors[2].data", [](auto* f) { f->mutable_tensors(2)->set_data("x"); }},
      {"f.tensors",
       [](auto* f) {
         while (f->tensors_size() < 17) f->add_tensors();
       }},
  };
  for (const Lie& lie : lies) {
    v1::ItemFeatures bad = good;
    lie.tell(&bad);
    INFO(lie.field);
    REQUIRE(Names(FromProto(bad, FieldPath("f")).status(), lie.field));
  }
}

ImageInput SomeRegions() {
  ImageInput image;
  image.regions.count = 2;
  image.regions.feature_size = 3;
  image.regions.features = {1, 2, 3, 4, 5, 6};
  // As half precision has them: beyond the edge, and sizes that are not quite the corners'.
  image.regions.boxes = {0, 0, 0.5f, 1.0005f, 0.25f, 0.5f, 1, 1};
  image.regions.box_sizes = {0.5f, 1, 0.7505f, 0.5f};
  image.regions.confidences = {0.75f, 0.25f};
  image.ocr_tokens = {"STOP"};
  image.tags = {"sign", "street"};
  return image;
}

TEST_CASE("regions come back whole, with and without boxes and confidences") {
  ImageInput image = SomeRegions();
  for (bool boxes : {true, false}) {
    if (!boxes) {
      image.regions.boxes.clear();
      image.regions.box_sizes.clear();
      image.regions.confidences.clear();
    }
    v1::Regions message;
    ToProto(image, &message);
    REQUIRE(message.has_boxes() == boxes);
    REQUIRE(message.has_box_sizes() == boxes);
    const auto read = FromProto(message, FieldPath("r"));
    REQUIRE(read.ok());
    REQUIRE(read->regions.count == 2);
    REQUIRE(read->regions.feature_size == 3);
    REQUIRE(read->regions.features == image.regions.features);
    REQUIRE(read->regions.boxes == image.regions.boxes);
    REQUIRE(read->regions.box_sizes == image.regions.box_sizes);
    REQUIRE(read->regions.confidences == image.regions.confidences);
    REQUIRE(read->ocr_tokens == image.ocr_tokens);
    REQUIRE(read->tags == image.tags);
  }
}

TEST_CASE("regions that break a bound are refused by field") {
  v1::Regions good;
  ToProto(SomeRegions(), &good);
  struct Lie {
    const char* field;
    void (*tell)(v1::Regions*);
  };
  const Lie lies[] = {
      {"r.features.element_type", [](auto* r) { r->clear_features(); }},
      {"r.boxes.row_count", [](auto* r) { r->mutable_boxes()->set_row_count(1); }},
      {"r.boxes.dimension", [](auto* r) { r->mutable_boxes()->set_dimension(5); }},
      {"r.boxes",
       [](auto* r) {
         PackVectors({0, 0, 1, 1, 0, 0, 1, 1.5f}, 2, 4, v1::FLOAT32, r->mutable_boxes());
       }},
      {"r.boxes",
       [](auto* r) {
         PackVectors({0, -1, 1, 1, 0, 0, 1, 1}, 2, 4, v1::FLOAT32, r->mutable_boxes());
       }},
      {"r.boxes",
       [](auto* r) {
         PackVectors({1, 0, 0, 1, 0, 0, 1, 1}, 2, 4, v1::FLOAT32, r->mutable_boxes());
       }},
      {"r.box_sizes", [](auto* r) { r->clear_boxes(); }},
      {"r.box_sizes.dimension", [](auto* r) { r->mutable_box_sizes()->set_dimension(4); }},
      {"r.box_sizes",
       [](auto* r) {
         PackVectors({0.5f, 1, 0.75f, 0.6f}, 2, 2, v1::FLOAT32, r->mutable_box_sizes());
       }},
      {"r.confidences", [](auto* r) { r->add_confidences(0.5f); }},
      {"r.confidences", [](auto* r) { r->set_confidences(0, 1.5f); }},
      {"r.confidences", [](auto* r) { r->set_confidences(1, NAN); }},
      {"r.tags",
       [](auto* r) {
         while (r->tags_size() < 257) r->add_tags("x");
       }},
      {"r.tags[1]", [](auto* r) { r->set_tags(1, std::string(257, 'x')); }},
      {"r.ocr_tokens[0]", [](auto* r) { r->set_ocr_tokens(0, std::string(257, 'x')); }},
  };
  for (const Lie& lie : lies) {
    v1::Regions bad = good;
    lie.tell(&bad);
    INFO(lie.field);
    REQUIRE(Names(FromProto(bad, FieldPath("r")).status(), lie.field));
  }
}

// Of 200 regions of 2048 numbers of `type`, all zero.
v1::Regions LongRegions(v1::ElementType type) {
  v1::Regions message;
  PackVectors(std::vector<float>(200 * 2048), 200, 2048, type, message.mutable_features());
  return message;
}

TEST_CASE("regions are unpacked in place, and what they came in is let go of") {
  constexpr int64_t kFloats = 200 * 2048 * sizeof(float);
  constexpr int64_t kSlack = 10000;
  for (const v1::ElementType type : {v1::FLOAT32, v1::FLOAT16}) {
    v1::Regions message = LongRegions(type);
    const int64_t before = static_cast<int64_t>(message.SpaceUsedLong());
    const PeakAllocation peak;
    const auto image = FromProto(std::move(message), FieldPath("r"));
    REQUIRE(image.ok());
    // Beside the message, the floats once.
    CHECK(peak.bytes() < kFloats + kSlack);
    // And then the floats alone.
    CHECK(peak.bytes_now() < kFloats + kSlack - before);
  }
}

TEST_CASE("stored items come back whole") {
  StoredItem item{"stamps/fish", "a red fish", "/p/fish.png", {"sea", "red"}, 3, 77, {0.5f, -0.5f}};
  v1::Item message;
  ToProto(item, &message);
  const auto read = FromProto(message, FieldPath("item"));
  REQUIRE(read.ok());
  REQUIRE(read->item_id == item.item_id);
  REQUIRE(read->caption == item.caption);
  REQUIRE(read->uri == item.uri);
  REQUIRE(read->tags == item.tags);
  REQUIRE(read->shard == 3);
  REQUIRE(read->row == 77);
  REQUIRE(read->embedding == item.embedding);
  message.set_row(-1);
  REQUIRE(Names(FromProto(message, FieldPath("item")).status(), "item.row"));
  message.set_item_id(std::string(1025, 'x'));
  REQUIRE(Names(FromProto(message, FieldPath("item")).status(), "item.item_id"));
}

TEST_CASE("generation keys must be names that could have been published") {
  const GenerationRef ref{"pictures", "20240711-01", std::string(64, 'a')};
  v1::GenerationKey message;
  ToProto(ref, &message);
  const auto read = FromProto(message, FieldPath("g"));
  REQUIRE(read.ok());
  REQUIRE(read->index == ref.index);
  REQUIRE(read->generation == ref.generation);
  REQUIRE(read->space == ref.space);
  for (const char* name : {"", "../etc", "Pictures", "-x", "a b"}) {
    v1::GenerationKey bad = message;
    bad.set_index(name);
    REQUIRE(Names(FromProto(bad, FieldPath("g")).status(), "g.index"));
    bad = message;
    bad.set_generation(name);
    REQUIRE(Names(FromProto(bad, FieldPath("g")).status(), "g.generation"));
  }
  message.set_space("");
  REQUIRE(Names(FromProto(message, FieldPath("g")).status(), "g.space"));
}

TEST_CASE("combinations come back, and impossible ones are refused") {
  for (CombinationKind kind :
       {CombinationKind::kReplace, CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    v1::Combination message;
    ToProto(Combination{kind, 0.25f}, &message);
    const auto read = FromProto(message, FieldPath("c"));
    REQUIRE(read.ok());
    REQUIRE(read->kind == kind);
    REQUIRE(read->lambda == 0.25f);
    for (float lambda : {-0.1f, 1.1f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
      message.set_lambda(lambda);
      REQUIRE(Names(FromProto(message, FieldPath("c")).status(), "c.lambda"));
    }
  }
  REQUIRE(Names(FromProto(v1::Combination(), FieldPath("c")).status(), "c.kind"));
}

TEST_CASE("score kinds come back, and unknown ones are refused") {
  for (ScoreKind kind : {ScoreKind::kRankRaw, ScoreKind::kSoftmaxMatch, ScoreKind::kLogitMatch,
                         ScoreKind::kSigmoid}) {
    const auto read = FromProto(ToProto(kind), FieldPath("k"));
    REQUIRE(read.ok());
    REQUIRE(*read == kind);
  }
  REQUIRE(Names(FromProto(v1::SCORE_KIND_UNSPECIFIED, FieldPath("k")).status(), "k"));
}

}  // namespace
}  // namespace sightline
