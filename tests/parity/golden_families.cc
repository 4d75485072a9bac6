#include "tests/parity/golden_families.h"

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace sightline {
namespace {

constexpr double kTolerance = 1e-4;

struct GoldenFamily {
  absl::string_view name;  // "family" in config.json
  absl::Status (*compare)(const GoldenCase& golden, Comparison* comparison);
};

// One line per family.
constexpr GoldenFamily kFamilies[] = {
    {"lightningdot", &CompareLightningDot},
    {"lightningdot_scene_text", &CompareSceneText},
    {"m3p", &CompareM3p},
    {"oscar", &CompareOscar},
    {"sgraf", &CompareSgraf},
    {"uniter", &CompareUniter},
    {"vldeformer", &CompareVlDeformer},
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

int CheckGolden(absl::string_view directory, std::ostream& out) {
  const auto golden = GoldenCase::Open(directory);
  if (!golden.ok()) return Unreadable(out, golden.status().message());
  const absl::StatusOr<std::string> name = (*golden)->ConfigString("family");
  if (!name.ok()) return Unreadable(out, name.status().message());
  const GoldenFamily* family = Find(*name);
  if (family == nullptr) {
    std::string known;
    for (const GoldenFamily& each : kFamilies) known += " " + std::string(each.name);
    return Unreadable(out, "unknown family '" + *name + "'; there are:" + known);
  }
  Comparison comparison(&out);
  const absl::Status status = family->compare(**golden, &comparison);
  if (!status.ok()) out << "failed: " << status.message() << "\n";
  out << "max_abs_error: " << comparison.max_abs_error() << " over " << comparison.count()
      << " numbers\n";
  const bool good =
      status.ok() && comparison.count() > 0 && comparison.max_abs_error() <= kTolerance;
  return good ? 0 : 1;
}

}  // namespace sightline
