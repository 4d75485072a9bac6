#include "common/generations/load_stage.h"

#include <utility>

namespace sightline {

LoadStageScope::LoadStageScope(LoadStage stage, ReadProgress::Files files, HeldGeneration* entry,
                               GenerationTable* table, Clock* clock)
    : progress_(std::make_shared<ReadProgress>(std::move(files))),
      counted_(progress_.get()),
      entry_(entry) {
  entry_->reading = Reading{stage, clock->Now(), progress_};
  table->Put(*entry_);
}

LoadStageScope::~LoadStageScope() {
  entry_->reading.reset();
}

}  // namespace sightline
