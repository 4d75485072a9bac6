#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/execution.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/parity/golden_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr const char* kGoldens = "tests/testdata/goldens/";

struct Outcome {
  int exit_code = 0;
  std::string output;
};

Outcome Check(const std::string& directory, GoldenPath path = GoldenPath::kExact,
              const Execution& execution = {}) {
  std::ostringstream out;
  const int exit_code = CheckGolden(directory, path, out, execution);
  return {exit_code, out.str()};
}

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  const size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - start);
}

using Tensors = std::map<std::string, TensorView>;

// A folder with something done to it.
class Tampered {
 public:
  explicit Tampered(const std::string& golden = "oscar") : golden_(golden) {
    for (const char* name : {"config.json", "weights.safetensors", "case.safetensors"}) {
      Write(name, Original(name, golden));
    }
  }

  const std::string& path() const { return dir_.path(); }

  void Write(const std::string& name, const std::string& bytes) {
    REQUIRE(WriteFileAtomically(dir_.File(name), bytes).ok());
  }

  void Edit(const std::string& name, const std::function<void(Tensors*)>& edit) {
    const std::string bytes = Original(name, golden_);
    auto file = Safetensors::FromBytes(bytes);
    REQUIRE(file.ok());
    Tensors tensors = (*file)->tensors();
    edit(&tensors);
    Write(name, SerializeSafetensors(tensors));
  }

  // Adds to the last number of an expected tensor.
  void Shift(const std::string& tensor, float more) {
    Edit("case.safetensors", [&](Tensors* tensors) {
      TensorView& view = tensors->at(tensor);
      edited_ = std::string(view.bytes);
      float value = 0;
      char* const last = &edited_[edited_.size() - sizeof(value)];
      std::memcpy(&value, last, sizeof(value));
      value += more;
      std::memcpy(last, &value, sizeof(value));
      view.bytes = edited_;
    });
  }

  // Sets one number of an expected tensor.
  void Set(const std::string& tensor, size_t index, float value) {
    Edit("case.safetensors", [&](Tensors* tensors) {
      TensorView& view = tensors->at(tensor);
      edited_ = std::string(view.bytes);
      std::memcpy(&edited_[index * sizeof(float)], &value, sizeof(value));
      view.bytes = edited_;
    });
  }

  static std::string Original(const std::string& name, const std::string& golden = "oscar") {
    auto bytes = ReadFile(std::string(kGoldens) + golden + "/" + name);
    REQUIRE(bytes.ok());
    return *bytes;
  }

 private:
  const std::string golden_;
  TempDir dir_;
  std::string edited_;
};

float OriginalProbability(size_t index) {
  const std::string bytes = Tampered::Original("case.safetensors");
  auto file = Safetensors::FromBytes(bytes);
  REQUIRE(file.ok());
  float value = 0;
  std::memcpy(&value,
              (*file)->tensors().at("match_probability").bytes.data() + index * sizeof(float),
              sizeof(float));
  return value;
}

// Folders, and how many numbers each expects.  OSCAR, for instance: 6 x 48 twice, 6 x 6, 6 x 2,
// 6.
const std::pair<const char*, int> kFolders[] = {
    {"lightningdot", 612}, {"lightningdot_scene_text", 612},
    {"m3p", 408},          {"oscar", 630},
    {"oscar_ln", 630},     {"saf", 7518},
    {"saf_temde", 7518},   {"sgr", 7518},
    {"sgr_temde", 7518},   {"uniter_small", 1206},
    {"vldeformer", 612},
};

// The tensors that a run compared, each on a line of its own: "cosine: 3e-7 over 36 numbers".
std::vector<std::string> ComparedIn(const std::string& output) {
  std::vector<std::string> names;
  for (const absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    names.emplace_back(line.substr(0, line.find(':')));
  }
  REQUIRE(names.back() == "max_abs_error");
  names.pop_back();
  return names;
}

TEST_CASE("every folder of goldens is looked at") {
  std::set<std::string> listed;
  for (const auto& [folder, numbers] : kFolders) listed.insert(folder);
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    // Others are check_tokenizer's, or learn with another's network.
    if (!std::filesystem::exists(entry.path() / "case.safetensors")) continue;
    there.insert(entry.path().filename().string());
  }
  REQUIRE(listed == there);
}

