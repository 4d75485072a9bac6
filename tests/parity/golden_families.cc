#include "tests/parity/golden_families.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Of what is computed in float32 throughout.
constexpr double kExactBound = 1e-4;

using Open = absl::StatusOr<GoldenSubject> (*)(const GoldenCase& golden);
using Compare = absl::Status (*)(const GoldenCase& golden, GoldenComparison* comparison);
using CompareStored = absl::Status (*)(const GoldenCase& golden, Dtype dtype,
                                       GoldenComparison* comparison);

struct GoldenFamily {
  absl::string_view name;  // "family" in config.json
  Open open = nullptr;
  Compare compare = nullptr;
  // Of blocks that multiply in bfloat16, about three times what that costs; 0: it has none.
  double bfloat16_bound = 0;
  CompareStored compare_stored = nullptr;  // null: it only retrieves
  // About three times what it costs.
  double float16_bound = 0;
  double int8_bound = 0;
};

// One line per family.
constexpr GoldenFamily kFamilies[] = {
    {"lightningdot", &OpenLightningDot, &CompareLightningDot, 0.2},
    {"lightningdot_scene_text", &OpenSceneText, &CompareSceneText, 0.2},
    {"m3p", &OpenM3p, &CompareM3p, 6e-3, &CompareStoredM3p, 1.5e-4, 5e-3},
    {"oscar", &OpenOscar, &CompareOscar, 6e-3, &CompareStoredOscar, 1e-5, 4e-4},
    {"sgraf", &OpenSgraf, &CompareSgraf, 0, &CompareStoredSgraf, 3e-4, 2e-3},
    {"uniter", &OpenUniter, &CompareUniter, 0.2, &CompareStoredUniter, 4e-5, 6e-4},
    {"vldeformer", &OpenVlDeformer, &CompareVlDeformer, 5e-3},
};

const GoldenFamily* Find(absl::string_view name) {
  for (const GoldenFamily& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

int Unreadable(std::ostream& out, absl::string_view message) {
  out << message << "\n";
  return 2;
}

}  // namespace

absl::StatusOr<GoldenSubject> OpenGolden(const GoldenCase& golden) {
  ASSIGN_OR_RETURN(const std::string name, golden.ConfigString("family"));
  const GoldenFamily* family = Find(name);
  if (family == nullptr) return absl::InvalidArgumentError("unknown family '" + name + "'");
  return family->open(golden);
}

int CheckGolden(absl::string_view directory, GoldenPath path, std::ostream& out,
                const Execution& execution) {
  const auto golden = GoldenCase::Open(directory, execution);
  if (!golden.ok()) return Unreadable(out, golden.status().message());
  const absl::StatusOr<std::string> name = (*golden)->ConfigString("family");
  if (!name.ok()) return Unreadable(out, name.status().message());
  const GoldenFamily* family = Find(*name);
  if (family == nullptr) {
    std::string known;
    for (const GoldenFamily& each : kFamilies) known += " " + std::string(each.name);
    return Unreadable(out, "unknown family '" + *name + "'; there are:" + known);
  }
  const bool stored = path != GoldenPath::kExact;
  const Dtype dtype = path == GoldenPath::kInt8 ? Dtype::kInt8 : Dtype::kFloat16;
  if (stored && family->compare_stored == nullptr) {
    return Unreadable(out, "family '" + *name + "' only retrieves: it stores no item features");
  }
  double bound = path == GoldenPath::kExact     ? kExactBound
                 : path == GoldenPath::kFloat16 ? family->float16_bound
                                                : family->int8_bound;
  if (execution.precision != "float32") bound = std::max(bound, family->bfloat16_bound);
  GoldenComparison comparison(&out);
  const absl::Status status = stored ? family->compare_stored(**golden, dtype, &comparison)
                                     : family->compare(**golden, &comparison);
  if (!status.ok()) out << "failed: " << status.message() << "\n";
  out << "max_abs_error: " << comparison.max_abs_error() << " over " << comparison.count()
      << " numbers\n";
  const bool good = status.ok() && comparison.count() > 0 && comparison.max_abs_error() <= bound;
  return good ? 0 : 1;
}

}  // namespace sightline
