#include "common/formats/torch_pickle.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/common/formats/torch_file_builder.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Kind = PickleValue::Kind;

constexpr char kGolden[] = "tests/testdata/goldens/uniter_small/";

std::string FloatBytes(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<float> Floats(const TensorView& view) {
  std::vector<float> numbers(view.bytes.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), view.bytes.data(), view.bytes.size());
  return numbers;
}

std::unique_ptr<TorchPickle> MustRead(const std::string& bytes) {
  auto file = TorchPickle::FromBytes(bytes);
  INFO(file.status());
  REQUIRE(file.ok());
  return *std::move(file);
}

// What reading the file, or its tensor "w", fails with.
absl::Status ErrorOf(const std::string& bytes) {
  auto file = TorchPickle::FromBytes(bytes);
  if (!file.ok()) return file.status();
  const PickleValue* value = (*file)->root().Find("w");
  if (value == nullptr) return absl::OkStatus();
  return (*file)->ReadTensor(*value).status();
}

// Reads all that can be reached within a few steps, as a user of the tree would.
void Visit(const PickleValue& value, int depth, TorchPickle* file) {
  if (TorchPickle::IsTensor(value)) {
    const auto view = file->ReadTensor(value);
    if (view.ok()) {
      uint64_t sum = 0;
      for (const char byte : view->bytes) sum += static_cast<unsigned char>(byte);
      REQUIRE(sum <= 255 * view->bytes.size());
    }
  }
  if (depth == 0) return;
  for (const PickleValue* item : value.items) Visit(*item, depth - 1, file);
}

void SurvivesReading(const std::string& bytes) {
  const auto file = TorchPickle::FromBytes(bytes);
  if (file.ok()) {
    Visit((*file)->root(), 4, file->get());
    return;
  }
  INFO(file.status());
  REQUIRE((absl::IsDataLoss(file.status()) || absl::IsFailedPrecondition(file.status())));
}

// A little of everything.
std::string SmallFile() {
  TorchFileBuilder file;
  const std::string matrix = FloatBytes({0, 1, 2, 3, 4, 5});
  const std::string weight = file.Tensor({TensorDtype::kF32, {2, 3}, matrix});
  const std::string transposed =
      pickle::Tensor(file.Storage(TensorDtype::kF32, matrix), 0, {3, 2}, {1, 3});
  return file.Build(pickle::OrderedDict(
      {{"w", weight},
       {"t", transposed},
       {"epoch", pickle::Int(7)},
       {"opt", pickle::Namespace({{"lr", "G?\xb9\x99\x99\x99\x99\x99\x9a"}})}}));
}

TEST_CASE("a golden checkpoint has the tensors of the safetensors file beside it") {
  const auto pickle = TorchPickle::Open(absl::StrCat(kGolden, "weights.pt"));
  REQUIRE(pickle.ok());
  const auto expected = Safetensors::Open(absl::StrCat(kGolden, "weights.safetensors"));
  REQUIRE(expected.ok());
  REQUIRE((*pickle)->root().items.size() == 2 * (*expected)->tensors().size());
  for (const auto& [name, tensor] : (*expected)->tensors()) {
    INFO(name);
    const PickleValue* value = (*pickle)->root().Find(name);
    REQUIRE(value != nullptr);
    const auto view = (*pickle)->ReadTensor(*value);
    REQUIRE(view.ok());
    REQUIRE(view->dtype == tensor.dtype);
    REQUIRE(view->shape == tensor.shape);
    REQUIRE(view->bytes == tensor.bytes);
  }
}

TEST_CASE("values of all kinds come through") {
  TorchFileBuilder builder;
  const std::string bytes = builder.Build(pickle::Dict({
      {"none", "N"},
      {"yes", "\x88"},
      {"negative", pickle::Int(-3)},
      {"long", pickle::Long(-(int64_t{1} << 40))},
      {"short long", std::string("\x8a\x01\xff")},
      {"tenth", "G?\xb9\x99\x99\x99\x99\x99\x9a"},
      {"list", pickle::List({pickle::Int(1), pickle::Text("two")})},
      {"pair", pickle::Int(1) + pickle::Int(2) + "\x86"},
      {"python 2",
       "U\x03"
       "abc"},
      {"memo",
       "K\x05q\x07"
       "0h\x07"},
  }));
  const auto file = MustRead(bytes);
  const PickleValue& root = file->root();
  REQUIRE(root.Find("none")->kind == Kind::kNone);
  REQUIRE(root.Find("yes")->kind == Kind::kBool);
  REQUIRE(root.Find("yes")->integer == 1);
  REQUIRE(root.Find("negative")->integer == -3);
  REQUIRE(root.Find("long")->integer == -(int64_t{1} << 40));
  REQUIRE(root.Find("short long")->integer == -1);
  REQUIRE(root.Find("tenth")->real == 0.1);
  REQUIRE(root.Find("list")->items[1]->text == "two");
  REQUIRE(root.Find("pair")->kind == Kind::kTuple);
  REQUIRE(root.Find("pair")->items[1]->integer == 2);
  REQUIRE(root.Find("python 2")->text == "abc");
  REQUIRE(root.Find("memo")->integer == 5);
  REQUIRE(root.Find("nothing") == nullptr);
}