TEST_CASE("all goldens are met, and the count of numbers is told") {
  for (const auto& [folder, numbers] : kFolders) {
    const Outcome outcome = Check(std::string(kGoldens) + folder);
    INFO(folder << ": " << outcome.output);
    REQUIRE(outcome.exit_code == 0);
    REQUIRE(absl::StrContains(LastLine(outcome.output), "max_abs_error: "));
    REQUIRE(absl::StrContains(LastLine(outcome.output),
                              " over " + std::to_string(numbers) + " numbers"));
  }
}

// Folders whose models rerank, how many scores each expects, and what a bound must catch: twice
// that of float16, and of int8.
struct StoredFolder {
  const char* name;
  int scores;
  const char* tensor;
  float float16_change;
  float int8_change;
};
const StoredFolder kStoredFolders[] = {
    {"m3p", 4, "classifier_logits", 3e-4f, 1e-2f},
    {"oscar", 6, "classifier_logits", 2e-5f, 8e-4f},
    {"oscar_ln", 6, "classifier_logits", 2e-5f, 8e-4f},
    {"saf", 30, "similarity", 6e-4f, 4e-3f},
    {"saf_temde", 30, "similarity", 6e-4f, 4e-3f},
    {"sgr", 30, "similarity", 6e-4f, 4e-3f},
    {"sgr_temde", 30, "similarity", 6e-4f, 4e-3f},
    {"uniter_small", 12, "rank_score", 8e-5f, 1.2e-3f},
};

// X of "max_abs_error: X over N numbers".
double ErrorIn(const std::string& output) {
  const std::string line = LastLine(output);
  return std::stod(line.substr(line.find(' ')));
}

void RequireBound(const StoredFolder& folder, GoldenPath path, float change) {
  const Outcome outcome = Check(std::string(kGoldens) + folder.name, path);
  INFO(folder.name << ": " << outcome.output);
  REQUIRE(outcome.exit_code == 0);
  REQUIRE(absl::StrContains(LastLine(outcome.output),
                            " over " + std::to_string(folder.scores) + " numbers"));
  REQUIRE(ErrorIn(outcome.output) > 1e-6);  // float32 would come nearer
  Tampered changed(folder.name);
  changed.Shift(folder.tensor, change);
  REQUIRE(Check(changed.path(), path).exit_code == 1);
}

TEST_CASE("scores of features that a store held rounded keep to their family's bound") {
  for (const StoredFolder& folder : kStoredFolders) {
    RequireBound(folder, GoldenPath::kFloat16, folder.float16_change);
    RequireBound(folder, GoldenPath::kInt8, folder.int8_change);
  }
}

TEST_CASE("every family either keeps its bound with stored features or stores none") {
  std::set<std::string> reranking;
  for (const StoredFolder& folder : kStoredFolders) reranking.insert(folder.name);
  for (const auto& [folder, numbers] : kFolders) {
    if (reranking.count(folder) > 0) continue;
    const Outcome outcome = Check(std::string(kGoldens) + folder, GoldenPath::kInt8);
    INFO(folder << ": " << outcome.output);
    REQUIRE(outcome.exit_code == 2);
    REQUIRE(absl::StrContains(outcome.output, "only retrieves"));
  }
}

// Of SGRAF.
const std::set<std::string> kWithoutBlocks = {"saf", "saf_temde", "sgr", "sgr_temde"};

TEST_CASE("a device meets all goldens, in bfloat16 within its bound") {
  const auto devices = std::make_shared<const kernels::HostStackDevices>();
  for (const std::string precision : {"float32", "bfloat16"}) {
    for (const auto& [folder, numbers] : kFolders) {
      const Outcome outcome =
          Check(std::string(kGoldens) + folder, GoldenPath::kExact, {"cuda:0", precision, devices});
      INFO(folder << " in " << precision << ": " << outcome.output);
      if (precision == "bfloat16" && kWithoutBlocks.count(folder) > 0) {
        REQUIRE(outcome.exit_code == 1);
        REQUIRE(absl::StrContains(outcome.output, "without transformer blocks"));
        continue;
      }
      REQUIRE(outcome.exit_code == 0);
      REQUIRE(absl::StrContains(LastLine(outcome.output),
                                " over " + std::to_string(numbers) + " numbers"));
      // float32 comes nearer.
      if (precision == "bfloat16") REQUIRE(ErrorIn(outcome.output) > 1e-4);
    }
  }
  REQUIRE(devices->device().launches() > 0);
}

