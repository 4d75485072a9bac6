#include "common/formats/safetensors.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/bundle/container_surgery.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Shape = std::vector<int64_t>;

std::string File(const std::string& header, const std::string& data) {
  std::string bytes;
  PutNumber(static_cast<uint64_t>(header.size()), &bytes);
  return bytes + header + data;
}

absl::Status StatusOf(const std::string& bytes) {
  const ExactCopy copy(bytes);
  return Safetensors::FromBytes(copy.view()).status();
}

std::string SmallFile() {
  static const float floats[] = {1, 2, 3, 4, 5, 6};
  return SerializeSafetensors(
      {{"b.weight",
        {TensorDtype::kF32, {2, 3}, {reinterpret_cast<const char*>(floats), sizeof(floats)}}},
       {"a", {TensorDtype::kU8, {}, "x"}},
       {"none", {TensorDtype::kI64, {0, 7}, ""}}},
      {{"format", "pt"}, {"quote", "\"\\"}});
}

TEST_CASE("a file as the reference implementation writes it is read") {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F16","shape":[2,1],"data_offsets":[4,8]},)"
      R"("i":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}   )";
  const std::string bytes = File(header, "IIIIwwww");
  const auto file = *Safetensors::FromBytes(bytes);
  REQUIRE(file->tensors().size() == 2);
  REQUIRE(file->tensors().at("w").dtype == TensorDtype::kF16);
  REQUIRE(file->tensors().at("w").shape == Shape{2, 1});
  REQUIRE(file->tensors().at("w").bytes == "wwww");
  REQUIRE(file->tensors().at("i").shape.empty());
  REQUIRE(file->tensors().at("i").bytes == "IIII");
  REQUIRE(file->metadata() == std::map<std::string, std::string>{{"format", "pt"}});
}

TEST_CASE("what was written is read, from memory and from disk") {
  TempDir dir;
  Overwrite(dir.File("w"), SmallFile());
  const auto file = *Safetensors::Open(dir.File("w"));
  REQUIRE(file->tensors().size() == 3);
  REQUIRE(file->tensors().at("b.weight").shape == Shape{2, 3});
  float last = 0;
  std::memcpy(&last, file->tensors().at("b.weight").bytes.data() + 20, 4);
  REQUIRE(last == 6);
  REQUIRE(file->tensors().at("a").bytes == "x");
  REQUIRE(file->tensors().at("none").bytes.empty());
  REQUIRE(file->metadata().at("quote") == "\"\\");
  REQUIRE(absl::IsNotFound(Safetensors::Open(dir.File("none")).status()));
}

TEST_CASE("equal input gives equal bytes, data aligned, names in order") {
  REQUIRE(SmallFile() == SmallFile());
  REQUIRE(NumberAt<uint64_t>(SmallFile(), 0) % 8 == 0);
  REQUIRE(SmallFile().find("\"a\"") < SmallFile().find("b.weight"));
  REQUIRE(SerializeSafetensors({}) == File("{}      ", ""));
}

TEST_CASE("all dtypes have their size") {
  const std::vector<std::pair<const char*, int>> dtypes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  for (const auto& [name, size] : dtypes) {
    CAPTURE(name);
    const auto with_bytes = [&, name = name](int bytes) {
      return File(std::string(R"({"t":{"dtype":")") + name + R"(","shape":[3],"data_offsets":[0,)" +
                      std::to_string(bytes) + "]}}",
                  std::string(bytes, 'x'));
    };
    const std::string bytes = with_bytes(3 * size);
    const auto file = *Safetensors::FromBytes(bytes);
    REQUIRE(TensorDtypeSize(file->tensors().at("t").dtype) == static_cast<size_t>(size));
    REQUIRE(absl::IsDataLoss(StatusOf(with_bytes(3 * size + 1))));
  }
}

TEST_CASE("every truncation and every added byte is refused") {
  const std::string bytes = SmallFile();
  for (size_t length = 0; length < bytes.size(); ++length) {
    if (!absl::IsDataLoss(StatusOf(bytes.substr(0, length)))) FAIL("length " << length);
  }
  REQUIRE(absl::IsDataLoss(StatusOf(bytes + "x")));
}

TEST_CASE("damage is refused or stays inside the file") {
  const std::string sound = SmallFile();
  std::mt19937 random(3);
  int opened = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = sound;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      const size_t bit = random() % (8 * bytes.size());
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
    const ExactCopy copy(bytes);
    const auto file = Safetensors::FromBytes(copy.view());
    if (!file.ok()) {
      if (!absl::IsDataLoss(file.status())) FAIL("round " << round << ": " << file.status());
      continue;
    }
    ++opened;
    size_t total = 0;
    for (const auto& [name, tensor] : (*file)->tensors()) total += tensor.bytes.size();
    if (total != 25) FAIL("round " << round << ": " << total << " bytes of data");
  }
  REQUIRE(opened > 100);
}

