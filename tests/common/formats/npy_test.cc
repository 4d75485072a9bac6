#include "common/formats/npy.h"

#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string ProblemOf(const std::string& bytes) {
  const absl::Status status = ParseNpy(bytes).status();
  REQUIRE((status.ok() || absl::IsInvalidArgument(status)));
  return std::string(status.message());
}

std::string ProblemOfHeader(const std::string& header, size_t data = 16) {
  return ProblemOf(NpyOf(header, std::string(data, '\0')));
}

TEST_CASE("floats of every width are read") {
  for (const std::string type : {"<f2", "<f4", "<f8"}) {
    const std::string bytes = Npy(type, {2, 3}, {1, -2, 0.5f, 4, 5, 6});
    const auto array = ParseNpy(bytes);
    REQUIRE(array.ok());
    REQUIRE(array->shape == std::vector<int64_t>{2, 3});
    REQUIRE(array->element_count() == 6);
    REQUIRE(NpyValues(*array) == std::vector<float>{1, -2, 0.5f, 4, 5, 6});
    std::vector<float> some(2);
    ReadNpyElements(*array, 3, 2, some.data());
    REQUIRE(some == std::vector<float>{4, 5});
  }
}

TEST_CASE("Fortran order gives the same rows") {
  const std::string bytes =
      NpyOf(NpyHeader("<f4", {2, 3}, /*fortran=*/true), NpyBytes("<f4", {1, 4, 2, 5, 3, 6}));
  const auto array = ParseNpy(bytes);
  REQUIRE(array.ok());
  REQUIRE(NpyValues(*array) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("headers as other programs write them are read") {
  const char* const headers[] = {
      "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,2)}",
      "{'shape': (4,), 'fortran_order': False, 'descr': '<f4'}",
      "  { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 4 , 1 , ) , } ",
  };
  for (const char* header : headers) {
    INFO(header);
    REQUIRE(ProblemOfHeader(header) == "");
  }
  const std::string empty = Npy("<f4", {0, 2048}, {});
  REQUIRE(ParseNpy(empty)->element_count() == 0);
  const std::string lone = Npy("<f4", {}, {7});
  REQUIRE(NpyValues(*ParseNpy(lone)) == std::vector<float>{7});
  const std::string wide = NpyOf(NpyHeader("<f4", {int64_t{1} << 40, 0}, /*fortran=*/true), "");
  REQUIRE(NpyValues(*ParseNpy(wide)).empty());
}

TEST_CASE("what is no array of floats is refused, and why") {
  const struct {
    std::string header;
    const char* said;
  } kCases[] = {
      {NpyHeader("|O", {2}), "pickled"},
      {NpyHeader(">f4", {4}), "<f2, <f4 and <f8"},
      {NpyHeader("<i8", {2}), "type <i8"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}", "records"},
      {NpyHeader("<f4", {5}), "truncated"},
      {NpyHeader("<f4", {3}), "truncated"},
      {NpyHeader("<f4", {int64_t{1} << 40, int64_t{1} << 40}), "truncated"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", "tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 4}", "wants a '('"},
      {NpyHeader("<f4", {4, 1, 1, 1, 1, 1, 1, 1, 1}), "8 dimensions"},
      {NpyHeader("<f4", {2, 2, 1}, /*fortran=*/true), "ascontiguousarray"},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (4,)}", "neither"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", "second time"},
      {"{'other': '<f4'}", "unknown"},
      {"{'descr': '<f4", "does not end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x", "goes on"},
      {"", "wants a '{'"},
  };
  for (const auto& test : kCases) {
    INFO(test.header);
    REQUIRE_THAT(ProblemOfHeader(test.header), Catch::Contains(test.said));
  }
}

TEST_CASE("an array cut anywhere, or of another version, is refused") {
  const std::string bytes = Npy("<f4", {2}, {1, 2});
  for (size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE_FALSE(ProblemOf(bytes.substr(0, length)).empty());
  }
  std::string version = bytes;
  version[6] = 4;
  REQUIRE_THAT(ProblemOf(version), Catch::Contains("version 4"));
  version[6] = 2;  // its header's length then takes four bytes
  REQUIRE_THAT(ProblemOf(version), Catch::Contains("a header of"));
}

}  // namespace
}  // namespace sightline
