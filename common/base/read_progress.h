// How much of a set of files has been read, for whoever asks while they are read.  Like a ReadPace
// it belongs to a thread: whatever the thread reads by RandomAccessFile, or hashes, is counted.
//
//   ReadProgress progress({{"/store/a", 4096}});
//   const ReadProgress::Scope scope(&progress);
//   Load();                 // however deep below the file is read
//   progress.bytes().done;  // meanwhile, on another thread
#ifndef SIGHTLINE_COMMON_BASE_READ_PROGRESS_H_
#define SIGHTLINE_COMMON_BASE_READ_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/thread_scope.h"

namespace sightline {

// Thread-safe.
class ReadProgress {
 public:
  struct Bytes {
    int64_t done = 0;  // never becomes less
    int64_t all = 0;   // never becomes more, nor less than `done`
  };

  // Lengths in bytes, by path.
  using Files = std::map<std::string, int64_t, std::less<>>;
  explicit ReadProgress(Files files);
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

  // `bytes` more of a file were read.  Of one that is read again no more is counted than its
  // length; nothing of a file that is not in the set.
  void Add(absl::string_view path, int64_t bytes);

  // No more than `most` of what is left of the file has to be read; 0: it is done.
  void Expect(absl::string_view path, int64_t most);

  Bytes bytes() const;

  // Makes a progress that of the calling thread.
  using Scope = ThreadScope<ReadProgress>;

  // The same of the calling thread's, if it has one.
  static void AddOnThread(absl::string_view path, int64_t bytes);
  static void ExpectOnThread(absl::string_view path, int64_t most);

 private:
  mutable Mutex mutex_;
  Files left_ GUARDED_BY(mutex_);
  Bytes bytes_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_READ_PROGRESS_H_
