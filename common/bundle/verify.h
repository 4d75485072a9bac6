// Reading a generation once before it is served, to know that it is what was written.
//
// Opening a file believes only its sizes; here every byte is read, once: lengths against the
// manifest first, since they cost nothing, then each section, compared with its checksums
// and with what the others claim of it.  A stamp remembers that it was done, so that a
// restart need not do it again.
#ifndef SIGHTLINE_COMMON_BUNDLE_VERIFY_H_
#define SIGHTLINE_COMMON_BUNDLE_VERIFY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/shard_vectors.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct VerifyOptions {
  // Shards to verify, each once; empty means all.  A server verifies those that it serves.
  std::vector<int> shards;

  // Which files of them; probes and the index's files go with the vectors (IsForSearch).
  bool vectors = true;
  bool features = true;

  // Whether to compare each file's SHA-256 too.  CRCs find accidents; only this finds
  // somebody who replaced a file by another whole one.  Costs a second of CPU a GB or so.  An
  // index's files have it compared in any case, as nothing else of them is known here.
  bool sha256 = false;

  // Folder for stamps, made when missing; empty means none are read or written.
  std::string state_dir;
};

// What was done.
struct VerifySummary {
  int files_read = 0;
  int files_stamped = 0;   // believed, because of a stamp
  int64_t bytes_read = 0;  // in the files that were read
  // Why stamps could not be kept, or OK.  What was read is good all the same; it will be
  // read again at the next start.
  absl::Status stamps;
};

// Verifies the files of `manifest`, as ReadGenerationManifest has given it.  DataLoss: a
// file is missing (FILE_MISSING), has another length (LENGTH_MISMATCH), a checksum that
// differs (CHECKSUM_MISMATCH), or content that contradicts itself (CONTENT_INVALID); the
// message names file and place.  InvalidArgument: a shard that
// there is not.  Unavailable: a file changed while it was read.  DeadlineExceeded or
// Cancelled when `call` ends first; files that were done by then are stamped.
//
// A stamp holds for the path, size, modification time and inode of a file and for the
// hash of the manifest.  `summary` may be null.
absl::Status VerifyGeneration(absl::string_view store,
                              const bundle::v1::GenerationManifest& manifest,
                              const VerifyOptions& options,
                              const CallContext& call = CallContext::Unbounded(),
                              VerifySummary* summary = nullptr);

// The lengths of the files alone, which costs nothing; errors as VerifyGeneration.
absl::Status CheckLengths(absl::string_view store, const bundle::v1::GenerationManifest& manifest,
                          const VerifyOptions& options);

struct LoadShardOptions {
  std::string state_dir;  // as VerifyOptions
  // Whether what checksums cannot vouch for is looked at, unless there is a stamp.
  bool content = true;
  EmbeddingPlace embeddings = EmbeddingPlace::kMemory;
};

// The vectors of one shard, loaded (shard_vectors.h).  Its file is read once: checksums are
// compared while it is copied, whatever stamps say, and the content, if it is wanted, is checked
// where it then lies, and stamped.  The shard's other files that searches take are verified
// likewise.  Errors as VerifyGeneration, and ResourceExhausted if there is no room.
absl::StatusOr<std::unique_ptr<ShardVectors>> LoadShard(
    absl::string_view store, const bundle::v1::GenerationManifest& manifest, int shard,
    const LoadShardOptions& options, const CallContext& call);

// Believes the stamps of these files no longer: they will be read again.
void ForgetStamps(const std::string& state_dir, const std::vector<std::string>& paths);

// That the generation's vectors lie in the space that its encoder writes to, as the bundles
// of `store` say: FailedPrecondition (EMBEDDING_SPACE_MISMATCH), be their dimensions equal
// or not.  Errors as ReadModelBundleManifest; NotFound if the store has no such bundle.
absl::Status CheckEmbeddingSpace(absl::string_view store,
                                 const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_VERIFY_H_
