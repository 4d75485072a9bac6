// Which base a job has, the same for all of its workers.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

// What `base` may be instead of a generation's name.
inline constexpr absl::string_view kNoBase = "none";

struct BaseChoice {
  std::string store;
  std::string images_index;
  std::string captions_index;
  // A generation of both indexes; empty: what CURRENT of the images index names; kNoBase.
  std::string base;
  // What it must have been made with; the kind of item is filled in for each index.
  BaseRequirements required;
  // Where the workers of one job agree, since CURRENT may change between one's look and
  // another's.
  std::string agreement_path;
  WorkShare share;
};

// Opens the base; its indexes are null if there is none.  One that was asked for by name
// must be there and fit: errors as BaseIndex::Open has them.  What CURRENT names is left
// alone if it does not fit, and a log line says why.
absl::StatusOr<BaseGeneration> ChooseBase(const BaseChoice& choice);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_
