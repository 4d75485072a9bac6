// What is looked at before a generation is written, beyond what each item shows by itself.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_CHECKS_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_CHECKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "common/models/model.h"

namespace sightline {

// Whether one of the corpora holds regions.
bool AnyHasRegions(absl::Span<const std::unique_ptr<CorpusReader>> corpora);

// FailedPrecondition, saying what does not fit, unless `model` can read each of `corpora`:
// pictures, if it finds regions in them, or regions, if their features have a width that it
// takes.
absl::Status CheckModelReads(const Model& model,
                             absl::Span<const std::unique_ptr<CorpusReader>> corpora);

// Notices a model that has collapsed: one that gives everything the same embedding.
// Searches would then find anything for any question.
class CollapseCheck {
 public:
  // So many different items must share the embedding before that counts: two captions may
  // well be the same to a tokenizer.
  static constexpr int64_t kFewest = 16;

  // `content` tells items apart: what is the same twice is counted once.
  void Add(absl::string_view content, absl::Span<const float> embedding);
  // Adds what another has seen.
  void Merge(const CollapseCheck& other);

  // FailedPrecondition if there were enough items and all embeddings were equal, but for
  // rounding (a part in 100 000 of the largest number).  `what` names the items.
  absl::Status Check(absl::string_view what) const;

 private:
  // What it has seen.
  friend auto FieldsOf(CollapseCheck& check) {
    return std::tie(check.count_, check.all_equal_, check.first_);
  }
  void Compare(absl::Span<const float> embedding);

  std::vector<float> first_;
  std::string last_content_;
  int64_t count_ = 0;
  bool all_equal_ = true;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_CHECKS_H_
