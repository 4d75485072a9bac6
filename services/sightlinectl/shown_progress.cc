#include "services/sightlinectl/shown_progress.h"

#include <utility>

#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_files.h"

namespace sightline {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr int64_t kKilobyte = 1000, kMegabyte = 1000 * kKilobyte;

}  // namespace

ReadProgress::Files FilesOfGeneration(const std::string& store,
                                      const bundle::v1::GenerationManifest& manifest) {
  ReadProgress::Files files;
  const std::string directory = GenerationDirectory(store, manifest.index(), manifest.generation());
  for (const auto& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) {
      files[JoinPath(directory, file.description->path())] = file.description->byte_count();
    }
  }
  for (const std::string& model : ModelsOf(manifest)) {
    const std::string bundle = ModelDirectory(store, model);
    const auto described = ReadModelBundleManifest(bundle);
    if (!described.ok()) continue;
    for (const auto& file : described->files()) {
      files[JoinPath(bundle, file.path())] = file.byte_count();
    }
  }
  return files;
}

ShownProgress::ShownProgress(absl::string_view phase, ReadProgress::Files files)
    : ShownProgress(phase, std::move(files), Progress::OnStandardError(), Clock::Real()) {}

ShownProgress::ShownProgress(absl::string_view phase, ReadProgress::Files files,
                             const Progress::Options& options, Clock* clock)
    : options_(options),
      clock_(clock),
      progress_(std::move(files)),
      scope_(&progress_),
      all_(progress_.bytes().all),
      unit_(all_ < 10 * kMegabyte ? kKilobyte : kMegabyte),
      shown_(options, clock) {
  shown_.Begin(phase, unit_ == kKilobyte ? "kB" : "MB", all_ / unit_);
  thread_ = std::thread([this] { Run(); });
}

ShownProgress::~ShownProgress() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
    ended_changed_.NotifyAll();
  }
  thread_.join();
  Show();
  // Of what was over in a moment a log says nothing.
  if (options_.terminal && all_ > 0) shown_.End();
}

void ShownProgress::Run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (!ended_) clock_->WaitUntil(ended_changed_, mutex_, clock_->Now() + kLook);
      if (ended_) return;
    }
    Show();
  }
}

void ShownProgress::Show() {
  const ReadProgress::Bytes bytes = progress_.bytes();
  const int64_t skipped = (all_ - bytes.all) / unit_;
  const int64_t done = bytes.done / unit_;
  // Each may draw, and the next then has to wait.
  if (skipped > skipped_) shown_.Skip(skipped - std::exchange(skipped_, skipped));
  shown_.Advance(done - std::exchange(done_, done));
}

}  // namespace sightline
