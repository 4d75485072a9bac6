// Any bytes as a checkpoint that is to be converted.  The input is
//
//   - a line of options: first the form of the checkpoint, then words as of Options below;
//   - a line that is config.json; empty: there is none;
//   - the checkpoint, in one of four forms: `file`, as it is; `pickle`, that of a sound archive
//     of torch.save with one storage of 1024 numbers; `table`, lines of a tensor's name, type and
//     extents ("a.weight F32 2 4") of which a sound safetensors file is made, all bytes '?';
//     `arguments`, the pickle of a training_args.bin beside a table of one tensor.
//
// All vocabularies have six tokens.  The seeds of 1 to 4 kB are whole models, at least one of
// each family: one layer, 2 to 4 wide.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/formats/safetensors.h"
#include "common/models/convert/convert.h"
#include "common/models/family_manifests.h"
#include "tests/common/formats/zip_writer.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/support/sentencepiece_model.h"

// As sanitizer/allocator_interface.h has them; null in the short mode (replay_main.cc), which
// has no sanitizer.
extern "C" {
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, size_t), void (*free_hook)(const volatile void*));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void* p);
}

namespace {

using sightline::Conversion;
using sightline::ConvertOptions;
using sightline::TensorDtype;
using sightline::TensorView;

constexpr int64_t kMaxTensorBytes = 1 << 16;  // of a table, together
constexpr int64_t kMaxMemory = 4 << 20;       // forty times what the largest seed needs

void Require(bool condition) {
  if (!condition) std::abort();
}

// Most bytes that were held at once since Reset; without a sanitizer none are seen.
class MemoryMeter {
 public:
  MemoryMeter() {
    if (__sanitizer_install_malloc_and_free_hooks == nullptr) return;
    Require(__sanitizer_install_malloc_and_free_hooks(&Add, &Remove) > 0);
  }
  void Reset() {
    held_ = 0;
    most_ = 0;
  }
  int64_t most() const { return most_; }

 private:
  static void Add(const volatile void*, size_t size) {
    held_ += static_cast<int64_t>(size);
    if (held_ > most_) most_ = held_.load();
  }
  static void Remove(const volatile void* block) {
    if (block != nullptr) {
      held_ -= static_cast<int64_t>(__sanitizer_get_allocated_size(block));
    }
  }
  static inline std::atomic<int64_t> held_{0}, most_{0};
};

// The line of options: "table family=oscar heads=2 args".
struct Options {
  std::string form;
  std::string vocabulary = "tokens";  // or words, or pieces
  std::string file_name = "model.pt";
  bool arguments = false;  // the checkpoint is training_args.bin, too
  ConvertOptions convert;
};

const std::map<absl::string_view, absl::optional<int64_t> ConvertOptions::*>& Numbers() {
  static const auto* const numbers =
      new std::map<absl::string_view, absl::optional<int64_t> ConvertOptions::*>{
          {"heads", &ConvertOptions::head_count},
          {"tokens", &ConvertOptions::max_token_count},
          {"tags", &ConvertOptions::tag_token_count},
          {"tag_type", &ConvertOptions::tag_padding_type},
          {"regions", &ConvertOptions::region_count},
          {"least", &ConvertOptions::min_region_count},
          {"cells", &ConvertOptions::cell_count},
          {"ocr", &ConvertOptions::scene_token_count},
          {"ocr_position", &ConvertOptions::scene_position},
          {"ocr_type", &ConvertOptions::scene_token_type},
      };
  return *numbers;
}

void Set(absl::string_view key, absl::string_view value, Options* options) {
  ConvertOptions& convert = options->convert;
  if (key == "vocabulary") options->vocabulary = std::string(value);
  if (key == "cpkt") options->file_name = "model.cpkt";
  if (key == "safetensors") options->file_name = "model.safetensors";
  if (key == "args") options->arguments = true;
  if (key == "family") convert.family = std::string(value);
  if (key == "use") convert.use = std::string(value);
  if (key == "score") convert.score_kind = std::string(value);
  if (key == "scene") convert.scene_text = true;
  if (key == "separator") convert.lone_separator = true;
  double floor = 0;
  if (key == "floor" && absl::SimpleAtod(value, &floor)) convert.confidence_floor = floor;
  // As far as a flag may go.
  int32_t number = 0;
  const auto found = Numbers().find(key);
  if (found != Numbers().end() && absl::SimpleAtoi(value, &number)) {
    convert.*found->second = number;
  }
}

Options ReadOptions(absl::string_view line) {
  Options options;
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  options.form = std::string(words[0]);
  for (const absl::string_view word : words) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    Set(parts.first, parts.second, &options);
  }
  return options;
}

// Up to the first newline, which goes as well.
absl::string_view TakeLine(absl::string_view* rest) {
  const size_t end = rest->find('\n');
  const absl::string_view line = rest->substr(0, end);
  rest->remove_prefix(end == absl::string_view::npos ? rest->size() : end + 1);
  return line;
}

