#include "services/sightlinectl/shown_progress.h"

#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// A terminal that can be waited for.
class Terminal {
 public:
  Progress::Options options() {
    Progress::Options options;
    options.terminal = true;
    options.write = [this](absl::string_view text) {
      MutexLock lock(mutex_);
      text_.append(text.data(), text.size());
      changed_.NotifyAll();
    };
    return options;
  }
  void Await(absl::string_view part) {
    MutexLock lock(mutex_);
    while (!absl::StrContains(text_, part)) changed_.Wait(mutex_);
  }
  std::string text() {
    MutexLock lock(mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::string text_ GUARDED_BY(mutex_);
};

TEST_CASE("what the thread does with the files is shown while it does it") {
  Terminal terminal;
  FakeClock clock;
  {
    const ShownProgress shown("fetch", {{"a", 30'000'000}, {"b", 20'000'000}}, terminal.options(),
                              &clock);
    ReadProgress::AddOnThread("a", 10'000'000);
    ReadProgress::AddOnThread("other", 10'000'000);
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(1));
    terminal.Await("fetch    10/50 MB");
    ReadProgress::ExpectOnThread("b", 0);  // it was there
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(1));
    terminal.Await("fetch    30/50 MB");
    ReadProgress::AddOnThread("a", 20'000'000);
  }
  CHECK(absl::StrContains(terminal.text(), "fetch    50/50 MB 100 %"));
  CHECK(absl::EndsWith(terminal.text(), "\n"));
  CHECK(ReadProgress::Scope::current() == nullptr);
}

TEST_CASE("little is shown in kilobytes, and nothing to do not at all") {
  Terminal terminal;
  FakeClock clock;
  { const ShownProgress shown("fetch", {}, terminal.options(), &clock); }
  CHECK(terminal.text().find("kB") == std::string::npos);
  {
    const ShownProgress shown("fetch", {{"a", 5'000}}, terminal.options(), &clock);
    ReadProgress::AddOnThread("a", 5'000);
  }
  CHECK(absl::StrContains(terminal.text(), "5/5 kB"));
}

TEST_CASE("a generation's files are those of its shards and models") {
  TempDir store;
  const auto manifest = MakeGeneration(store.path(), "g1");
  const ReadProgress::Files files = FilesOfGeneration(store.path(), manifest);
  CHECK(files.size() == 2 * 2 + 2 * 2);
  for (const auto& [path, length] : files) CHECK(*FileSize(path) == length);
}

}  // namespace
}  // namespace sightline
