// How far a command is that reads or writes many files, shown while it works.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_SHOWN_PROGRESS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_SHOWN_PROGRESS_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/read_progress.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// The lengths of a generation's files in a store's folder, and of those of its models, by path; of
// a model that cannot be read nothing.
ReadProgress::Files FilesOfGeneration(const std::string& store,
                                      const bundle::v1::GenerationManifest& manifest);

// Until it ends, what the calling thread does with the files is its ReadProgress, and is drawn on
// standard error where that is a terminal; elsewhere a line is logged now and then.
class ShownProgress {
 public:
  // `phase`: "fetch".
  ShownProgress(absl::string_view phase, ReadProgress::Files files);
  // For tests.
  ShownProgress(absl::string_view phase, ReadProgress::Files files,
                const Progress::Options& options, Clock* clock);
  ~ShownProgress();
  ShownProgress(const ShownProgress&) = delete;
  ShownProgress& operator=(const ShownProgress&) = delete;

 private:
  void Run() EXCLUDES(mutex_);
  void Show();

  const Progress::Options options_;
  Clock* const clock_;
  ReadProgress progress_;
  const ReadProgress::Scope scope_;
  const int64_t all_;               // bytes
  const int64_t unit_;              // bytes
  int64_t skipped_ = 0, done_ = 0;  // units that were shown
  Progress shown_;
  Mutex mutex_;
  CondVar ended_changed_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_SHOWN_PROGRESS_H_