TEST_CASE("malformed headers are refused with what is wrong") {
  const std::string good = R"("dtype":"U8","shape":[2],"data_offsets":[0,2])";
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"", "begin with '{'"},
      {" {}", "begin with '{'"},
      {"[]", "begin with '{'"},
      {"{", "not JSON"},
      {"{} x", "not JSON"},
      {"{\"t\":{" + good + "},}", "not JSON"},
      {"{\"\xff\":{" + good + "}}", "not JSON"},
      {"{\"t\":{" + good + "},\"t\":{" + good + "}}", "comes twice"},
      {R"({"t":{"dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "comes twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "comes twice"},
      {R"({"__metadata__":{"a":"b","a":"b"}})", "comes twice"},
      {R"({"__metadata__":{"a":{}}})", "none belongs"},
      {R"({"__metadata__":{"a":1}})", "none belongs"},
      {R"({"__metadata__":[]})", "none belongs"},
      {R"({"__metadata__":"x"})", "none belongs"},
      {R"({"t":1})", "none belongs"},
      {R"({"t":null})", "null"},
      {R"({"t":{}})", "missing"},
      {R"({"t":{"dtype":"U8","shape":[2]}})", "missing"},
      {R"({"t":{"dtype":"U8","data_offsets":[0,2]}})", "missing"},
      {R"({"t":{"shape":[2],"data_offsets":[0,2]}})", "missing"},
      {"{\"t\":{" + good + ",\"more\":1}}", "unknown field 'more'"},
      {R"({"t":{"dtype":"U7","shape":[2],"data_offsets":[0,2]}})", "'U7' is not supported"},
      {R"({"t":{"dtype":8,"shape":[2],"data_offsets":[0,2]}})", "none belongs"},
      {R"({"t":{"dtype":"U8","shape":2,"data_offsets":[0,2]}})", "none belongs"},
      {R"({"t":{"dtype":"U8","shape":"2","data_offsets":[0,2]}})", "shape is a text"},
      {R"({"t":{"dtype":"U8","shape":["2"],"data_offsets":[0,2]}})", "none belongs"},
      {R"({"t":{"dtype":"U8","shape":[[2]],"data_offsets":[0,2]}})", "none belongs"},
      {R"({"t":{"dtype":"U8","shape":[{}],"data_offsets":[0,2]}})", "none belongs"},
      {R"({"t":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})", "not whole"},
      {R"({"t":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})", "-2"},
      {R"({"t":{"dtype":"U8","shape":[true],"data_offsets":[0,2]}})", "truth"},
      {R"({"t":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,2]}})", "holds"},
      {R"({"t":{"dtype":"U8","shape":[1e400],"data_offsets":[0,2]}})", "not JSON"},
      {R"({"t":{"dtype":"U8","shape":[9223372036854775807,2],"data_offsets":[0,2]}})", "2^63"},
      {R"({"t":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,2]}})",
       "too long"},
      {R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0]}})", "two numbers"},
      {R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,1,2]}})", "two numbers"},
      {R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "outside"},
      {R"({"t":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "outside"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "hole"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "end at 1 of 2"},
      {R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}})", "give 1 bytes"},
      {"{\"t\":{" + good + "},\"u\":{" + good + "}}", "overlap"},
      {"{}", "end at 0 of 2"},
  };
  for (const auto& [header, problem] : headers) {
    CAPTURE(header, problem);
    const absl::Status status = StatusOf(File(header, "xx"));
    INFO(status.message());
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(std::string(status.message()).find(problem) != std::string::npos);
  }
}

TEST_CASE("a deep header costs neither stack nor memory") {
  const std::string deep(5'000'000, '[');
  REQUIRE(absl::IsDataLoss(StatusOf(File("{\"t\":" + deep, ""))));
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += "{\"t\":";
  REQUIRE(absl::IsDataLoss(StatusOf(File(objects, ""))));
}

TEST_CASE("a header length that lies is refused before anything is allocated") {
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{100'000'001}, uint64_t{1} << 63, UINT64_MAX}) {
    CAPTURE(length);
    std::string bytes;
    PutNumber(length, &bytes);
    REQUIRE(absl::IsDataLoss(StatusOf(bytes + "{}")));
  }
}

TEST_CASE("names may be anything that is text") {
  const std::string name = "\xE2\x82\xAC \"quoted\" \\ /\n";
  const std::string bytes = SerializeSafetensors({{name, {TensorDtype::kU8, {1}, "x"}}});
  REQUIRE((*Safetensors::FromBytes(bytes))->tensors().count(name) == 1);
}

}  // namespace
}  // namespace sightline
