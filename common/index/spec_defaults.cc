#include "common/index/spec_defaults.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/base/limits.h"

namespace sightline {
namespace {

constexpr double kListFactor = 8;
constexpr int kLinkCount = 16;
constexpr int kBuildEffort = 200;
constexpr char kRows[] = "rows";
constexpr char kPq4[] = "pq4";
constexpr char kRabitq[] = "rabitq";
// Numbers that share a part of four bits: two bits each.
constexpr int kNumbersOfPart = 2;

int RefineOf(const std::string& code) {
  if (code == kRows) return 1;
  if (code == kPq4) return 10;
  if (code == kRabitq) return 20;
  return 3;
}

}  // namespace

int64_t GreatestShard(const bundle::v1::GenerationManifest& manifest) {
  int64_t rows = 0;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    rows = std::max(rows, shard.item_count());
  }
  return rows;
}

int ListCountFor(int64_t rows, double factor) {
  const double lists = std::round(factor * std::sqrt(static_cast<double>(rows)));
  return static_cast<int>(std::clamp(lists, 1.0, static_cast<double>(limits::kMaxIndexLists)));
}

void FillIndexSpec(int64_t rows, int dimension, bundle::v1::IndexSpec* spec) {
  if (spec->kind() == "ivf") {
    bundle::v1::IvfSpec* const ivf = spec->mutable_ivf();
    if (ivf->list_count() == 0) ivf->set_list_count(ListCountFor(rows, kListFactor));
    if (ivf->code().empty()) ivf->set_code("int8");
    if (ivf->code() == kPq4 && ivf->pq_parts() == 0) {
      ivf->set_pq_parts(std::max(dimension / kNumbersOfPart, 1));
    }
    if (ivf->refine() == 0) ivf->set_refine(RefineOf(ivf->code()));
  } else if (spec->kind() == "hnsw") {
    bundle::v1::HnswSpec* const hnsw = spec->mutable_hnsw();
    if (hnsw->link_count() == 0) hnsw->set_link_count(kLinkCount);
    if (hnsw->build_effort() == 0) hnsw->set_build_effort(kBuildEffort);
    if (hnsw->code().empty()) hnsw->set_code(kRows);
    if (hnsw->refine() == 0) hnsw->set_refine(RefineOf(hnsw->code()));
  }
}

}  // namespace sightline
