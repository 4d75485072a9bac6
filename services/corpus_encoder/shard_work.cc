#include "services/corpus_encoder/shard_work.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/shard_files.h"
#include "services/corpus_encoder/merged_rows.h"

namespace sightline {
namespace {

// A container with the section "shard": the message, as protobuf writes it.
absl::Status WriteReceipt(const std::string& path, const bundle::v1::ShardManifest& manifest) {
  const std::string bytes = manifest.SerializeAsString();
  RETURN_IF_ERROR(MakeFolderOf(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("shard", Dtype::kBytes, {static_cast<int64_t>(bytes.size())}));
  RETURN_IF_ERROR(writer->Append(bytes));
  return writer->Finish().status();
}

absl::StatusOr<bundle::v1::ShardManifest> ReadReceipt(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Open(path));
  ASSIGN_OR_RETURN(const Section* section, container->Require("shard", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(const SectionBytes bytes, container->Load(*section, CallContext::Unbounded()));
  bundle::v1::ShardManifest manifest;
  if (!manifest.ParseFromArray(bytes.data(), static_cast<int>(bytes.view().size()))) {
    return absl::DataLossError(absl::StrCat(path, " is no receipt"));
  }
  return manifest;
}

// Whether the file that a receipt speaks of is there; with `compare` also whether it is whole.
bool IsThere(const std::string& directory, const bundle::v1::BundleFile& file, bool compare) {
  const std::string path = JoinPath(directory, file.path());
  const absl::StatusOr<int64_t> size = FileSize(path);
  if (!size.ok() || *size != file.byte_count()) return false;
  if (!compare) return true;
  // Not its checksums alone: it may have been written again, of other rows.
  const absl::StatusOr<std::string> digest = Sha256HexOfFile(path);
  return digest.ok() && *digest == file.sha256();
}

}  // namespace

ShardWork::ShardWork(const ShardWorkshop& workshop) : shop_(workshop) {
  const int count = shop_.images->shard_count;
  for (const ItemIndex index : kItemIndexes) {
    for (int i = 0; i < count; ++i) {
      // Workers begin at other shards, so that they meet late.
      const int number = (i + shop_.share.worker * count / shop_.share.workers) % count;
      const char* const what = index == ItemIndex::kImages ? "images" : "captions";
      shards_.push_back({index, number, absl::StrCat(what, "-", number), absl::nullopt});
    }
  }
}

absl::StatusOr<bool> ShardWork::WriteFree(const CallContext& call) {
  ASSIGN_OR_RETURN(const bool same, shop_.row_work->AreSealed(shop_.rows->digest));
  if (!same) return false;
  RETURN_IF_ERROR(FindWrittenIndexes(call));
  shop_.progress->Begin("write", "shards", static_cast<int64_t>(shards_.size()));
  for (Shard& shard : shards_) {
    RETURN_IF_ERROR(call.Check("writing the generation"));
    if (!shard.done.has_value()) FindReceipt(shard);
    if (shard.done.has_value()) {
      shop_.progress->Skip(1);
      continue;
    }
    bool rows_changed = false;
    RETURN_IF_ERROR(Claim(shard, &rows_changed, call));
    if (rows_changed) return false;
    if (shard.done.has_value()) shop_.progress->Advance(1);
  }
  shop_.progress->End();
  return true;
}

absl::StatusOr<bool> ShardWork::WriteAll(const CallContext& call) {
  ASSIGN_OR_RETURN(const bool same, WriteFree(call));
  if (!same) return false;
  Clock* const clock = call.clock();
  std::vector<int> others;
  for (int worker = 0; worker < shop_.share.workers; ++worker) {
    if (worker != shop_.share.worker) others.push_back(worker);
  }
  absl::Time last_seen = clock->Now();
  std::string tallies;
  while (!all_done()) {
    RETURN_IF_ERROR(call.Check("waiting for other workers"));
    for (Shard& shard : shards_) {
      bool rows_changed = false;
      if (shard.done.has_value()) continue;
      RETURN_IF_ERROR(Claim(shard, &rows_changed, call));
      if (rows_changed) return false;
      if (shard.done.has_value()) last_seen = clock->Now();
    }
    if (all_done()) break;
    std::string now = ReadTallies(*shop_.folder, others);
    if (now != tallies) last_seen = clock->Now();
    tallies = std::move(now);
    if (clock->Now() - last_seen >= shop_.await.stall_timeout) return Stalled();
    PauseForPoll(clock, shop_.await);
  }
  // What is published is of one collection.
  return shop_.row_work->AreSealed(shop_.rows->digest);
}

// An index whose manifest is there has all of its shards, unless it was made of other items: then
// none of them is of use beside what the other index gets.
absl::Status ShardWork::FindWrittenIndexes(const CallContext& call) {
  for (const GenerationSpec* index : {shop_.images, shop_.captions}) {
    const absl::StatusOr<WrittenGeneration> written =
        FindWrittenGeneration(index->store, index->index, index->generation, index->content);
    if (absl::IsNotFound(written.status())) continue;
    RETURN_IF_ERROR(written.status());
    if (!written->IsOf(*index)) {
      RETURN_IF_ERROR(DiscardUnpublished(*index, call));
      continue;
    }
    ASSIGN_OR_RETURN(const bundle::v1::GenerationManifest manifest,
                     ReadGenerationManifest(index->store, index->index, index->generation));
    for (Shard& shard : shards_) {
      if (&spec(shard) == index && shard.number < manifest.shards_size()) {
        shard.done = manifest.shards(shard.number);
      }
    }
  }
  return absl::OkStatus();
}

void ShardWork::FindReceipt(Shard& shard) const {
  const absl::StatusOr<bundle::v1::ShardManifest> receipt = ReadReceipt(ReceiptPath(shard));
  if (!receipt.ok()) return;
  const GenerationSpec& of = spec(shard);
  const std::string directory = GenerationDirectory(of.store, of.index, of.generation);
  // It is enough that one worker compares: the one that publishes.
  const bool compare = shop_.share.writes();
  const std::vector<ShardFile> files = FilesOf(*receipt);
  const bool there = std::all_of(files.begin(), files.end(), [&](const ShardFile& file) {
    return IsThere(directory, *file.description, compare);
  });
  if (there) shard.done = *receipt;
}

// Writes the shard unless somebody else is at it, or has written it meanwhile.
absl::Status ShardWork::Claim(Shard& shard, bool* rows_changed, const CallContext& call) {
  const std::string path = shop_.folder->ClaimPath(shard.name);
  RETURN_IF_ERROR(MakeFolderOf(path));
  const Descriptor claim(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (claim.get() < 0) return FileError("open", path, errno);
  if (::flock(claim.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? absl::OkStatus() : FileError("lock", path, errno);
  }
  FindReceipt(shard);
  if (shard.done.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool same, shop_.row_work->AreSealed(shop_.rows->digest));
  *rows_changed = !same;
  return same ? Write(shard, call) : absl::OkStatus();
}

absl::Status ShardWork::Write(Shard& shard, const CallContext& call) {
  RowSources sources;
  sources.files = shop_.rows->files;
  sources.shard_count = spec(shard).shard_count;
  sources.dimension = spec(shard).embedding.dimension();
  sources.base =
      shard.index == ItemIndex::kImages ? shop_.base->images.get() : shop_.base->captions.get();
  sources.tick = [this] { shop_.tally->Note(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<MergedRows> rows,
                   MergedRows::Open(sources, shard.index, shard.number, call));
  ASSIGN_OR_RETURN(const bundle::v1::ShardManifest written,
                   WriteGenerationShard(spec(shard), shard.number, *rows));
  RETURN_IF_ERROR(WriteReceipt(ReceiptPath(shard), written));
  shard.done = written;
  return absl::OkStatus();
}

bool ShardWork::all_done() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [](const Shard& shard) { return shard.done.has_value(); });
}

absl::Status ShardWork::Stalled() const {
  std::string names;
  for (const Shard& shard : shards_) {
    if (!shard.done.has_value()) absl::StrAppend(&names, names.empty() ? "" : ", ", shard.name);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", absl::FormatDuration(shop_.await.stall_timeout),
      " (stall_timeout) for shards that other workers are writing: ", names,
      ".  End the worker that hangs, and run this one again, which goes on where it stopped"));
}

std::vector<bundle::v1::ShardManifest> ShardWork::manifests(ItemIndex index) const {
  std::vector<bundle::v1::ShardManifest> manifests(static_cast<size_t>(shop_.images->shard_count));
  for (const Shard& shard : shards_) {
    if (shard.index == index) manifests[static_cast<size_t>(shard.number)] = *shard.done;
  }
  return manifests;
}

}  // namespace sightline
