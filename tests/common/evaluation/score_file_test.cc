#include "common/evaluation/score_file.h"

#include "absl/strings/match.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

MatrixItems TwoByThree() {
  MatrixItems items;
  items.images = {"a", "b"};
  items.families = {0, 1};
  items.family_count = 2;
  items.captions = {{"c0", 0, "en"}, {"c1", 1, "en"}, {"c2", 1, "en"}};
  return items;
}

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

TEST_CASE("a file of numpy is read row by row, in either order of bytes") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  for (const bool fortran : {false, true}) {
    const std::vector<float> bytes = fortran ? std::vector<float>{1, 4, 2, 5, 3, 6} : kValues;
    REQUIRE(
        WriteFileAtomically(path, NpyOf(NpyHeader("<f4", {2, 3}, fortran), NpyBytes("<f4", bytes)))
            .ok());
    const auto file = ScoreFile::Open(path, TwoByThree());
    REQUIRE(file.ok());
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 3; ++column) {
        REQUIRE((*file)->matrix().at(row, column) == kValues[row * 3 + column]);
      }
    }
  }
}

TEST_CASE("another shape, type or length is refused and named") {
  const TempDir dir;
  const std::string path = dir.File("s.npy");
  const auto problem = [&](const std::string& bytes) {
    REQUIRE(WriteFileAtomically(path, bytes).ok());
    const absl::Status status = ScoreFile::Open(path, TwoByThree()).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StartsWith(status.message(), path));
    return std::string(status.message());
  };
  REQUIRE_THAT(
      problem(Npy("<f4", {3, 2}, kValues)),
      Catch::Contains("has the shape (3, 2), not (2, 3)") && Catch::Contains("save its transpose"));
  REQUIRE_THAT(problem(Npy("<f4", {6}, kValues)), Catch::Contains("has the shape (6)"));
  REQUIRE_THAT(problem(Npy("<f4", {1, 2, 3}, kValues)), Catch::Contains("(1, 2, 3)"));
  REQUIRE_THAT(problem(Npy("<f2", {2, 3}, kValues)), Catch::Contains("is not float32"));
  REQUIRE_THAT(problem(Npy("<f8", {2, 3}, kValues)), Catch::Contains("is not float32"));
  const std::string whole = Npy("<f4", {2, 3}, kValues);
  for (size_t length = 0; length < whole.size(); ++length) problem(whole.substr(0, length));
  // A header that is not padded leaves numbers at odd places.
  problem("\x93NUMPY" + std::string("\x01\x00", 2) + LittleEndian(61, 2) +
          NpyHeader("<f4", {2, 3}) + std::string(61 - NpyHeader("<f4", {2, 3}).size() - 1, ' ') +
          "\n" + NpyBytes("<f4", kValues));
  REQUIRE(absl::IsNotFound(ScoreFile::Open(dir.File("none"), TwoByThree()).status()));
}

}  // namespace
}  // namespace sightline
