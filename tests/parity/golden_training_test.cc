#include "tests/parity/golden_training.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr const char* kGoldens = "tests/testdata/goldens/";

struct Outcome {
  int exit_code = 0;
  std::string output;
};

Outcome Check(const std::string& directory, const std::string& device = "cpu") {
  std::ostringstream out;
  const int exit_code = CheckGoldenTraining(directory, device, out);
  return {exit_code, out.str()};
}

TEST_CASE("three steps of every folder that has them are PyTorch's") {
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    if (!std::filesystem::exists(entry.path() / "training.json")) continue;
    const Outcome outcome = Check(entry.path().string());
    INFO(entry.path() << ": " << outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK(absl::StartsWith(outcome.output, "max_relative_error: "));
    ++folders;
  }
  REQUIRE(folders == 16);
}

// A copy of a folder, to be changed.
class Copy {
 public:
  Copy() {
    for (const char* name : {"config.json", "weights.safetensors", "case.safetensors",
                             "training.json", "training.safetensors"}) {
      Write(name, Read(name));
    }
  }

  const std::string& path() const { return dir_.path(); }
  static std::string Read(const std::string& name) {
    const auto bytes = ReadFile(absl::StrCat(kGoldens, "saf/", name));
    REQUIRE(bytes.ok());
    return *bytes;
  }
  void Write(const std::string& name, const std::string& bytes) const {
    REQUIRE(WriteFileAtomically(dir_.File(name), bytes).ok());
  }
  // The largest number of a tensor is a hundredth more.
  void Shift(const std::string& tensor) const {
    const std::string bytes = Read("training.safetensors");
    auto file = Safetensors::FromBytes(bytes);
    REQUIRE(file.ok());
    auto tensors = (*file)->tensors();
    TensorView& view = tensors.at(tensor);
    std::string edited(view.bytes);
    size_t largest = 0;
    const auto at = [&edited](size_t i) {
      float value = 0;
      std::memcpy(&value, &edited[i * sizeof(value)], sizeof(value));
      return value;
    };
    for (size_t i = 0; i < edited.size() / sizeof(float); ++i) {
      if (at(i) * at(i) > at(largest) * at(largest)) largest = i;
    }
    const float more = at(largest) * 1.01f;
    std::memcpy(&edited[largest * sizeof(more)], &more, sizeof(more));
    view.bytes = edited;
    Write("training.safetensors", SerializeSafetensors(tensors));
  }

 private:
  const TempDir dir_;
};

TEST_CASE("a gradient, a change or a running mean that is another is told by its name") {
  const auto file = Safetensors::FromBytes(Copy::Read("training.safetensors"));
  REQUIRE(file.ok());
  std::map<std::string, std::string> of_kinds;
  for (const auto& [name, view] : (*file)->tensors())
    of_kinds[name.substr(0, name.find('/'))] = name;
  REQUIRE(of_kinds.size() == 5);  // the gradients are three
  for (const auto& [kind, tensor] : of_kinds) {
    const Copy copy;
    copy.Shift(tensor);
    const Outcome outcome = Check(copy.path());
    INFO(tensor << ": " << outcome.output);
    REQUIRE(outcome.exit_code == 1);
    REQUIRE(absl::StrContains(outcome.output, tensor + ": off by "));
  }
}

TEST_CASE("a decay that is another changes what the steps come to") {
  const Copy copy;
  copy.Write("training.json",
             absl::StrReplaceAll(Copy::Read("training.json"),
                                 {{"\"weight_decay\": 0.5", "\"weight_decay\": 0"}}));
  const Outcome outcome = Check(copy.path());
  INFO(outcome.output);
  REQUIRE(outcome.exit_code == 1);
  REQUIRE(absl::StrContains(outcome.output, "change/"));
}

TEST_CASE("what cannot be read, and a device that is not here, are no difference") {
  REQUIRE(Check("nowhere").exit_code == 2);
  for (const std::string damaged : {"{", "{}"}) {
    const Copy copy;
    copy.Write("training.json", damaged);
    const Outcome outcome = Check(copy.path());
    REQUIRE(outcome.exit_code == 2);
    REQUIRE(absl::StrContains(outcome.output, "/training.json: "));
  }
  const Outcome outcome = Check(absl::StrCat(kGoldens, "saf"), "cuda:99");
  REQUIRE(outcome.exit_code == 2);
  REQUIRE(absl::StrContains(outcome.output, "device 'cuda:99' is not here"));
}

}  // namespace
}  // namespace sightline
