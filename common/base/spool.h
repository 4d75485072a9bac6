// Records on disk that nobody else reads: what does not fit the memory, put aside.
//
// The file has no name, so that it goes with the object, and with the process however that
// ends.  Records are added first and then read, from the first to the last, any number of
// times.
#ifndef SIGHTLINE_COMMON_BASE_SPOOL_H_
#define SIGHTLINE_COMMON_BASE_SPOOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"

namespace sightline {

// Holds one buffer of 64 KiB while records are added.  Adding is for one thread; a spool
// that is complete may be read by many.
class Spool {
 public:
  // In `directory`, which must be there; errors as files.h has them.
  static absl::StatusOr<std::unique_ptr<Spool>> Create(absl::string_view directory);

  // InvalidArgument for a record of 2^32 bytes or more.
  absl::Status Add(absl::string_view record);
  // Ends the adding; before it nothing may be read.  Again: does nothing.
  absl::Status Finish();

  int64_t size() const { return size_; }  // records
  int64_t byte_count() const { return written_ + static_cast<int64_t>(buffer_.size()); }

  // Reads the records that lie in bytes [begin, end) of a finished spool, which must outlive
  // it: all of them, or those added between two looks at byte_count().  Holds a buffer of
  // 64 KiB, or of the longest record.
  class Reader {
   public:
    explicit Reader(const Spool& spool) : Reader(spool, 0, spool.byte_count()) {}
    Reader(const Spool& spool, int64_t begin, int64_t end)
        : spool_(&spool), next_(begin), end_(end) {}

    // The next record, which lives until the next call; false after the last.
    absl::StatusOr<bool> Next(absl::string_view* record);

   private:
    absl::Status Fill(size_t wanted);

    const Spool* spool_;
    int64_t next_;  // byte that the buffer's end is followed by
    int64_t end_;
    std::string buffer_;
    size_t taken_ = 0;  // of the buffer
  };

 private:
  Spool(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;  // that it had, for messages
  std::string buffer_;
  int64_t written_ = 0;
  int64_t size_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_SPOOL_H_
