#include "common/formats/torch_pickle.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/formats/zip_archive.h"

namespace sightline {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxRank = 16;
constexpr absl::string_view kPickleMember = "/data.pkl";

struct StorageKind {
  absl::string_view name;
  TensorDtype dtype;
};

constexpr StorageKind kStorageKinds[] = {
    {"torch.FloatStorage", TensorDtype::kF32},     {"torch.HalfStorage", TensorDtype::kF16},
    {"torch.BFloat16Storage", TensorDtype::kBf16}, {"torch.DoubleStorage", TensorDtype::kF64},
    {"torch.LongStorage", TensorDtype::kI64},      {"torch.IntStorage", TensorDtype::kI32},
    {"torch.ShortStorage", TensorDtype::kI16},     {"torch.CharStorage", TensorDtype::kI8},
    {"torch.ByteStorage", TensorDtype::kU8},       {"torch.BoolStorage", TensorDtype::kBool},
};

std::string Shown(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), text.size() > 100 ? "..." : "",
                      "'");
}

absl::Status Broken(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("broken checkpoint: ", why));
}

// "archive" of the one member "archive/data.pkl".
absl::StatusOr<std::string> RootOf(const ZipArchive& archive) {
  std::string root;
  for (const ZipMember& member : archive.members()) {
    absl::string_view folder = member.name;
    if (!absl::ConsumeSuffix(&folder, kPickleMember) || absl::StrContains(folder, '/')) continue;
    if (!root.empty()) return Broken("there are two data.pkl in the archive");
    root = std::string(folder);
  }
  if (root.empty()) {
    return absl::FailedPreconditionError(
        "the zip archive holds no NAME/data.pkl, so torch.save did not write it; unpack it and "
        "name the checkpoint inside");
  }
  return root;
}

absl::Status CheckByteOrder(const ZipMember& member) {
  ASSIGN_OR_RETURN(const absl::string_view order, member.Stored());
  if (order == "little") return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the numbers are of byte order ", Shown(order),
                   "; save the checkpoint again on a little-endian machine"));
}

// Of a tuple or list of numbers that are not negative.
absl::StatusOr<std::vector<int64_t>> Extents(const PickleValue& value) {
  if ((value.kind != Kind::kTuple && value.kind != Kind::kList) || value.items.size() > kMaxRank) {
    return Broken("a tensor's shape is no short tuple");
  }
  std::vector<int64_t> extents;
  for (const PickleValue* item : value.items) {
    if (item->kind != Kind::kInt || item->integer < 0) {
      return Broken("a tensor's shape or stride holds what is no number of elements");
    }
    extents.push_back(item->integer);
  }
  return extents;
}

// Whether elements lie one after another, the last dimension fastest.
bool IsContiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// Elements of `shape`; -1 beyond 2^63.
int64_t Product(const std::vector<int64_t>& shape) {
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

// One more than the index of the last element; -1 beyond 2^63.
int64_t Reach(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
              int64_t offset) {
  int64_t last = offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t step;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return -1;
    }
  }
  return __builtin_add_overflow(last, 1, &last) ? -1 : last;
}

// The tensor behind a parameter; `value` itself if it is none.
const PickleValue& WithoutParameter(const PickleValue& value) {
  if (value.kind == Kind::kObject && value.text == "torch._utils._rebuild_parameter" &&
      !value.items[0]->items.empty()) {
    return *value.items[0]->items[0];
  }
  return value;
}

bool IsRebuildTensor(const PickleValue& value) {
  return value.kind == Kind::kObject && (value.text == "torch._utils._rebuild_tensor_v2" ||
                                         value.text == "torch._utils._rebuild_tensor");
}

