// What of a generation's indexes is built: records beside the build, so that what is done is not
// done again by a run that comes after one that was killed.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_WORK_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_WORK_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Of one shard.  Thread-safe as its files are: nobody else builds the same shard.
class IndexWork {
 public:
  // Of shard `shard` of `manifest`, below `folder`, for what its index_spec says, but for the
  // recall of searches that ask for none, which is no matter of what is built.
  IndexWork(absl::string_view folder, const bundle::v1::GenerationManifest& manifest, int shard);

  // Takes the index_files that were recorded to `shard`, if those below `directory` have their
  // lengths and digests, and the efforts, if they were measured with the probes that `shard` has;
  // whether there were any files.  What was recorded of another spec or other rows does not count.
  bool Find(absl::string_view directory, bundle::v1::ShardManifest* shard) const;

  // Whether files were recorded that Find would take if they are whole, which is not looked at.
  bool IsRecorded() const;

  // Records those of `shard`, whose files are written.
  absl::Status Keep(const bundle::v1::ShardManifest& shard) const;

  // Where the kind keeps what it has done of this shard, while it builds.
  const std::string& stages() const { return stages_; }

 private:
  // Null if there is none of the same spec and rows.
  nlohmann::json Record() const;

  std::string path_;
  std::string stages_;
  std::string key_;  // of all that the files depend on
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_WORK_H_
