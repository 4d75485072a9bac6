// A folder that is filled from an object store, with what is asked of it.
//
// It is laid out as a store's folder is (common/bundle/layout.h), so that whoever reads one reads
// the other.  What lies in it under its name is whole and was compared with its manifest.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_MIRROR_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_MIRROR_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/descriptor.h"
#include "common/base/mutex.h"
#include "common/generations/generation_source.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"
#include "common/object_store/remote_publication.h"

namespace sightline {

struct MirrorOptions {
  std::string folder;
  // Of all files in it together; what nobody uses is removed when it would be more.  0: nine
  // tenths of the file system that it is on.
  int64_t max_bytes = 0;
  FetchOptions fetch;
};

// Thread-safe.
class Mirror : public GenerationSource {
 public:
  // A folder of this process alone; Open it.
  static std::unique_ptr<Mirror> Cache(std::shared_ptr<ObjectStore> store, MirrorOptions options);

  // Beside what others do in the folder, be it a store of its own: nothing is removed to make
  // room.
  static std::unique_ptr<Mirror> OverStore(std::shared_ptr<ObjectStore> store, std::string folder,
                                           const FetchOptions& fetch = {});

  // FailedPrecondition if the folder of a cache holds a store of its own, or mirrors another;
  // Aborted while another process has it.
  absl::Status Open() override;
  // What was asked a moment ago is not asked again.  While the object store does not answer, it is
  // asked for a fifth of the time, for one index: the others are told what came of that.
  absl::Status FetchCurrent(const std::string& index, const CallContext& call) override
      EXCLUDES(current_mutex_);
  // Nor is a manifest asked for in the time in between.
  absl::Status FetchManifest(const std::string& index, const std::string& generation,
                             const CallContext& call) override;
  absl::Status FetchFiles(const Manifest& manifest, const Paths& files, const Paths& in_use,
                          const CallContext& call) override;
  ReadProgress::Files Missing(const Manifest& manifest,
                              const std::vector<std::string>& files) override;
  bool DiscardDamaged(const Manifest& manifest, const std::vector<std::string>& files,
                      const CallContext& call) override;

  // Brings a model, unless it is there.
  absl::Status FetchModel(const std::string& model_id, const CallContext& call);

  // Brings a whole generation, with its models and all that lies beside its shards.
  // AlreadyExists, with the folder left, if it has another one of this name.
  absl::Status FetchGeneration(const std::string& index, const std::string& generation,
                               const CallContext& call);

 private:
  // An object that was fetched in vain.
  struct Damaged {
    absl::Time write_time;
    int times = 0;
  };

  // Of an index: its CURRENT, or why that could not be asked for last; and when it is asked for
  // again.
  struct Known {
    NewestPublication newest;
    absl::Status trouble;
    absl::Time again = absl::InfinitePast();
  };

  absl::Status BringCurrent(const std::string& index, NewestPublication* newest,
                            const CallContext& call) REQUIRES(current_mutex_);

  Mirror(std::shared_ptr<ObjectStore> store, MirrorOptions options, bool is_cache)
      : store_(std::move(store)), options_(std::move(options)), is_cache_(is_cache) {}

  std::string PathOf(absl::string_view key) const;
  // Trouble of the object store, as long as it is left alone for it.
  absl::Status OutageAt(absl::Time now) EXCLUDES(mutex_);
  void NoteOutage(const absl::Status& status, absl::Time until) EXCLUDES(mutex_);
  absl::Status Bring(const Manifest& manifest, const std::string& path, const CallContext& call);
  absl::Status BringBeside(const std::string& index, const std::string& generation,
                           const CallContext& call);
  absl::Status BringModelManifest(absl::string_view model_id, const CallContext& call);
  absl::Status CheckIsWorthFetching(const ExpectedFile& expected, const CallContext& call)
      EXCLUDES(mutex_);
  void NoteDamage(const ExpectedFile& expected, const CallContext& call) EXCLUDES(mutex_);
  bool IsKnownAbsent(const std::string& path, absl::Time now) EXCLUDES(mutex_);
  absl::Status MakeRoom(const Manifest& manifest, const std::vector<std::string>& files,
                        const Paths& in_use);

  const std::shared_ptr<ObjectStore> store_;
  const MirrorOptions options_;
  const bool is_cache_;
  absl::optional<Descriptor> lock_;                                // of a cache that is open
  Mutex current_mutex_;                                            // of the CURRENT files
  std::map<std::string, Known> known_ GUARDED_BY(current_mutex_);  // by index
  Mutex mutex_;
  std::map<std::string, Damaged> damaged_ GUARDED_BY(mutex_);  // by key
  // Manifests that were not there, by path: until when that is believed.
  std::map<std::string, absl::Time> absent_until_ GUARDED_BY(mutex_);
  absl::Status outage_ GUARDED_BY(mutex_);  // believed until outage_until_
  absl::Time outage_until_ GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_MIRROR_H_
