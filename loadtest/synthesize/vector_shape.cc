#include "loadtest/synthesize/vector_shape.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kDemoShape =
#include "loadtest/synthesize/demo_shape.inc"
    ;  // NOLINT: the literal ends here

absl::Status Read(const Json& object, const char* name, double least, double most, double* value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) {
    return absl::InvalidArgumentError(absl::StrCat("the shape has no number '", name, "'"));
  }
  *value = found->get<double>();
  if (*value >= least && *value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the shape's '", name, "' is ", *value, ", not ", least, " to ", most));
}

absl::Status Read(const Json& shape, const char* name, double most_head, RankLaw* law) {
  const auto found = shape.find(name);
  if (found == shape.end() || !found->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("the shape has no object '", name, "'"));
  }
  RETURN_IF_ERROR(Read(*found, "head", 1e-6, most_head, &law->head));
  const auto exponents = found->find("exponents");
  if (exponents == found->end() || !exponents->is_array() ||
      exponents->size() != law->exponents.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape's '", name, "' has no three 'exponents'"));
  }
  for (size_t i = 0; i < law->exponents.size(); ++i) {
    const Json one = {{"exponent", (*exponents)[i]}};
    RETURN_IF_ERROR(Read(one, "exponent", -1, 4, &law->exponents[i]));
  }
  return absl::OkStatus();
}

Json LawJson(const RankLaw& law) {
  return {{"head", law.head}, {"exponents", law.exponents}};
}

}  // namespace

double RankLaw::At(double rank) const {
  double value = head;
  double from = 1;
  for (size_t i = 0; i < exponents.size(); ++i) {
    const double to = i < kKnees.size() ? std::min(rank, kKnees[i]) : rank;
    value *= std::pow(to / from, -exponents[i]);
    if (i == kKnees.size() || rank <= kKnees[i]) break;
    from = kKnees[i];
  }
  return value;
}

VectorShape PowerShape(double spectrum, double shared) {
  VectorShape shape;
  shape.items.exponents = {spectrum, spectrum, spectrum};
  shape.queries = shape.items;
  shape.shared.head = shared;
  return shape;
}

const VectorShape& DemoShape() {
  static const auto* const shape = new VectorShape(*ParseVectorShape(kDemoShape));
  return *shape;
}

absl::StatusOr<VectorShape> ParseVectorShape(absl::string_view json) {
  const Json text = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!text.is_object() || !text.contains("shape") || !text["shape"].is_object()) {
    return absl::InvalidArgumentError("it is no JSON with an object 'shape'");
  }
  const Json& object = text["shape"];
  VectorShape shape;
  RETURN_IF_ERROR(Read(object, "items", 1e6, &shape.items));
  RETURN_IF_ERROR(Read(object, "queries", 1e6, &shape.queries));
  RETURN_IF_ERROR(Read(object, "shared", 1, &shape.shared));
  RETURN_IF_ERROR(Read(object, "item_mean", 0, 0.99, &shape.item_mean));
  RETURN_IF_ERROR(Read(object, "query_mean", 0, 0.99, &shape.query_mean));
  RETURN_IF_ERROR(Read(object, "mean_cosine", -1, 1, &shape.mean_cosine));
  RETURN_IF_ERROR(Read(object, "own_share", 0, 1, &shape.own_share));
  RETURN_IF_ERROR(Read(object, "group_share", 0, 1, &shape.group_share));
  return shape;
}

std::string VectorShapeJson(const VectorShape& shape) {
  const Json json = {{"items", LawJson(shape.items)},   {"queries", LawJson(shape.queries)},
                     {"shared", LawJson(shape.shared)}, {"item_mean", shape.item_mean},
                     {"query_mean", shape.query_mean},  {"mean_cosine", shape.mean_cosine},
                     {"own_share", shape.own_share},    {"group_share", shape.group_share}};
  return json.dump();
}

}  // namespace sightline
