#include "services/sightlinectl/describe_file.h"

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "common/config/table.h"
#include "common/dataset/region_file.h"
#include "services/sightlinectl/model_text.h"

namespace sightline {
namespace {

std::string Shape(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

const char* TensorDtypeName(TensorDtype dtype) {
  switch (dtype) {
    case TensorDtype::kF64:
      return "F64";
    case TensorDtype::kF32:
      return "F32";
    case TensorDtype::kF16:
      return "F16";
    case TensorDtype::kBf16:
      return "BF16";
    case TensorDtype::kI64:
      return "I64";
    case TensorDtype::kI32:
      return "I32";
    case TensorDtype::kI16:
      return "I16";
    case TensorDtype::kI8:
      return "I8";
    case TensorDtype::kU8:
      return "U8";
    case TensorDtype::kBool:
      return "BOOL";
  }
  return "";
}

absl::StatusOr<std::string> DescribeSafetensors(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file, Safetensors::Open(path));
  std::string text =
      absl::StrCat("safetensors file ", path, "\n  ", file->tensors().size(), " tensors, ",
                   WithThousands(ParameterCount(*file)), " parameters\n", TensorTable(*file));
  for (const auto& [key, value] : file->metadata()) {
    absl::StrAppend(&text, "  ", Printable(key, 0), ": ", Printable(value, 200), "\n");
  }
  return text;
}

std::string BoxesText(const RegionFile& file) {
  if (!file.has_boxes()) return "none";
  return absl::StrCat("x1/W, y1/H, x2/W, y2/H", file.has_box_sizes() ? ", w/W, h/H" : "");
}

std::string SoftLabelsText(const RegionFile& file) {
  if (file.soft_label_count() == 0) return "none";
  return absl::StrCat(file.soft_label_count(), " classes a region");
}

// What is in a region file, in the words of its schema.
absl::StatusOr<std::string> DescribeRegions(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RegionFile> file, RegionFile::Open(path));
  int64_t captions = 0, tags = 0, ocr_tokens = 0;
  for (int64_t i = 0; i < file->item_count(); ++i) {
    ASSIGN_OR_RETURN(const ItemLine line, file->Item(i));
    captions += static_cast<int64_t>(line.captions.size());
    tags += static_cast<int64_t>(line.tags.size());
    ocr_tokens += static_cast<int64_t>(line.ocr_tokens.size());
  }
  return absl::StrCat(
      "region file ", path, "\n",
      AlignedLines({{"items", WithThousands(file->item_count())},
                    {"regions", WithThousands(file->region_count())},
                    {"features", absl::StrCat(file->feature_size(), " numbers, ",
                                              DtypeName(file->feature_dtype()))},
                    {"boxes", BoxesText(*file)},
                    {"confidences", file->has_confidences() ? "one a region" : "none"},
                    {"soft labels", SoftLabelsText(*file)},
                    {"captions", WithThousands(captions)},
                    {"tags", WithThousands(tags)},
                    {"OCR tokens", WithThousands(ocr_tokens)}}));
}

absl::StatusOr<std::string> DescribeContainer(const std::string& path, bool verify) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> file, Container::Open(path));
  Table table({{"section"},
               {"dtype"},
               {"shape"},
               {"stride", true},
               {"offset", true},
               {"length", true},
               {"checksums", true}});
  for (const Section& section : file->sections()) {
    table.AddRow({section.name, DtypeName(section.dtype), Shape(section.shape),
                  absl::StrCat(section.row_stride_bytes), WithThousands(section.offset),
                  WithThousands(section.length), absl::StrCat(section.checksums.size())});
  }
  std::string text;
  if (file->Find(kRegionItemsSection) != nullptr) {
    ASSIGN_OR_RETURN(text, DescribeRegions(path));
  }
  absl::StrAppend(&text, "container ", path, "\n  ", file->sections().size(), " sections, ",
                  WithThousands(file->file_length()), " bytes\n", table.ToString(2));
  if (!verify) return text;
  RETURN_IF_ERROR(file->Verify());
  return text + kVerified;
}

bool LooksLikeContainer(const std::string& path) {
  const auto file = RandomAccessFile::Open(path);
  std::string start(kContainerMagic.size(), '\0');
  return file.ok() && (*file)->Read(0, static_cast<int64_t>(start.size()), start.data()).ok() &&
         start == kContainerMagic;
}

}  // namespace

int64_t ParameterCount(const Safetensors& weights) {
  int64_t count = 0;
  for (const auto& [name, tensor] : weights.tensors()) {
    int64_t elements = 1;
    for (int64_t size : tensor.shape) elements *= size;
    count += elements;
  }
  return count;
}

std::string TensorTable(const Safetensors& weights) {
  Table table({{"tensor"}, {"dtype"}, {"shape"}, {"bytes", true}});
  for (const auto& [name, tensor] : weights.tensors()) {
    table.AddRow({name, TensorDtypeName(tensor.dtype), Shape(tensor.shape),
                  WithThousands(tensor.bytes.size())});
  }
  return table.ToString(2);
}

absl::StatusOr<std::string> DescribeFile(const std::string& path, bool verify) {
  if (LooksLikeContainer(path)) return DescribeContainer(path, verify);
  if (!absl::EndsWith(path, ".safetensors")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is neither a container nor a .safetensors file"));
  }
  if (verify) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": a safetensors file has no checksums of its own; --verify its bundle"));
  }
  return DescribeSafetensors(path);
}

}  // namespace sightline