TEST_CASE("tensors in any order of memory have their elements in order") {
  TorchFileBuilder builder;
  const std::string storage = builder.Storage(TensorDtype::kF32, FloatBytes({0, 1, 2, 3, 4, 5, 6}));
  const std::string parameter =
      pickle::Call(pickle::Global("torch._utils", "_rebuild_parameter"),
                   {pickle::Tensor(storage, 1, {2}, {1}), "\x88", pickle::OrderedDict({})});
  const std::string bytes = builder.Build(pickle::Dict({
      {"rows", pickle::Tensor(storage, 1, {2, 3}, {3, 1})},
      {"columns", pickle::Tensor(storage, 1, {3, 2}, {1, 3})},
      {"every other", pickle::Tensor(storage, 0, {3}, {2})},
      {"one", pickle::Tensor(storage, 6, {}, {})},
      {"wide", pickle::Tensor(storage, 0, {1, 7}, {INT64_MAX, 1})},
      {"tall", pickle::Tensor(storage, 0, {1, 3}, {INT64_MAX, 2})},
      {"empty", pickle::Tensor(storage, 7, {0, 5}, {5, 1})},
      {"parameter", parameter},
  }));
  const auto file = MustRead(bytes);
  const auto read = [&](const char* name) {
    const auto view = file->ReadTensor(*file->root().Find(name));
    INFO(name << view.status());
    REQUIRE(view.ok());
    return Floats(*view);
  };
  REQUIRE(read("rows") == std::vector<float>{1, 2, 3, 4, 5, 6});
  REQUIRE(read("columns") == std::vector<float>{1, 4, 2, 5, 3, 6});
  REQUIRE(read("every other") == std::vector<float>{0, 2, 4});
  REQUIRE(read("one") == std::vector<float>{6});
  REQUIRE(read("wide").size() == 7);
  REQUIRE(read("tall") == std::vector<float>{0, 2, 4});
  REQUIRE(read("empty").empty());
  REQUIRE(read("parameter") == std::vector<float>{1, 2});
}

TEST_CASE("an archive with zip64 records is read") {
  TorchFileBuilder builder;
  const std::string weight = builder.Tensor({TensorDtype::kF32, {2}, FloatBytes({8, 9})});
  const std::string bytes = builder.Build(pickle::Dict({{"w", weight}}), /*zip64=*/true);
  const auto file = MustRead(bytes);
  REQUIRE(Floats(*file->ReadTensor(*file->root().Find("w"))) == std::vector<float>{8, 9});
}

TEST_CASE("calls are data, never made") {
  TorchFileBuilder builder;
  const std::string call =
      pickle::Call(pickle::Global("os", "system"), {pickle::Text("touch owned")});
  const std::string bytes =
      builder.Build(pickle::Dict({{"w", call}, {"opt", pickle::Namespace({{"n", "K\x23"}})}}));
  const auto file = MustRead(bytes);
  REQUIRE(file->root().Find("w")->kind == Kind::kObject);
  REQUIRE(file->root().Find("w")->text == "os.system");
  const absl::Status error = ErrorOf(bytes);
  REQUIRE(absl::IsInvalidArgument(error));
  REQUIRE(absl::StrContains(error.message(), "os.system"));
  const PickleValue* arguments = file->root().Find("opt");
  REQUIRE(arguments->text == "argparse.Namespace");
  REQUIRE(arguments->items.back()->Find("n")->integer == 35);
}