TEST_CASE("a changed expectation fails, one within the tolerance does not") {
  Tampered folder;
  folder.Set("match_probability", 3, OriginalProbability(3) + 2e-4f);
  REQUIRE(Check(folder.path()).exit_code == 1);
  folder.Set("match_probability", 3, OriginalProbability(3) + 5e-5f);
  REQUIRE(Check(folder.path()).exit_code == 0);
}

TEST_CASE("a changed number of any tensor of any folder fails, and so does a missing tensor") {
  for (const auto& [folder, numbers] : kFolders) {
    const std::vector<std::string> compared =
        ComparedIn(Check(std::string(kGoldens) + folder).output);
    REQUIRE(compared.size() >= 3);
    for (const std::string& tensor : compared) {
      INFO(folder << ": " << tensor);
      Tampered changed(folder);
      changed.Shift(tensor, 3e-4f);
      REQUIRE(Check(changed.path()).exit_code == 1);
      Tampered lacking(folder);
      lacking.Edit("case.safetensors", [&](Tensors* tensors) { tensors->erase(tensor); });
      const Outcome outcome = Check(lacking.path());
      REQUIRE(outcome.exit_code == 1);
      REQUIRE(absl::StrContains(outcome.output, tensor));
    }
  }
}

TEST_CASE("a changed weight fails") {
  Tampered folder;
  std::string bytes;
  folder.Edit("weights.safetensors", [&](Tensors* tensors) {
    TensorView& view = tensors->at("bert.encoder.layer.1.output.LayerNorm.weight");
    bytes = std::string(view.bytes);
    const float value = 1.5f;
    std::memcpy(&bytes[0], &value, sizeof(value));
    view.bytes = bytes;
  });
  REQUIRE(Check(folder.path()).exit_code == 1);
}

TEST_CASE("an expected number that is NaN fails") {
  for (const char* tensor : {"text_embedding", "cosine", "classifier_logits"}) {
    Tampered folder;
    folder.Set(tensor, 5, std::numeric_limits<float>::quiet_NaN());
    const Outcome outcome = Check(folder.path());
    REQUIRE(outcome.exit_code == 1);
    REQUIRE(absl::StrContains(outcome.output, "finite"));
  }
}

TEST_CASE("a case without items compares nothing and fails") {
  Tampered folder;
  folder.Edit("case.safetensors", [&](Tensors* tensors) {
    for (auto& [name, view] : *tensors) {
      if (name == "cosine") view.shape = {0, 0};
      view.shape[0] = 0;
      view.bytes = "";
    }
  });
  const Outcome outcome = Check(folder.path());
  INFO(outcome.output);
  REQUIRE(outcome.exit_code == 1);
  REQUIRE(LastLine(outcome.output) == "max_abs_error: 0 over 0 numbers");
}

TEST_CASE("a missing weight is named") {
  Tampered folder;
  folder.Edit("weights.safetensors", [](Tensors* tensors) { tensors->erase("classifier.bias"); });
  const Outcome outcome = Check(folder.path());
  REQUIRE(outcome.exit_code == 1);
  REQUIRE(absl::StrContains(outcome.output, "classifier.bias"));
}

TEST_CASE("an unknown family is named, with those there are") {
  Tampered folder;
  folder.Write("config.json", R"({"family": "delphi"})");
  const Outcome outcome = Check(folder.path());
  REQUIRE(outcome.exit_code == 2);
  REQUIRE(absl::StrContains(outcome.output, "delphi"));
  REQUIRE(absl::StrContains(outcome.output, "oscar"));
}

TEST_CASE("a folder that cannot be read is an error, not a pass") {
  Tampered folder;
  REQUIRE(Check(folder.path() + "/nowhere").exit_code == 2);
  folder.Write("config.json", "[]");
  REQUIRE(Check(folder.path()).exit_code == 2);
  folder.Write("config.json", Tampered::Original("config.json"));
  folder.Write("case.safetensors", Tampered::Original("case.safetensors").substr(0, 1000));
  REQUIRE(Check(folder.path()).exit_code == 2);
}

}  // namespace
}  // namespace sightline
