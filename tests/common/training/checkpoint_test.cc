#include "common/training/checkpoint.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TrainingCheckpoint Example(float number) {
  TrainingCheckpoint checkpoint;
  checkpoint.facts["job"] = "a=1\nb=\"two\"\n";
  checkpoint.facts["step"] = "7";
  checkpoint.tensors["weights/x"] = at::arange(6, at::kFloat).view({2, 3}) + number;
  checkpoint.tensors["scalar"] = at::full({}, number);
  checkpoint.tensors["mined"] = at::arange(4, at::kLong).view({2, 2});
  return checkpoint;
}

struct Fixture {
  TempDir dir;
  std::string folder = dir.File("new/checkpoints");
  std::vector<std::string> damaged;

  std::string Write(int64_t step) {
    const auto written = WriteCheckpoint(folder, step, Example(static_cast<float>(step)));
    INFO(written.status());
    REQUIRE(written.ok());
    REQUIRE(*FileSize(written->path) == written->byte_count);
    return written->path;
  }
  float NewestNumber() {
    damaged.clear();
    const auto read = ReadNewestCheckpoint(folder, &damaged);
    REQUIRE(read.ok());
    return read->tensors.at("scalar").item<float>();
  }
};

TEST_CASE_METHOD(Fixture, "what was written is read") {
  Write(7);
  const auto read = ReadNewestCheckpoint(folder, &damaged);
  REQUIRE(read.ok());
  const TrainingCheckpoint expected = Example(7);
  REQUIRE(read->facts == expected.facts);
  REQUIRE(read->tensors.size() == 3);
  for (const auto& [name, tensor] : expected.tensors) {
    REQUIRE(read->tensors.at(name).scalar_type() == tensor.scalar_type());
    REQUIRE(at::equal(read->tensors.at(name), tensor));
  }
  REQUIRE(damaged.empty());
}

TEST_CASE_METHOD(Fixture, "the two newest are kept, by number") {
  for (const int64_t step : {9, 10, 100}) Write(step);
  REQUIRE(*ListDirectory(folder) == std::vector<std::string>{"checkpoint-000000010.safetensors",
                                                             "checkpoint-000000100.safetensors"});
  REQUIRE(NewestNumber() == 100);
}

TEST_CASE_METHOD(Fixture, "no folder and an empty folder hold no checkpoint") {
  REQUIRE(absl::IsNotFound(ReadNewestCheckpoint(folder, &damaged).status()));
  REQUIRE(MakeDirectories(folder).ok());
  REQUIRE(absl::IsNotFound(ReadNewestCheckpoint(folder, &damaged).status()));
}

TEST_CASE_METHOD(Fixture, "wherever a bit flips or the end is missing, the one before is taken") {
  Write(1);
  const std::string newest = Write(2);
  const std::string sound = *ReadFile(newest);
  for (size_t at = 0; at < sound.size(); at += 3) {
    std::string bytes = sound;
    bytes[at] ^= 1 << (at % 8);
    REQUIRE(WriteFileAtomically(newest, bytes).ok());
    INFO("byte " << at);
    REQUIRE(NewestNumber() == 1);
    REQUIRE(damaged.size() == 1);
    REQUIRE(absl::StrContains(damaged[0], newest));
  }
  for (size_t length = 0; length < sound.size(); length += 7) {
    REQUIRE(WriteFileAtomically(newest, sound.substr(0, length)).ok());
    REQUIRE(NewestNumber() == 1);
  }
  REQUIRE(WriteFileAtomically(newest, sound).ok());
  REQUIRE(NewestNumber() == 2);
}

TEST_CASE_METHOD(Fixture, "a damaged checkpoint is put aside, and what a run writes then stays") {
  std::vector<std::string> bent;
  for (const int64_t step : {800, 900}) {
    bent.push_back(Write(step));
    std::string bytes = *ReadFile(bent.back());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    REQUIRE(WriteFileAtomically(bent.back(), bytes).ok());
  }
  REQUIRE(absl::IsNotFound(ReadNewestCheckpoint(folder, &damaged).status()));
  REQUIRE(damaged.size() == 2);
  REQUIRE(absl::StrContains(damaged[0], bent[1] + ".damaged"));
  for (const std::string& path : bent) {
    REQUIRE_FALSE(FileExists(path));
    REQUIRE(FileExists(path + ".damaged"));
  }
  Write(500);
  REQUIRE(NewestNumber() == 500);
  REQUIRE(damaged.empty());
}

TEST_CASE_METHOD(Fixture, "what was just written is not removed, whatever has higher numbers") {
  for (const int64_t step : {800, 900, 500}) REQUIRE(FileExists(Write(step)));
}

TEST_CASE_METHOD(Fixture, "a checkpoint that cannot be read is an error, and stays as it is") {
  Write(1);
  const std::string newest = Write(2);
  // Who is root reads what has no rights, so it is a folder and a link to nowhere.
  std::filesystem::rename(newest, newest + ".away");
  REQUIRE(MakeDirectories(newest).ok());
  const absl::Status folder_there = ReadNewestCheckpoint(folder, &damaged).status();
  REQUIRE(absl::IsFailedPrecondition(folder_there));
  REQUIRE(absl::StrContains(folder_there.message(), newest));
  std::filesystem::remove(newest);
  std::filesystem::create_symlink(newest + ".nowhere", newest);
  const absl::Status gone = ReadNewestCheckpoint(folder, &damaged).status();
  REQUIRE(absl::IsAborted(gone));
  REQUIRE(absl::StrContains(gone.message(), newest));
  REQUIRE(damaged.empty());

  std::filesystem::remove(newest);
  std::filesystem::rename(newest + ".away", newest);
  REQUIRE(NewestNumber() == 2);
}

TEST_CASE_METHOD(Fixture, "remains of a write that was cut off are removed") {
  Write(1);
  const std::string remains = JoinPath(folder, "checkpoint-000000002.safetensors.77.0.tmp");
  REQUIRE(WriteFileAtomically(remains, "half").ok());
  REQUIRE(NewestNumber() == 1);
  REQUIRE_FALSE(FileExists(remains));
}

TEST_CASE("tensors are copied all or none") {
  std::map<std::string, at::Tensor> targets = {{"a", at::zeros({2})}, {"b", at::zeros({3})}};
  const std::map<std::string, at::Tensor> unfit = {{"a", at::ones({2})}, {"b", at::ones({4})}};
  const absl::Status status = CopyTensors(unfit, targets);
  REQUIRE(status.code() == absl::StatusCode::kDataLoss);
  REQUIRE(absl::StrContains(status.message(), "tensor b"));
  REQUIRE(targets["a"].sum().item<float>() == 0);
  REQUIRE(CopyTensors({{"a", at::ones({2})}, {"b", at::ones({3})}}, targets).ok());
  REQUIRE(targets["b"].sum().item<float>() == 3);
}

TEST_CASE("differences name each line that is not shared") {
  REQUIRE(LineDifferences("a=1\nb=x=y\n", "a=1\nb=x=y\n").empty());
  REQUIRE(LineDifferences("a=1\nb=2\nc=3\n", "a=1\nb=5\nd=4\n") ==
          "b: 2 then, 5 now; c: 3 then, nothing now; d: nothing then, 4 now");
}

}  // namespace
}  // namespace sightline