TEST_CASE("files of other kinds are told apart, with what to do") {
  const auto message = [](const std::string& bytes) {
    const absl::Status error = ErrorOf(bytes);
    INFO(error);
    REQUIRE(absl::IsFailedPrecondition(error));
    return std::string(error.message());
  };
  // The magic number of the format before archives, as pickle writes it.
  const std::string legacy =
      "\x80\x02\x8a\nl\xfc\x9c"
      "F\xf9 j\xa8P\x19.";
  REQUIRE(absl::StrContains(message(legacy), "deploy/models/to_safetensors.py"));
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  REQUIRE(absl::StrContains(message(tar), "deploy/models/to_safetensors.py"));

  ZipWriter script;
  script.Add("m/data.pkl", pickle::Program("N"));
  script.Add("m/constants.pkl", pickle::Program("N"));
  REQUIRE(absl::StrContains(message(script.Finish()), "TorchScript"));
  ZipWriter folder;
  folder.Add("0_OSCAR/pytorch_model.bin", "x");
  REQUIRE(absl::StrContains(message(folder.Finish()), "unpack"));
  ZipWriter compressed;
  compressed.Add("a/data.pkl", "x", /*deflate=*/true);
  REQUIRE(absl::StrContains(message(compressed.Finish()), "compressed"));
  ZipWriter big;
  big.Add("a/data.pkl", pickle::Program("N"));
  big.Add("a/byteorder", "big");
  REQUIRE(absl::StrContains(message(big.Finish()), "little-endian"));
  REQUIRE(absl::IsDataLoss(ErrorOf("hello")));
  REQUIRE(absl::IsDataLoss(ErrorOf("")));
}

TEST_CASE("tensors that lie about their storage are refused") {
  const std::string numbers = FloatBytes({0, 1, 2, 3, 4, 5});
  const auto error_of = [&](int64_t offset, const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& strides) {
    TorchFileBuilder builder;
    const std::string storage = builder.Storage(TensorDtype::kF32, numbers);
    return ErrorOf(
        builder.Build(pickle::Dict({{"w", pickle::Tensor(storage, offset, shape, strides)}})));
  };
  REQUIRE(error_of(0, {2, 3}, {3, 1}).ok());
  const int64_t huge = INT64_MAX;
  REQUIRE(absl::IsDataLoss(error_of(1, {2, 3}, {3, 1})));
  REQUIRE(absl::IsDataLoss(error_of(-1, {2, 3}, {3, 1})));
  REQUIRE(absl::IsDataLoss(error_of(huge, {1}, {1})));
  REQUIRE(absl::IsDataLoss(error_of(0, {2, 3}, {3})));
  REQUIRE(absl::IsDataLoss(error_of(0, {2, 3}, {-3, 1})));
  REQUIRE(absl::IsDataLoss(error_of(0, {2, 3}, {4, 1})));
  REQUIRE(absl::IsDataLoss(error_of(0, {huge, huge}, {1, 1})));
  REQUIRE(absl::IsDataLoss(error_of(0, {huge}, {0})));
  REQUIRE(absl::IsDataLoss(error_of(0, {7}, {0})));  // more than there is
  REQUIRE(absl::IsDataLoss(error_of(0, {2, 2}, {huge, huge})));
  REQUIRE(absl::IsDataLoss(error_of(0, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1))));

  ZipWriter zip;
  zip.Add("a/data.pkl",
          pickle::Program(pickle::Dict(
              {{"w", pickle::Tensor(pickle::Storage("FloatStorage", "0", 6), 0, {6}, {1})}})));
  REQUIRE(absl::StrContains(ErrorOf(zip.Finish()).message(), "missing"));
  zip.Add("a/data/0", FloatBytes({1, 2, 3}));
  REQUIRE(absl::StrContains(ErrorOf(zip.Finish()).message(), "12 bytes"));
}

