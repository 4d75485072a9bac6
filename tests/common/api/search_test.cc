#include "common/api/search.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

Hit MakeHit(const std::string& item_id, HitStage stage, float score) {
  Hit hit;
  hit.item_id = item_id;
  hit.stage = stage;
  hit.score = score;
  return hit;
}

TEST_CASE("what has been reranked stands first, then the score decides, then the id") {
  const std::vector<Hit> ordered = {
      MakeHit("c", HitStage::kReranked, 0.2f),  MakeHit("a", HitStage::kReranked, 0.1f),
      MakeHit("d", HitStage::kReranked, 0.1f),  MakeHit("b", HitStage::kRetrieved, 0.9f),
      MakeHit("e", HitStage::kRetrieved, 0.3f), MakeHit("f", HitStage::kRetrieved, 0.3f)};
  for (size_t a = 0; a < ordered.size(); ++a) {
    for (size_t b = 0; b < ordered.size(); ++b) {
      INFO(ordered[a].item_id << " and " << ordered[b].item_id);
      CHECK(StandsBefore(ordered[a], ordered[b]) == (a < b));
    }
  }
  std::vector<Hit> hits(ordered.rbegin(), ordered.rend());
  std::sort(hits.begin(), hits.end(), StandsBefore);
  for (size_t i = 0; i < hits.size(); ++i) CHECK(hits[i].item_id == ordered[i].item_id);
}

}  // namespace
}  // namespace sightline
