// Which generation of an index an object store asks for: publication.h for stores that cannot
// lock or rename.
//
// Each publication, a rollback too, is an object of its own that nobody ever overwrites:
// CURRENT/<sequence>, made on the condition that it is not there.  The highest is the present
// one, and each tells the history that a folder's CURRENT tells.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PUBLICATION_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PUBLICATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/bundle/publication.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// All of them: InvalidArgument if a name is none (layout.h); errors as those of ObjectStore.

// The newest publication; its sequence is 0 if there was none.
struct NewestPublication {
  int64_t sequence = 0;
  absl::Time write_time;  // by the store's clock, to the second
};

// `known` is a sequence that was the newest before, or 0: it spares the list of those before it,
// and is not believed to be there still.
absl::StatusOr<NewestPublication> FindNewest(ObjectStore* store, absl::string_view index,
                                             int64_t known, const CallContext& call);

// What was published with this sequence.  NotFound; DataLoss if it is malformed.
absl::StatusOr<bundle::v1::CurrentGeneration> ReadPublication(ObjectStore* store,
                                                              absl::string_view index,
                                                              int64_t sequence,
                                                              const CallContext& call);

// The newest.  NotFound if nothing was ever published.
absl::StatusOr<bundle::v1::CurrentGeneration> ReadRemoteCurrent(ObjectStore* store,
                                                                absl::string_view index,
                                                                const CallContext& call);

// NotFound (MANIFEST_MISSING), DataLoss (MANIFEST_INVALID), as ReadGenerationManifest.
absl::StatusOr<bundle::v1::GenerationManifest> ReadRemoteManifest(ObjectStore* store,
                                                                  absl::string_view index,
                                                                  absl::string_view generation,
                                                                  const CallContext& call);

// NotFound, with what to do; of a generation with the reason MANIFEST_MISSING.
absl::Status NoSuchGeneration(const ObjectStore& store, absl::string_view index,
                              absl::string_view generation);
absl::Status NoSuchModel(const ObjectStore& store, absl::string_view model_id);

// The manifest of a model.  As NoSuchModel; DataLoss if it is not the one that the id names.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadRemoteModel(ObjectStore* store,
                                                                absl::string_view model_id,
                                                                const CallContext& call);

// All that the generation's manifest, and those of its models, list: what each object has to be.
// Errors as ReadRemoteModel.
absl::StatusOr<std::vector<ExpectedFile>> RemoteFilesOf(
    ObjectStore* store, const bundle::v1::GenerationManifest& manifest, const CallContext& call);

// Makes `generation` the desired one.  FailedPrecondition unless it has a readable manifest
// whose files, and those of its models, are all there in their full length.  A prune that has
// decided to delete it, and has not begun, lets it be.  Aborted if somebody else published at the
// same moment, which leaves theirs.  Otherwise as PublishGeneration.
absl::StatusOr<bundle::v1::CurrentGeneration> PublishRemote(ObjectStore* store,
                                                            absl::string_view index,
                                                            absl::string_view generation,
                                                            absl::Time now,
                                                            const CallContext& call);

// As RollBackGeneration.
absl::StatusOr<Rollback> RollBackRemote(ObjectStore* store, absl::string_view index, absl::Time now,
                                        const CallContext& call, absl::string_view from = "");

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_REMOTE_PUBLICATION_H_
