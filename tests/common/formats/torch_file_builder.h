// Files as torch.save writes them, made of parts, right or wrong.
//
//   TorchFileBuilder file;
//   const std::string weight = file.Tensor({TensorDtype::kF32, {2, 2}, bytes});
//   std::string bytes = file.Build(pickle::Dict({{"weight", weight}}));
#ifndef SIGHTLINE_TESTS_COMMON_FORMATS_TORCH_FILE_BUILDER_H_
#define SIGHTLINE_TESTS_COMMON_FORMATS_TORCH_FILE_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/formats/safetensors.h"
#include "tests/common/formats/zip_writer.h"

namespace sightline {

// Instructions of protocol 2 that push one value each.
namespace pickle {

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline std::string Int(int32_t value) {
  return "J" + Bytes(value);
}
inline std::string Long(int64_t value) {
  return "\x8a\x08" + Bytes(value);
}
inline std::string Text(absl::string_view text) {
  return absl::StrCat("X", Bytes(static_cast<uint32_t>(text.size())), text);
}
inline std::string Joined(const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& value : values) all += value;
  return all;
}
inline std::string Tuple(const std::vector<std::string>& values) {
  return "(" + Joined(values) + "t";
}
inline std::string List(const std::vector<std::string>& values) {
  return "](" + Joined(values) + "e";
}
inline std::string Items(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = "(";
  for (const auto& [key, value] : items) all += Text(key) + value;
  return all + "u";
}
inline std::string Dict(const std::vector<std::pair<std::string, std::string>>& items) {
  return "}" + Items(items);
}
inline std::string Global(absl::string_view module, absl::string_view name) {
  return absl::StrCat("c", module, "\n", name, "\n");
}
inline std::string Call(const std::string& callable, const std::vector<std::string>& arguments) {
  return callable + Tuple(arguments) + "R";
}
inline std::string Ints(const std::vector<int64_t>& numbers) {
  std::vector<std::string> values;
  for (const int64_t number : numbers) values.push_back(Long(number));
  return Tuple(values);
}
inline std::string OrderedDict(const std::vector<std::pair<std::string, std::string>>& items) {
  return Call(Global("collections", "OrderedDict"), {}) + Items(items);
}
// A reference to `count` numbers of the storage `key`.
inline std::string Storage(const std::string& type, const std::string& key, int64_t count) {
  return Tuple({Text("storage"), Global("torch", type), Text(key), Text("cpu"), Long(count)}) + "Q";
}
inline std::string Tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  return Call(Global("torch._utils", "_rebuild_tensor_v2"),
              {storage, Long(offset), Ints(shape), Ints(strides), "\x89", OrderedDict({})});
}
inline std::string Namespace(const std::vector<std::pair<std::string, std::string>>& items) {
  return Global("argparse", "Namespace") + ")\x81" + Dict(items) + "b";
}
inline std::string Program(const std::string& value) {
  return "\x80\x02" + value + ".";
}

}  // namespace pickle

class TorchFileBuilder {
 public:
  // The value of a contiguous tensor with a storage of its own.
  std::string Tensor(const TensorView& tensor) {
    std::vector<int64_t> strides(tensor.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape[i];
    return pickle::Tensor(Storage(tensor.dtype, tensor.bytes), 0, tensor.shape, strides);
  }

  // A reference to a new storage of these bytes.
  std::string Storage(TensorDtype dtype, absl::string_view bytes) {
    const std::string key = absl::StrCat(storages_.size());
    storages_.emplace_back(bytes);
    return pickle::Storage(TypeOf(dtype), key,
                           static_cast<int64_t>(bytes.size() / TensorDtypeSize(dtype)));
  }

  // With `zip64`, the archive is of the form that those beyond 4 GB have.
  std::string Build(const std::string& root, bool zip64 = false) const {
    ZipWriter zip(zip64);
    zip.Add("archive/data.pkl", pickle::Program(root));
    for (size_t i = 0; i < storages_.size(); ++i) {
      zip.Add(absl::StrCat("archive/data/", i), storages_[i]);
    }
    zip.Add("archive/version", "3\n");
    return zip.Finish();
  }

 private:
  static std::string TypeOf(TensorDtype dtype) {
    switch (dtype) {
      case TensorDtype::kF16:
        return "HalfStorage";
      case TensorDtype::kBf16:
        return "BFloat16Storage";
      case TensorDtype::kF64:
        return "DoubleStorage";
      case TensorDtype::kI64:
        return "LongStorage";
      default:
        return "FloatStorage";
    }
  }

  std::vector<std::string> storages_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_FORMATS_TORCH_FILE_BUILDER_H_