int64_t SizeOf(const TensorView& view) {
  auto bytes = static_cast<int64_t>(sightline::TensorDtypeSize(view.dtype));
  for (const int64_t extent : view.shape) {
    Require(extent >= 0);
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  return bytes;
}

// A file of those lines that are tensors, as long as there is room.
std::string FileOfTable(absl::string_view table) {
  static const auto* const dtypes = new std::map<absl::string_view, TensorDtype>{
      {"F64", TensorDtype::kF64},   {"F32", TensorDtype::kF32}, {"F16", TensorDtype::kF16},
      {"BF16", TensorDtype::kBf16}, {"I64", TensorDtype::kI64}, {"U8", TensorDtype::kU8}};
  static const std::string content(kMaxTensorBytes, '\x3f');
  std::map<std::string, TensorView> tensors;
  int64_t room = kMaxTensorBytes;
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    const auto dtype = dtypes->find(words.size() < 2 ? "" : words[1]);
    if (dtype == dtypes->end()) continue;
    TensorView view;
    view.dtype = dtype->second;
    for (size_t i = 2; i < words.size(); ++i) {
      uint32_t extent = 0;
      if (absl::SimpleAtoi(words[i], &extent)) view.shape.push_back(extent);
    }
    const int64_t bytes = SizeOf(view);
    if (bytes < 0 || bytes > room) continue;
    view.bytes = absl::string_view(content).substr(0, static_cast<size_t>(bytes));
    if (tensors.emplace(words[0], view).second) room -= bytes;
  }
  return sightline::SerializeSafetensors(tensors);
}

std::string FileOf(absl::string_view form, absl::string_view rest) {
  if (form == "table") return FileOfTable(rest);
  if (form == "file") return std::string(rest);
  sightline::ZipWriter zip;
  zip.Add("a/data.pkl", rest);
  zip.Add("a/data/0", std::string(4096, '\x3f'));
  return zip.Finish();
}

const char* VocabularyOf(absl::string_view kind) {
  if (kind == "words") return "words.json";
  return kind == "pieces" ? "sentencepiece.model" : "vocab.txt";
}

void WriteVocabularies(const sightline::ScratchFolder& folder) {
  folder.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  folder.Write(
      "words.json",
      R"({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 2, "<unk>": 3, "a": 4, "b": 5}})");
  folder.Write("sentencepiece.model", sightline::SentencePieceModelBytes({"\u2581"}));
}

void CheckConversion(const Conversion& conversion, const Options& options) {
  Require(sightline::CheckManifest(conversion.manifest).ok());
  Require(conversion.manifest.files_size() == 0);
  const std::string& family = conversion.manifest.family();
  Require(options.convert.family.empty() || options.convert.family == family);
  Require(!conversion.vocabulary.empty() && conversion.source != nullptr);
  Require(!conversion.tensors.empty());
  uint64_t sum = 0;
  for (const auto& [name, view] : conversion.tensors) {
    Require(!name.empty());
    Require(SizeOf(view) == static_cast<int64_t>(view.bytes.size()) && !view.bytes.empty());
    for (const char byte : view.bytes) sum += static_cast<unsigned char>(byte);
  }
  Require(sum < UINT64_MAX);
  for (const std::string& warning : conversion.warnings) Require(!warning.empty());
}

void CheckError(const absl::Status& status) {
  Require(absl::IsInvalidArgument(status) || absl::IsDataLoss(status) ||
          absl::IsFailedPrecondition(status));
  Require(!status.message().empty());
}

class Target {
 public:
  Target() { WriteVocabularies(folder_); }

  void Try(absl::string_view input) {
    Options options = ReadOptions(TakeLine(&input));
    const absl::string_view config = TakeLine(&input);
    const std::string bytes = FileOf(options.form, input);
    options.convert.vocabulary = folder_.File(VocabularyOf(options.vocabulary));
    const bool apart = options.form == "arguments";
    options.convert.checkpoint =
        folder_.Write(options.file_name, apart ? FileOfTable("a.weight F32 1") : bytes);
    folder_.Remove("config.json");
    folder_.Remove("training_args.bin");
    if (!config.empty()) folder_.Write("config.json", config);
    if (apart || options.arguments) folder_.Write("training_args.bin", bytes);
    meter_.Reset();
    const auto conversion = sightline::ConvertCheckpoint(options.convert);
    Require(meter_.most() <= kMaxMemory);
    if (conversion.ok()) {
      CheckConversion(*conversion, options);
    } else {
      CheckError(conversion.status());
    }
  }

 private:
  const sightline::ScratchFolder folder_{"checkpoint_fuzz"};
  MemoryMeter meter_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target target;
  target.Try(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
