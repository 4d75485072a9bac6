#include "common/evaluation/score_file_writer.h"

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/evaluation/score_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

MatrixItems ThreeByTwo() {
  MatrixItems items;
  items.images = {"a", "b", "c"};
  items.families = {0, 1, 2};
  items.family_count = 3;
  items.captions = {{"c0", 0, "en"}, {"c1", 1, "en"}};
  return items;
}

const std::vector<float> kFirst = {1, 2, 3, 4};
const std::vector<float> kLast = {5, 6};

std::unique_ptr<ScoreFileWriter> Begin(const std::string& path, const std::string& job = "job") {
  auto writer = ScoreFileWriter::Open(path, 3, 2, job);
  INFO(writer.status().ToString());
  REQUIRE(writer.ok());
  return *std::move(writer);
}

std::string Refusal(const std::string& path, const std::string& job = "job") {
  const absl::Status status = ScoreFileWriter::Open(path, 3, 2, job).status();
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE(absl::StrContains(status.message(), path + ".part.json"));
  return std::string(status.message());
}

TEST_CASE("rows that are written are the matrix that is read, once it is whole") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  const auto writer = Begin(path);
  REQUIRE(writer->Append(kFirst, {1.0, 2.0, 4}).ok());
  REQUIRE(writer->Append(kLast, {0.5, 0.25, 2}).ok());
  REQUIRE(!FileExists(path));
  REQUIRE(writer->Commit().ok());
  REQUIRE(writer->costs().encoding_seconds == 1.5);
  REQUIRE(writer->costs().scoring_seconds == 2.25);
  REQUIRE(writer->costs().pairs == 6);
  const auto file = ScoreFile::Open(path, ThreeByTwo());
  INFO(file.status().ToString());
  REQUIRE(file.ok());
  for (int i = 0; i < 6; ++i) REQUIRE((*file)->matrix().at(i / 2, i % 2) == i + 1);
  REQUIRE(*ListFilesBelow(dir.path()) == std::vector<std::string>{"s.npy"});
}

TEST_CASE("a run that was ended is taken up where it was, with what it took") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  REQUIRE(Begin(path)->Append(kFirst, {1.0, 2.0, 4}).ok());
  // What a crash has left of a row that was never counted.
  const std::string part = *ReadFile(path + ".part");
  REQUIRE(WriteFileAtomically(path + ".part", part + "torn").ok());
  const auto writer = Begin(path);
  REQUIRE(writer->rows_done() == 2);
  REQUIRE(writer->costs().pairs == 4);
  REQUIRE(writer->Append(kLast, {0, 0, 2}).ok());
  REQUIRE(writer->costs().pairs == 6);
  REQUIRE(writer->Commit().ok());
  const auto file = ScoreFile::Open(path, ThreeByTwo());
  INFO(file.status().ToString());
  REQUIRE(file.ok());
  REQUIRE((*file)->matrix().at(1, 1) == 4);
  REQUIRE((*file)->matrix().at(2, 0) == 5);
}

TEST_CASE("a matrix that is there stays until another is whole, and is replaced then") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  REQUIRE(WriteFileAtomically(path, "old").ok());
  const auto writer = Begin(path);
  REQUIRE(writer->Append(kFirst, {}).ok());
  REQUIRE(*ReadFile(path) == "old");
  REQUIRE(writer->Append(kLast, {}).ok());
  REQUIRE(writer->Commit().ok());
  REQUIRE(ScoreFile::Open(path, ThreeByTwo()).ok());
}

TEST_CASE("what is not this job's, or is damaged, is not gone on with") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  REQUIRE(Begin(path)->Append(kFirst, {}).ok());
  REQUIRE_THAT(Refusal(path, "another"), Catch::Contains("(job, not another)"));
  const std::string state = *ReadFile(path + ".part.json");
  for (const std::string damaged :
       {"", "{", "[]", "{}", R"({"job":"job","rows":"2"})",
        R"({"job":"job","rows":2.5,"crc32c":0})", R"({"job":3,"rows":2,"crc32c":0})"}) {
    REQUIRE(WriteFileAtomically(path + ".part.json", damaged).ok());
    REQUIRE_THAT(Refusal(path), Catch::Contains("is damaged"));
  }
  REQUIRE(WriteFileAtomically(path + ".part.json", R"({"job":"job","rows":2})").ok());
  REQUIRE_THAT(Refusal(path), Catch::Contains("has no checksum"));
  for (const std::string rows : {"-1", "3", "4", "9223372036854775807"}) {
    REQUIRE(
        WriteFileAtomically(path + ".part.json", R"({"job":"job","crc32c":0,"rows":)" + rows + "}")
            .ok());
    REQUIRE_THAT(Refusal(path), Catch::Contains("is shorter than it was"));
  }
  REQUIRE(WriteFileAtomically(path + ".part.json", state).ok());
  const std::string part = *ReadFile(path + ".part");
  std::string shaped = part;
  shaped[shaped.find("(3,") + 1] = '7';
  REQUIRE(WriteFileAtomically(path + ".part", shaped).ok());
  REQUIRE_THAT(Refusal(path), Catch::Contains("is of another shape"));
  // One bit of a row that was done.
  std::string flipped = part;
  flipped[flipped.size() - 5] ^= 1;
  REQUIRE(WriteFileAtomically(path + ".part", flipped).ok());
  REQUIRE_THAT(Refusal(path), Catch::Contains("is damaged"));
  REQUIRE(WriteFileAtomically(path + ".part", part).ok());
  REQUIRE(Begin(path)->rows_done() == 2);
}

TEST_CASE("without a state, or without its rows, a run begins anew") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  for (const std::string lost : {".part", ".part.json"}) {
    REQUIRE(Begin(path)->Append(kFirst, {}).ok());
    REQUIRE(std::remove((path + lost).c_str()) == 0);
    REQUIRE(Begin(path)->rows_done() == 0);
  }
}

TEST_CASE("a matrix that no disk holds is refused before one is begun") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  const auto huge = ScoreFileWriter::Open(path, int64_t{1} << 40, int64_t{1} << 20, "job");
  REQUIRE(absl::IsInvalidArgument(huge.status()));
  REQUIRE(ListFilesBelow(dir.path())->empty());
}

}  // namespace
}  // namespace sightline
