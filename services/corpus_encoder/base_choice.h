// Which base a job has, the same for all of its workers.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/base_generation.h"
#include "services/corpus_encoder/remote_store.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_lock.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

struct BaseChoice {
  JobStore store;
  std::string images_index;
  std::string captions_index;
  // A generation of both indexes; empty: what CURRENT of the images index names; kNoBase.
  std::string base;
  // What it must have been made with; the kind of item is filled in for each index.
  BaseRequirements required;
  // Whether anything of a base is carried over: if not, its checksums do not matter.
  std::function<absl::StatusOr<bool>(const BaseGeneration&)> carries;
  // Where the workers of one job agree, since CURRENT may change between one's look and
  // another's.
  std::string agreement_path;
  WorkShare share;
  WorkLock* lock = nullptr;
  WorkTally* tally = nullptr;
};

// Opens the base and compares its checksums; its indexes are null if there is none.
//
// One that was asked for by name must be there, fit and be whole: errors as BaseIndex::Open
// has them.  What CURRENT names is left alone if not, and a log line says why.  Workers
// agree on what one of them has found good; from then on it is an error that names the
// base if another cannot use it, since each would divide the corpus in its own way.  An
// agreement of an earlier run on what is not there any more, or damaged, is replaced while
// no other worker is at work.
absl::StatusOr<BaseGeneration> ChooseBase(const BaseChoice& choice, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_CHOICE_H_