absl::Status CheckBeginning(absl::string_view bytes) {
  if (LooksLikeZip(bytes)) return absl::OkStatus();
  // The tar of before 2018, or the bare pickles of before 1.6.
  constexpr size_t kTarMagic = 257;
  const bool tar = bytes.size() > kTarMagic && absl::StartsWith(bytes.substr(kTarMagic), "ustar");
  if (tar || absl::StartsWith(bytes, "\x80")) {
    return absl::FailedPreconditionError(
        "the checkpoint is of the form that torch.save wrote before PyTorch 1.6; turn it into "
        "safetensors with deploy/models/to_safetensors.py, where PyTorch is");
  }
  return Broken("it does not begin as torch.save's files do");
}

}  // namespace

bool LooksLikeTorchFile(absl::string_view bytes) {
  const absl::Status status = CheckBeginning(bytes);
  return status.ok() || absl::IsFailedPrecondition(status);
}

absl::StatusOr<std::unique_ptr<TorchPickle>> TorchPickle::Open(absl::string_view path) {
  std::unique_ptr<TorchPickle> result(new TorchPickle);
  ASSIGN_OR_RETURN(result->file_, MappedFile::Open(path));
  RETURN_IF_ERROR(WithPrefix(result->Parse(result->file_->bytes()), path));
  return result;
}

absl::StatusOr<std::unique_ptr<TorchPickle>> TorchPickle::FromBytes(absl::string_view bytes) {
  std::unique_ptr<TorchPickle> result(new TorchPickle);
  RETURN_IF_ERROR(result->Parse(bytes));
  return result;
}

absl::Status TorchPickle::Parse(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckBeginning(bytes));
  ASSIGN_OR_RETURN(const ZipArchive archive, ZipArchive::Parse(bytes));
  ASSIGN_OR_RETURN(const std::string root, RootOf(archive));
  if (archive.Find(root + "/constants.pkl") != nullptr) {
    return absl::FailedPreconditionError(
        "the file is a TorchScript module, not a checkpoint; sightlinectl convert --scripts "
        "FOLDER makes a bundle of such modules, and deploy/models/script_clip.py makes them of "
        "OpenAI's CLIP");
  }
  const ZipMember* const order = archive.Find(root + "/byteorder");
  if (order != nullptr) RETURN_IF_ERROR(CheckByteOrder(*order));
  const ZipMember* const pickle = archive.Find(absl::StrCat(root, kPickleMember));
  ASSIGN_OR_RETURN(const absl::string_view program, pickle->Stored());
  RETURN_IF_ERROR(pickle->CheckStored());
  ASSIGN_OR_RETURN(pickle_, Pickle::Parse(program));
  const std::string folder = root + "/data/";
  for (const ZipMember& member : archive.members()) {
    absl::string_view key = member.name;
    if (!absl::ConsumePrefix(&key, folder)) continue;
    RETURN_IF_ERROR(member.Stored().status());
    storages_[std::string(key)].member = member;
  }
  copy_budget_ = bytes.size();
  return absl::OkStatus();
}

bool TorchPickle::IsTensor(const PickleValue& value) {
  return IsRebuildTensor(WithoutParameter(value));
}

// ('storage', torch.FloatStorage, key, location, number of elements)
absl::StatusOr<TorchPickle::Storage> TorchPickle::FindStorage(const PickleValue& reference) {
  if (reference.kind != Kind::kPersistent || reference.items[0]->items.size() != 5) {
    return Broken("a tensor without a storage");
  }
  const std::vector<const PickleValue*>& id = reference.items[0]->items;
  if (id[0]->text != "storage" || id[2]->kind != Kind::kText || id[4]->kind != Kind::kInt) {
    return Broken("a reference that is none to a storage");
  }
  Storage storage;
  const StorageKind* kind = nullptr;
  for (const StorageKind& known : kStorageKinds) {
    if (id[1]->kind == Kind::kGlobal && id[1]->text == known.name) kind = &known;
  }
  if (kind == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of type ", Shown(id[1]->text), " cannot be read"));
  }
  storage.dtype = kind->dtype;
  const auto found = storages_.find(id[2]->text);
  if (found == storages_.end()) {
    return Broken(absl::StrCat("storage ", Shown(id[2]->text), " is missing"));
  }
  StoredTensors& stored = found->second;
  storage.bytes = stored.member.raw;
  int64_t length;
  if (__builtin_mul_overflow(id[4]->integer, static_cast<int64_t>(TensorDtypeSize(storage.dtype)),
                             &length) ||
      length != static_cast<int64_t>(storage.bytes.size())) {
    return Broken(absl::StrCat("storage ", Shown(id[2]->text), " has ", storage.bytes.size(),
                               " bytes, which are not ", id[4]->integer, " numbers"));
  }
  if (!stored.checked) {
    RETURN_IF_ERROR(stored.member.CheckStored());
    stored.checked = true;
  }
  return storage;
}

