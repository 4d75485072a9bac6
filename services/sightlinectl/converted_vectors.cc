#include "services/sightlinectl/converted_vectors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/shard_source.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"

namespace sightline {
namespace {

// The items of a vectors file, as they are.
class StoredItems : public ShardSource {
 public:
  StoredItems(const VectorsFile& file, const ShardVectors& records, const CallContext& call)
      : file_(file), records_(records), reader_(file), row_(file.dimension()), call_(call) {}

  int64_t size() const override { return file_.size(); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override {
    RETURN_IF_ERROR(call_.Check("converting vectors"));
    ASSIGN_OR_RETURN(record_, records_.Record(i));
    return &record_;
  }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override {
    RETURN_IF_ERROR(call_.Check("converting vectors"));
    RETURN_IF_ERROR(reader_.Embedding(i, absl::MakeSpan(row_)));
    return absl::MakeConstSpan(row_);
  }
  absl::StatusOr<const ItemFeatures*> Features(int64_t, int) override {
    return absl::InternalError("features are in a file of their own");
  }
  // Empty, which no writer takes where others have one, if it cannot be read.
  absl::string_view ContentHash(int64_t i) override {
    if (file_.content_hashes() == nullptr) return "";
    return reader_.ContentHash(i).value_or("");
  }

 private:
  const VectorsFile& file_;
  const ShardVectors& records_;
  VectorsReader reader_;
  std::vector<float> row_;
  ItemRecord record_;
  const CallContext& call_;
};

}  // namespace

absl::StatusOr<bundle::v1::BundleFile> ConvertVectors(
    absl::string_view from, const bundle::v1::GenerationManifest& manifest, int shard, Dtype dtype,
    absl::string_view to, const CallContext& call) {
  const bundle::v1::ShardManifest& described = manifest.shards(shard);
  const std::string path = JoinPath(from, described.vectors().path());
  const int dimension = manifest.embedding().dimension();
  ASSIGN_OR_RETURN(const std::unique_ptr<VectorsFile> file,
                   VectorsFile::Open(path, described, dimension));
  ASSIGN_OR_RETURN(const std::unique_ptr<ShardVectors> records,
                   ShardVectors::Open(path, described, dimension));
  StoredItems items(*file, *records, call);
  ASSIGN_OR_RETURN(
      const bundle::v1::ShardManifest written,
      WriteShardFrom(to, shard, manifest.shards_size(), dimension, /*rerankers=*/{}, items, dtype));
  return written.vectors();
}

}  // namespace sightline
