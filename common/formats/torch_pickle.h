// Checkpoints as torch.save writes them since PyTorch 1.6: a zip archive of a pickle
// (NAME/data.pkl) and of the tensors' storages (NAME/data/0, ...), which it refers to.
//
//   ASSIGN_OR_RETURN(auto file, TorchPickle::Open("pytorch_model.bin"));
//   const PickleValue* weight = file->root().Find("classifier.weight");
//   ASSIGN_OR_RETURN(TensorView view, file->ReadTensor(*weight));
//
// Nothing of the file is executed: see pickle.h.
#ifndef SIGHTLINE_COMMON_FORMATS_TORCH_PICKLE_H_
#define SIGHTLINE_COMMON_FORMATS_TORCH_PICKLE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "common/formats/pickle.h"
#include "common/formats/safetensors.h"
#include "common/formats/zip_archive.h"

namespace sightline {

// Not thread-safe: reading a tensor may have to copy it.
class TorchPickle {
 public:
  // DataLoss: the archive or the pickle is broken.  FailedPrecondition, telling what to do:
  // a checkpoint of before PyTorch 1.6, a TorchScript module, an archive that is compressed,
  // encrypted or divided, numbers of a big-endian machine.  NotFound, and so on, from opening.
  static absl::StatusOr<std::unique_ptr<TorchPickle>> Open(absl::string_view path);
  // The same over bytes in memory that outlive the object.
  static absl::StatusOr<std::unique_ptr<TorchPickle>> FromBytes(absl::string_view bytes);

  const PickleValue& root() const { return pickle_.root(); }

  // Whether `value` says that it is a tensor or a parameter.
  static bool IsTensor(const PickleValue& value);

  // The tensor that `value` of this file's tree stands for.  Its bytes lie in the mapping,
  // or, if its elements do not lie in order there, in a copy that this object owns; of all
  // copies together there are at most as many bytes as the file has.
  //
  // DataLoss: a storage that is missing, damaged (its checksum is compared before its first
  // tensor is given) or of another length, a shape that does not fit
  // it, more elements than the storage has.  InvalidArgument: no tensor, or one of a kind
  // that is not read (quantised, sparse, complex).
  absl::StatusOr<TensorView> ReadTensor(const PickleValue& value);

 private:
  TorchPickle() = default;
  absl::Status Parse(absl::string_view bytes);

  struct Storage {
    TensorDtype dtype = TensorDtype::kF32;
    absl::string_view bytes;
  };
  // A member with the numbers of tensors.
  struct StoredTensors {
    ZipMember member;
    bool checked = false;  // against its checksum
  };
  absl::StatusOr<Storage> FindStorage(const PickleValue& reference);
  absl::StatusOr<absl::string_view> Gather(const TensorView& tensor,
                                           const std::vector<int64_t>& strides, int64_t offset,
                                           absl::string_view storage);

  std::unique_ptr<MappedFile> file_;
  std::map<std::string, StoredTensors> storages_;  // by key
  Pickle pickle_;
  std::list<std::string> copies_;
  size_t copy_budget_ = 0;  // bytes
};

// Whether the file's first bytes are those of a zip archive or of any pickle.
bool LooksLikeTorchFile(absl::string_view bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_TORCH_PICKLE_H_
