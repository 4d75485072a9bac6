// Checkpoints made of the golden ones: renamed, wrapped, with parts added and removed.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_CONVERT_CHECKPOINTS_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_CONVERT_CHECKPOINTS_H_

#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/convert/convert.h"
#include "tests/common/formats/torch_file_builder.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

inline std::string GoldenFolder(absl::string_view name) {
  return absl::StrCat("tests/testdata/goldens/", name);
}

// A vocab.txt of `count` tokens.
inline std::string VocabularyOf(int count) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < count; ++i) absl::StrAppend(&text, "word", i, "\n");
  return text;
}

// SCAN's JSON of `count` words.
inline std::string WordListOf(int count) {
  const std::vector<std::string> special = {"<pad>", "<start>", "<end>", "<unk>"};
  std::string text = "{\"word2idx\": {";
  for (int i = 0; i < count; ++i) {
    const std::string word = i < 4 ? special[i] : absl::StrCat("word", i);
    absl::StrAppend(&text, i == 0 ? "" : ", ", "\"", word, "\": ", i);
  }
  return text + "}}";
}

// A SentencePiece model that gives `count` ids: two more than it has pieces.
inline std::string SentencePieceOf(int count) {
  const std::vector<std::string> special = {"<unk>", "<s>", "</s>"};
  std::string model;
  for (int i = 0; i < count - 2; ++i) {
    const std::string piece = i < 3 ? special[i] : absl::StrCat("piece", i);
    const char type = i == 0 ? 2 : i < 3 ? 3 : 1;  // unknown, control, normal
    const std::string entry =
        absl::StrCat("\x0A", std::string(1, static_cast<char>(piece.size())), piece, "\x15",
                     pickle::Bytes(-1.0f), "\x18", std::string(1, type));
    absl::StrAppend(&model, "\x0A", std::string(1, static_cast<char>(entry.size())), entry);
  }
  return model;
}

// A vocabulary of `count` tokens of the kind that the golden model reads.
inline std::string VocabularyFor(absl::string_view golden, int count) {
  if (golden == "m3p") return SentencePieceOf(count);
  return absl::StartsWith(golden, "saf") || absl::StartsWith(golden, "sgr") ? WordListOf(count)
                                                                            : VocabularyOf(count);
}

// Names of the tensors that begin with `prefix`.
inline std::vector<std::string> Beginning(const NamedTensors& tensors, absl::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& [name, view] : tensors) {
    if (absl::StartsWith(name, prefix)) names.push_back(name);
  }
  return names;
}

// Tensors by name that can be changed and saved.
class MutableCheckpoint {
 public:
  MutableCheckpoint() = default;
  // Those of a golden folder.
  explicit MutableCheckpoint(absl::string_view golden) {
    auto file = Safetensors::Open(absl::StrCat(GoldenFolder(golden), "/weights.safetensors"));
    REQUIRE(file.ok());
    source_ = *std::move(file);
    tensors = source_->tensors();
  }

  void Rename(const std::function<std::string(const std::string&)>& name_of) {
    NamedTensors renamed;
    for (auto& [name, view] : tensors) renamed[name_of(name)] = view;
    tensors = std::move(renamed);
  }

  void Erase(absl::string_view prefix) {
    for (auto it = tensors.begin(); it != tensors.end();) {
      it = it->first.compare(0, prefix.size(), std::string(prefix)) == 0 ? tensors.erase(it)
                                                                         : std::next(it);
    }
  }

  // A tensor of float32, all of one value.
  void Add(const std::string& name, const std::vector<int64_t>& shape, float value = 0.5f) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes += pickle::Bytes(value);
    AddBytes(name, shape, std::move(bytes));
  }
  // A tensor of float32 with these numbers.
  void AddBytes(const std::string& name, const std::vector<int64_t>& shape, std::string bytes) {
    added_.push_back(std::move(bytes));
    tensors[name] = {TensorDtype::kF32, shape, added_.back()};
  }

  // Values of a dict for TorchFileBuilder; of the names with `prefix`, which is cut off.
  std::vector<std::pair<std::string, std::string>> Items(TorchFileBuilder* file,
                                                         absl::string_view prefix = "") const {
    std::vector<std::pair<std::string, std::string>> items;
    for (const auto& [name, view] : tensors) {
      if (name.compare(0, prefix.size(), std::string(prefix)) != 0) continue;
      items.emplace_back(name.substr(prefix.size()), file->Tensor(view));
    }
    return items;
  }

  void SaveSafetensors(const std::string& path) const {
    REQUIRE(WriteFileAtomically(path, SerializeSafetensors(tensors)).ok());
  }
  void SavePickle(const std::string& path) const {
    TorchFileBuilder file;
    const auto items = Items(&file);
    REQUIRE(WriteFileAtomically(path, file.Build(pickle::OrderedDict(items))).ok());
  }

  NamedTensors tensors;

 private:
  std::unique_ptr<Safetensors> source_;
  std::list<std::string> added_;
};

// A folder with a vocabulary of `words` tokens and the config, both of a golden folder.
class Workplace {
 public:
  Workplace(absl::string_view golden, int words) {
    options.vocabulary = dir.File("vocab");
    options.checkpoint = dir.File("model.pt");
    REQUIRE(WriteFileAtomically(options.vocabulary, VocabularyFor(golden, words)).ok());
    const auto config = ReadFile(absl::StrCat(GoldenFolder(golden), "/config.json"));
    REQUIRE(config.ok());
    REQUIRE(WriteFileAtomically(dir.File("config.json"), *config).ok());
  }

  Conversion MustConvert() const {
    auto conversion = ConvertCheckpoint(options);
    INFO(conversion.status());
    REQUIRE(conversion.ok());
    return *std::move(conversion);
  }

  // The message of a conversion that has to fail.
  std::string Refusal() const {
    const absl::Status error = ConvertCheckpoint(options).status();
    INFO(error);
    REQUIRE(absl::IsInvalidArgument(error));
    return std::string(error.message());
  }

  // The id of the bundle that the conversion gives.
  std::string MustWrite(const WriteOptions& write = {}) const {
    const auto bundle = WriteConversion(dir.path(), MustConvert(), write);
    INFO(bundle.status());
    REQUIRE(bundle.ok());
    return bundle->id;
  }

  TempDir dir;
  ConvertOptions options;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_CONVERT_CHECKPOINTS_H_
