// Probes that are sound, for tests that break them.
#ifndef SIGHTLINE_TESTS_COMMON_BUNDLE_PROBES_H_
#define SIGHTLINE_TESTS_COMMON_BUNDLE_PROBES_H_

#include <string>

#include "common/bundle/model_probes.h"
#include "sightline/bundle/v1/model_probes.pb.h"

namespace sightline {

// Two texts, the second of which means items 3 and 0, and twenty items with two tensors and an
// embedding of three numbers.
inline bundle::v1::ModelProbes SoundProbes() {
  bundle::v1::ModelProbes probes;
  probes.set_format_version(1);
  probes.add_texts()->set_text("a dog");
  bundle::v1::ProbeText& labelled = *probes.add_texts();
  labelled.set_text("zwei V\xC3\xB6gel");
  labelled.add_relevant_items(3);
  labelled.add_relevant_items(0);
  for (int i = 0; i < kLeastProbeItems; ++i) {
    bundle::v1::ProbeItem& item = *probes.add_items();
    const int rows = 1 + i % 3;
    SetFeatures({{{"regions", Dtype::kFloat16, rows, 4, std::string(8 * rows, 'r')},
                  {"tags", Dtype::kInt32, 0, 1, ""}}},
                &item);
    for (int d = 0; d < 3; ++d) item.add_embedding(static_cast<float>(i + d));
  }
  return probes;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_BUNDLE_PROBES_H_