absl::StatusOr<TensorView> TorchPickle::ReadTensor(const PickleValue& value) {
  const PickleValue& call = WithoutParameter(value);
  if (!IsRebuildTensor(call)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no tensor that can be read",
                     call.text.empty() ? "" : absl::StrCat(": ", Shown(call.text))));
  }
  const std::vector<const PickleValue*>& arguments = call.items[0]->items;
  if (arguments.size() < 4 || arguments[1]->kind != Kind::kInt) {
    return Broken("a tensor without storage, offset, shape and stride");
  }
  ASSIGN_OR_RETURN(const Storage storage, FindStorage(*arguments[0]));
  TensorView tensor;
  tensor.dtype = storage.dtype;
  ASSIGN_OR_RETURN(tensor.shape, Extents(*arguments[2]));
  ASSIGN_OR_RETURN(const std::vector<int64_t> strides, Extents(*arguments[3]));
  const int64_t offset = arguments[1]->integer;
  const auto size = static_cast<int64_t>(TensorDtypeSize(tensor.dtype));
  const int64_t available = static_cast<int64_t>(storage.bytes.size()) / size;
  const int64_t count = Product(tensor.shape);
  const auto refuse = [&](absl::string_view why) {
    return Broken(absl::StrCat("a tensor of shape [", absl::StrJoin(tensor.shape, ", "), "] at ",
                               offset, " of a storage of ", available, " numbers: ", why));
  };
  if (strides.size() != tensor.shape.size()) return refuse("another number of strides");
  if (count < 0 || offset < 0 || offset > available) return refuse("outside of the storage");
  if (count == 0) return tensor;
  const int64_t reach = Reach(tensor.shape, strides, offset);
  if (reach < 0 || reach > available) return refuse("outside of the storage");
  if (count > available) return refuse("more elements than the storage has");
  if (IsContiguous(tensor.shape, strides)) {
    tensor.bytes = storage.bytes.substr(offset * size, count * size);
    return tensor;
  }
  ASSIGN_OR_RETURN(tensor.bytes, Gather(tensor, strides, offset, storage.bytes));
  return tensor;
}

absl::StatusOr<absl::string_view> TorchPickle::Gather(const TensorView& tensor,
                                                      const std::vector<int64_t>& strides,
                                                      int64_t offset, absl::string_view storage) {
  const size_t size = TensorDtypeSize(tensor.dtype);
  const size_t bytes = static_cast<size_t>(Product(tensor.shape)) * size;
  if (bytes > copy_budget_) {
    return Broken("the tensors that do not lie in order have more bytes than the file");
  }
  copy_budget_ -= bytes;
  std::string copy;
  copy.reserve(bytes);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  while (copy.size() < bytes) {
    copy.append(storage.data() + offset * size, size);
    // The next index, as an odometer turns.
    for (size_t i = index.size(); i-- > 0;) {
      if (tensor.shape[i] == 1) continue;  // its stride may be any number
      offset += strides[i];
      if (++index[i] < tensor.shape[i]) break;
      offset -= strides[i] * tensor.shape[i];
      index[i] = 0;
    }
  }
  copies_.push_back(std::move(copy));
  return absl::string_view(copies_.back());
}

}  // namespace sightline