TEST_CASE("copies of tensors take no more memory than the file has bytes") {
  TorchFileBuilder builder;
  const std::string storage = builder.Storage(TensorDtype::kF32, std::string(40'000, 'x'));
  std::vector<std::string> tensors(4, pickle::Tensor(storage, 0, {100, 100}, {1, 100}));
  const std::string bytes = builder.Build(pickle::List(tensors));
  const auto file = MustRead(bytes);
  REQUIRE(file->ReadTensor(*file->root().items[0]).ok());
  REQUIRE(absl::IsDataLoss(file->ReadTensor(*file->root().items[1]).status()));
}

TEST_CASE("hostile pickles are refused") {
  const auto error_of = [](const std::string& program) { return Pickle::Parse(program).status(); };
  REQUIRE(Pickle::Parse(pickle::Program("N")).ok());
  for (const std::string& program : {
           std::string(),
           std::string("."),
           pickle::Program(""),
           pickle::Program("NN"),
           pickle::Program("(N"),
           pickle::Program("t"),
           pickle::Program("u"),
           pickle::Program("h\x01"),
           pickle::Program("Ns"),
           pickle::Program("NNNs"),
           pickle::Program("R"),
           pickle::Program("NNR"),
           pickle::Program("}(Nu"),
           pickle::Program("N(0t"),
           std::string("\x80\x04N."),
           std::string("\x80\x02"),
           pickle::Program("X\xff\xff\xff\xff"),
           pickle::Program("cos"),
           pickle::Program("\x8a\x09"
                           "123456789"),
           pickle::Program("i"),
           "\x80\x02" + std::string(2 << 20, 'N') + ".",
           "\x80\x02" + std::string(2 << 20, '(') + ".",
       }) {
    INFO(program.substr(0, 20));
    REQUIRE(absl::IsDataLoss(error_of(program)));
  }
  // A list that contains itself, and one of a million levels.
  const auto self =
      Pickle::Parse(pickle::Program("]q\x01h\x01"
                                    "a"));
  REQUIRE(self.ok());
  REQUIRE(self->root().items[0] == &self->root());
  REQUIRE(Pickle::Parse(pickle::Program("N" + std::string(500'000, '\x85'))).ok());
  // One list as the pairs of many dicts.
  std::string pairs = pickle::List(std::vector<std::string>(1000, "NN\x86")) +
                      "q\x01"
                      "0";
  std::string dicts = "(";
  for (int i = 0; i < 100'000; ++i) dicts += "ccollections\nOrderedDict\nh\x01\x85R0";
  REQUIRE(absl::IsDataLoss(error_of(pickle::Program(pairs + dicts + "t"))));
}

TEST_CASE("an archive with two checkpoints or a broken directory is refused") {
  ZipWriter two;
  two.Add("a/data.pkl", pickle::Program("N"));
  two.Add("b/data.pkl", pickle::Program("N"));
  REQUIRE(absl::IsDataLoss(ErrorOf(two.Finish())));
  ZipWriter twice;
  twice.Add("a/data.pkl", pickle::Program("N"));
  twice.Add("a/data.pkl", pickle::Program("N"));
  REQUIRE(absl::IsDataLoss(ErrorOf(twice.Finish())));
}

TEST_CASE("a file cut at any byte is refused") {
  const std::string bytes = SmallFile();
  REQUIRE(TorchPickle::FromBytes(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    INFO(length);
    REQUIRE(absl::IsDataLoss(ErrorOf(cut)));
  }
}

// The numbers of both tensors and of all else, or the error.
absl::StatusOr<std::string> ContentOf(const std::string& bytes) {
  auto file = TorchPickle::FromBytes(bytes);
  if (!file.ok()) return file.status();
  const PickleValue& root = (*file)->root();
  std::string content =
      absl::StrCat(root.Find("epoch")->integer, root.Find("opt")->items[1]->Find("lr")->real);
  for (const char* name : {"w", "t"}) {
    const auto view = (*file)->ReadTensor(*root.Find(name));
    if (!view.ok()) return view.status();
    absl::StrAppend(&content, view->bytes);
  }
  return content;
}

TEST_CASE("a flipped bit is an error, or makes no difference") {
  const std::string bytes = SmallFile();
  const auto content = ContentOf(bytes);
  REQUIRE(content.ok());
  int told = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const auto read = ContentOf(flipped);
    INFO(bit);
    REQUIRE((read.ok()
                 ? *read == *content
                 : absl::IsDataLoss(read.status()) || absl::IsFailedPrecondition(read.status())));
    told += !read.ok();
  }
  REQUIRE(told > static_cast<int>(8 * bytes.size()) / 2);
}

TEST_CASE("a damaged storage is named, and says what to do") {
  std::string bytes = SmallFile();
  const std::string last = FloatBytes({5});
  bytes[bytes.find(last)] ^= 1;
  const absl::Status status = ErrorOf(bytes);
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("archive/data/0") && Catch::Contains("fetch it again"));
}

TEST_CASE("a file of spoilt bytes gives an error or values, nothing else") {
  const std::string bytes = SmallFile();
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string flipped = bytes;
    for (int flips = 0; flips < 4; ++flips) {
      flipped[random() % flipped.size()] = static_cast<char>(random());
    }
    SurvivesReading(flipped);
  }
}

}  // namespace
}  // namespace sightline
