// The job on a disk that has no more room: a limit on the length of files stands for it.
#include <sys/resource.h>

#include <csignal>

#include "common/base/files.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

absl::Status Run(const TempDir& store, const FakeCorpus& corpus) {
  TestDecoders decoders;
  return RunTestJob(TestJobOptions(store.path()), corpus, decoders.pool()).status();
}

// While it lives, no file grows beyond `bytes`.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    struct rlimit limit = before_;
    limit.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~ShortFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*const handler_)(int);
  struct rlimit before_;
};

TEST_CASE("when the disk is full nothing is half published, and with room it goes on") {
  TempDir whole, store;
  FakeCorpus corpus;
  corpus.AddMany(60);
  REQUIRE(Run(whole, corpus).ok());
  // None takes all of scans, units, rows and shards; each takes more of them.
  for (const rlim_t bytes : {rlim_t{4'000}, rlim_t{14'000}, rlim_t{18'000}, rlim_t{30'000}}) {
    CAPTURE(bytes);
    {
      const ShortFiles full(bytes);
      REQUIRE(absl::IsResourceExhausted(Run(store, corpus)));
    }
    REQUIRE(!FileExists(store.File("indexes/images/CURRENT")));
    REQUIRE(!FileExists(store.File("indexes/captions/CURRENT")));
  }
  REQUIRE(Run(store, corpus).ok());
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
}

}  // namespace
}  // namespace sightline
