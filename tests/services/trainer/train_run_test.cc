#include "services/trainer/train_run.h"

#include <string>

#include "absl/strings/match.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/training/training_set_writer.h"
#include "services/trainer/prepared_folder.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kVocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfish\n";

class Fixture {
 public:
  Fixture() {
    config.data = dir.File("set");
    config.out = dir.File("run/deeper");
    config.store = dir.File("store");
    REQUIRE(MakeDirectories(config.data).ok());
    REQUIRE(WriteFileAtomically(config.data + "/vocab.txt", kVocabulary).ok());
    TrainingSetContent content;
    content.rows = {{TrainingUse::kTrain, 0, {{{2, 5, 3}, 0, 0}}}};
    content.image_size = 2;
    content.max_token_count = 40;
    content.vocabulary_size = 6;
    content.special_tokens = {0, 1, 2, 3, 4};
    content.languages = {"en"};
    content.vocabulary_sha256 = Sha256Hex(kVocabulary);
    content.items_sha256 = Sha256Hex("");
    REQUIRE(WriteTrainingSet(JoinPath(config.data, kTrainingSetFile), content, [](int64_t) {
              return absl::string_view("rrrrggggbbbb");
            }).ok());
  }

  absl::StatusOr<TrainingInput> Open() {
    return OpenTrainingInput(config, CallContext::Unbounded());
  }

  TempDir dir;
  TrainConfig config;
};

TEST_CASE_METHOD(Fixture, "a job is what the folder and the configuration say") {
  config.device = "cpu";
  config.threads = 3;
  config.report_every = 7;
  config.options.seed = 11;
  const auto input = Open();
  INFO(input.status());
  REQUIRE(input.ok());
  REQUIRE(input->job.set == input->set.get());
  REQUIRE(input->set->row_count() == 1);
  REQUIRE(input->job.vocabulary == kVocabulary);
  REQUIRE(input->job.store == config.store);
  REQUIRE(input->job.device == "cpu");
  REQUIRE(input->job.threads == 3);
  REQUIRE(input->job.report_every == 7);
  REQUIRE(input->job.options.seed == 11);
  REQUIRE(input->job.manifest.family() == "oscar");
  // The demo's says that its weights are random.
  REQUIRE(input->job.manifest.description().empty());
  REQUIRE(FileExists(config.out + "/checkpoints"));
  REQUIRE(input->job.checkpoint_directory == config.out + "/checkpoints");
}

TEST_CASE_METHOD(Fixture, "a description is passed on") {
  config.description = "mine";
  REQUIRE(Open()->job.manifest.description() == "mine");
}

TEST_CASE_METHOD(Fixture, "a folder that is not whole is NOT_FOUND and says what to run") {
  config.data = dir.path();
  const absl::Status status = Open().status();
  REQUIRE(absl::IsNotFound(status));
  REQUIRE(absl::StrContains(status.message(), "trainer prepare --out"));
}

TEST_CASE_METHOD(Fixture, "another vocabulary than the set's is refused") {
  REQUIRE(WriteFileAtomically(config.data + "/vocab.txt", "other\n").ok());
  const absl::Status status = Open().status();
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE(absl::StrContains(status.message(), "vocab.txt"));
}

}  // namespace
}  // namespace sightline
