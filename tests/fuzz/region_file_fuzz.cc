// Region files whose checksums are right and whose contents are anybody's.  The input is: one
// byte of flags (1 boxes, 2 confidences, 4 float16, 8 the rest is the file itself, 16 box sizes,
// 32 soft labels, 64 in float16), the width of features, the number of regions, the number of
// items, two bytes for each of their offsets (items', then regions'), with soft labels the number
// of classes, then the bytes of features, boxes, sizes, confidences, soft labels and items.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/dtype.h"
#include "common/dataset/region_file.h"
#include "common/image/region_set.h"
#include "tests/common/formats/npz_writer.h"

namespace {

using sightline::Dtype;
using sightline::LittleEndian;

constexpr int64_t kMaxBytes = 1 << 16;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint64_t Number(int bytes) {
    uint64_t number = 0;
    for (int i = 0; i < bytes && size_ > 0; ++i, ++data_, --size_) {
      number |= uint64_t{*data_} << (8 * i);
    }
    return number;
  }
  // Zeros behind the end.
  std::string Bytes(size_t count) {
    const size_t there = std::min(count, size_);
    std::string bytes(reinterpret_cast<const char*>(data_), there);
    bytes.resize(count);
    data_ += there;
    size_ -= there;
    return bytes;
  }
  std::string Rest() { return Bytes(size_); }

 private:
  const uint8_t* data_;
  size_t size_;
};

// A container in memory (common/bundle/container.h), of sections of less than a MiB.
class FileMaker {
 public:
  void Add(const std::string& name, Dtype dtype, const std::vector<uint64_t>& shape,
           const std::string& data) {
    const size_t stride =
        sightline::DtypeSize(dtype) * (shape.size() == 2 ? static_cast<size_t>(shape[1]) : 1);
    absl::StrAppend(&table_, LittleEndian(name.size(), 2), name,
                    LittleEndian(static_cast<uint32_t>(dtype), 4), LittleEndian(shape.size(), 4));
    for (const uint64_t extent : shape) absl::StrAppend(&table_, LittleEndian(extent, 8));
    absl::StrAppend(&table_, LittleEndian(stride, 8), LittleEndian(kFirst + data_.size(), 8),
                    LittleEndian(data.size(), 8), LittleEndian(data.empty() ? 0 : 1, 4));
    if (!data.empty()) absl::StrAppend(&table_, LittleEndian(sightline::Crc32c(data), 4));
    data_ += data;
    length_ = data_.size();
    data_.resize((data_.size() + 4095) / 4096 * 4096);
    ++count_;
  }

  std::string Finish() {
    std::string header = absl::StrCat(
        "SIGHTLN1", LittleEndian(1, 4), LittleEndian(count_, 4), LittleEndian(table_.size(), 8),
        LittleEndian(kFirst + length_, 8), LittleEndian(sightline::Crc32c(table_), 4));
    absl::StrAppend(&header, LittleEndian(sightline::Crc32c(header), 4), table_);
    header.resize(kFirst);
    return header + data_.substr(0, length_);
  }

 private:
  static constexpr size_t kFirst = 4096;
  std::string table_, data_;
  size_t length_ = 0, count_ = 0;
};

std::string Offsets(Input& input, uint64_t count) {
  std::string bytes;
  // Signed, so that some are negative.
  for (uint64_t i = 0; i <= count; ++i) {
    const int64_t offset = static_cast<int16_t>(input.Number(2));
    absl::StrAppend(&bytes, LittleEndian(static_cast<uint64_t>(offset), 8));
  }
  return bytes;
}

std::string MakeFile(uint64_t flags, Input& input) {
  const uint64_t width = input.Number(1), rows = input.Number(1), items = input.Number(1);
  const Dtype dtype = (flags & 4) != 0 ? Dtype::kFloat16 : Dtype::kFloat32;
  const std::string item_offsets = Offsets(input, items), row_offsets = Offsets(input, items);
  const uint64_t classes = (flags & 32) != 0 ? input.Number(1) : 0;
  FileMaker file;
  file.Add("regions/item_offsets", Dtype::kInt64, {items + 1}, item_offsets);
  file.Add("regions/row_offsets", Dtype::kInt64, {items + 1}, row_offsets);
  file.Add("regions/features", dtype, {rows, width},
           input.Bytes(rows * width * sightline::DtypeSize(dtype)));
  if ((flags & 1) != 0) {
    file.Add("regions/boxes", Dtype::kFloat32, {rows, 4}, input.Bytes(rows * 16));
  }
  if ((flags & 16) != 0) {
    file.Add("regions/box_sizes", Dtype::kFloat32, {rows, 2}, input.Bytes(rows * 8));
  }
  if ((flags & 2) != 0) {
    file.Add("regions/confidences", Dtype::kFloat32, {rows}, input.Bytes(rows * 4));
  }
  if ((flags & 32) != 0) {
    const Dtype precision = (flags & 64) != 0 ? Dtype::kFloat16 : Dtype::kFloat32;
    file.Add("regions/soft_labels", precision, {rows, classes},
             input.Bytes(rows * classes * sightline::DtypeSize(precision)));
  }
  const std::string lines = input.Rest();
  file.Add("regions/items", Dtype::kBytes, {lines.size()}, lines);
  return file.Finish();
}

void CheckLabels(const sightline::RegionFile& file, int64_t item) {
  const auto labels = file.SoftLabels(item, kMaxBytes);
  const int classes = file.soft_label_count();
  if (!labels.ok()) {
    Require(classes > 0 && absl::IsInvalidArgument(labels.status()));
  } else if (classes == 0) {
    Require(labels->empty());
  } else {
    Require(sightline::CheckSoftLabels(*labels, classes).ok());
    Require(static_cast<int64_t>(labels->size() * sizeof(float)) <= kMaxBytes);
  }
}

void CheckItems(const sightline::RegionFile& file) {
  const absl::Status whole = file.VerifyItems();
  Require(whole.ok() || absl::IsDataLoss(whole));
  for (int64_t i = 0; i < file.item_count(); ++i) {
    const auto item = file.Item(i);
    Require(item.ok() ? !item->id.empty() : absl::IsInvalidArgument(item.status()));
    const auto regions = file.Regions(i, kMaxBytes);
    if (regions.ok()) {
      Require(sightline::CheckRegionSet(*regions).ok());
      Require(regions->feature_size == file.feature_size());
    } else {
      Require(absl::IsInvalidArgument(regions.status()));
    }
    CheckLabels(file, i);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint64_t flags = input.Number(1);
  const std::string made = (flags & 8) != 0 ? input.Rest() : MakeFile(flags, input);
  const std::vector<char> exact(made.begin(), made.end());
  const auto file = sightline::RegionFile::FromBytes(absl::string_view(exact.data(), exact.size()));
  if (file.ok()) {
    CheckItems(**file);
  } else {
    Require(absl::IsDataLoss(file.status()) || absl::IsFailedPrecondition(file.status()));
  }
  return 0;
}
