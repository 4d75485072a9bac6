// Shows how far a server is with what it reads of a generation.
#ifndef SIGHTLINE_COMMON_GENERATIONS_LOAD_STAGE_H_
#define SIGHTLINE_COMMON_GENERATIONS_LOAD_STAGE_H_

#include <memory>

#include "common/api/server_status.h"
#include "common/base/clock.h"
#include "common/base/read_progress.h"
#include "common/generations/generation_table.h"

namespace sightline {

// While it lives, `entry` is in a stage, and what the calling thread reads of `files` is counted
// (ReadProgress; who reads them on other threads takes that of this one along).  The table shows
// both from its beginning until the entry is put there again.  For one thread.
class LoadStageScope {
 public:
  // `entry` and `table` outlive it.
  LoadStageScope(LoadStage stage, ReadProgress::Files files, HeldGeneration* entry,
                 GenerationTable* table, Clock* clock);
  ~LoadStageScope();
  LoadStageScope(const LoadStageScope&) = delete;
  LoadStageScope& operator=(const LoadStageScope&) = delete;

 private:
  const std::shared_ptr<ReadProgress> progress_;
  const ReadProgress::Scope counted_;
  HeldGeneration* const entry_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_LOAD_STAGE_H_
