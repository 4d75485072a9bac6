// Sorts more records than the memory holds.
#ifndef SIGHTLINE_COMMON_BASE_RECORD_SORTER_H_
#define SIGHTLINE_COMMON_BASE_RECORD_SORTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/spool.h"

namespace sightline {

// Records are a key and a value.  They are gathered up to `memory_bytes`, sorted and put
// aside as a run; runs are merged a hundred at a time, so that neither memory nor open files
// grow with their number.  Few records never touch the disk.  Not thread-safe.
class RecordSorter {
 public:
  using Visit = std::function<absl::Status(absl::string_view key, absl::string_view value)>;

  // Runs lie in `directory`, which must be there.
  explicit RecordSorter(absl::string_view directory, int64_t memory_bytes = int64_t{16} << 20)
      : directory_(directory), memory_bytes_(memory_bytes) {}

  absl::Status Add(absl::string_view key, absl::string_view value);
  int64_t size() const { return size_; }

  // Shows every record to `visit`, in the bytewise order of keys, equal ones as they came.
  // Ends with the first error, and returns it.  Again: the same once more.  Nothing may be
  // added after it.
  absl::Status VisitAll(const Visit& visit);

 private:
  // A sorted stretch of a spool; key and value as one record.
  struct Run {
    std::shared_ptr<Spool> spool;
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct Entry {
    size_t begin = 0;  // in memory_
    uint32_t key_size = 0;
    uint32_t value_size = 0;
  };

  absl::string_view Key(const Entry& entry) const;
  absl::string_view Value(const Entry& entry) const;
  void SortMemory();
  absl::Status PutAside();
  absl::Status MergeFullLevels();
  absl::Status Merge(const std::vector<Run>& runs, const Visit& visit) const;

  const std::string directory_;
  const int64_t memory_bytes_;
  int64_t size_ = 0;
  std::string memory_;
  std::vector<Entry> entries_;
  bool sorted_ = false;  // entries_ are
  // Runs of level k + 1 are merged of a hundred of level k, and are older than those that are
  // on level k now.
  std::vector<std::vector<Run>> levels_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_RECORD_SORTER_H_
