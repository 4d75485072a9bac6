// Reads that fail as the system lets them fail: this library puts a pread() of its own in the
// place of libc's, so that every reader of the program meets it, and none knows.
//
//   const FailingReads failing({path, EIO});          // every read of the file
//   const FailingReads failing({path, ESTALE, 3});    // the first three go well
//   const FailingReads failing({path, kShortRead});   // as if the file ended there
//   const FailingReads hanging({path, kHanging, 0, [&] { release.Wait(); }});
#ifndef SIGHTLINE_TESTS_SUPPORT_FAILING_READS_H_
#define SIGHTLINE_TESTS_SUPPORT_FAILING_READS_H_

#include <climits>
#include <functional>
#include <string>

namespace sightline {

inline constexpr int kShortRead = 0;     // no bytes, and no error
inline constexpr int kFlippedBit = -1;   // the first byte is read wrongly
inline constexpr int kFlippedOnce = -2;  // likewise, once; read again it is right
inline constexpr int kHanging = -3;      // right, once `hang` has returned

struct ReadFault {
  std::string path;       // reads of files whose path ends like this
  int error = 0;          // an errno, or one of the above
  int healthy_reads = 0;  // that go well before
  std::function<void()> hang;
};

// While it lives, reads fail as `fault` says.  One at a time.  Thread-safe.
class FailingReads {
 public:
  explicit FailingReads(const ReadFault& fault);
  ~FailingReads();
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;

  // Reads of such files since it began, those that went well included.
  int reads() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_FAILING_READS_H_
