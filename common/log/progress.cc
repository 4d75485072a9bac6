#include "common/log/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr int kBarWidth = 26;

double RateOf(int64_t worked, absl::Duration elapsed) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  return worked > 0 && seconds > 0 ? static_cast<double>(worked) / seconds : 0;
}

}  // namespace

std::string ProgressLine(absl::string_view phase, absl::string_view unit, int64_t done,
                         int64_t skipped, int64_t total, absl::Duration elapsed) {
  const double share =
      total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 1.0;
  std::string bar(kBarWidth, ' ');
  std::fill_n(bar.begin(), static_cast<int>(share * kBarWidth), '#');
  std::string line = absl::StrFormat("%-8s %d/%d %s %3d %%  [%s]", phase, done, total, unit,
                                     static_cast<int>(share * 100), bar);
  const double rate = RateOf(done - skipped, elapsed);
  if (rate > 0) {
    constexpr double kLongest = 1e9;  // seconds
    const auto left =
        static_cast<int64_t>(std::min(static_cast<double>(total - done) / rate, kLongest));
    absl::StrAppendFormat(&line, "  %.0f/s  %d:%02d left", rate, left / 60, left % 60);
  }
  return line;
}

Progress::Options Progress::OnStandardError() {
  Options options;
  options.terminal = ::isatty(STDERR_FILENO) == 1;
  options.write = [](absl::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return options;
}

void Progress::Begin(absl::string_view phase, absl::string_view unit, int64_t total) {
  MutexLock lock(mutex_);
  phase_ = std::string(phase);
  unit_ = std::string(unit);
  total_ = total;
  detail_.clear();
  done_ = skipped_ = 0;
  start_ = clock_->Now();
  next_show_ = start_ + (options_.terminal ? options_.draw_period : options_.log_period);
}

void Progress::Advance(int64_t count) {
  MutexLock lock(mutex_);
  done_ += count;
  MaybeShow(/*force=*/false);
}

void Progress::Skip(int64_t count) {
  MutexLock lock(mutex_);
  done_ += count;
  skipped_ += count;
  MaybeShow(/*force=*/false);
}

void Progress::Detail(absl::string_view text) {
  MutexLock lock(mutex_);
  detail_ = std::string(text);
}

void Progress::End() {
  MutexLock lock(mutex_);
  MaybeShow(/*force=*/true);
  if (options_.terminal && options_.write) options_.write("\n");
}

void Progress::MaybeShow(bool force) {
  const absl::Time now = clock_->Now();
  if (!force && now < next_show_) return;
  next_show_ = now + (options_.terminal ? options_.draw_period : options_.log_period);
  if (options_.terminal) {
    if (!options_.write) return;
    // Blanks cover the rest of a longer line before.
    const std::string line = ProgressLine(phase_, unit_, done_, skipped_, total_, now - start_);
    options_.write(
        absl::StrFormat("\r%-100s", detail_.empty() ? line : absl::StrCat(line, "  ", detail_)));
    return;
  }
  Log(Severity::kInfo, "progress",
      {{"phase", phase_},
       {"unit", unit_},
       {"done", done_},
       {"total", total_},
       {"per_second", RateOf(done_ - skipped_, now - start_)},
       {"elapsed_seconds", now - start_},
       {"detail", detail_}});
}

}  // namespace sightline
