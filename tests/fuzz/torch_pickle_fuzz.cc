// Any bytes as a torch.save file.  Input that begins like a zip archive is read as it is;
// all else is the pickle of a sound archive with one storage of eight numbers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/formats/torch_pickle.h"
#include "common/formats/zip_archive.h"
#include "tests/common/formats/zip_writer.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckTensor(const sightline::TensorView& view, size_t file_size) {
  int64_t bytes = static_cast<int64_t>(sightline::TensorDtypeSize(view.dtype));
  for (const int64_t extent : view.shape) {
    Require(extent >= 0);
    if (extent == 0) bytes = 0;
  }
  if (bytes > 0) {
    for (const int64_t extent : view.shape) bytes *= extent;
  }
  Require(bytes == static_cast<int64_t>(view.bytes.size()));
  Require(view.bytes.size() <= file_size);
  uint64_t sum = 0;
  for (const char byte : view.bytes) sum += static_cast<unsigned char>(byte);
  Require(sum <= 255 * view.bytes.size());
}

// As far as a reader of checkpoints goes, and no more than `*budget` values.
void Visit(const sightline::PickleValue& value, int depth, size_t file_size, int* budget,
           sightline::TorchPickle* file) {
  if (depth == 0 || --*budget < 0) return;
  if (sightline::TorchPickle::IsTensor(value)) {
    const auto view = file->ReadTensor(value);
    if (view.ok()) {
      CheckTensor(*view, file_size);
    } else {
      Require(absl::IsDataLoss(view.status()) || absl::IsInvalidArgument(view.status()));
    }
  }
  value.Find("model");
  for (const sightline::PickleValue* item : value.items) {
    Require(item != nullptr);
    Visit(*item, depth - 1, file_size, budget, file);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  std::string bytes(input);
  if (!sightline::LooksLikeZip(input)) {
    sightline::ZipWriter zip;
    zip.Add("a/data.pkl", input);
    zip.Add("a/data/0", std::string(32, '\x3f'));
    bytes = zip.Finish();
  }
  const auto file = sightline::TorchPickle::FromBytes(bytes);
  if (!file.ok()) {
    Require(absl::IsDataLoss(file.status()) || absl::IsFailedPrecondition(file.status()));
    return 0;
  }
  int budget = 1000;
  Visit((*file)->root(), 6, bytes.size(), &budget, file->get());
  return 0;
}
