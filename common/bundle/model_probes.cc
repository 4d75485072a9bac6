#include "common/bundle/model_probes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/base/utf8.h"
#include "common/bundle/bundle_file.h"

namespace sightline {
namespace {

using bundle::v1::BundleFile;
using bundle::v1::ModelProbes;
using bundle::v1::ProbeItem;
using bundle::v1::ProbeTensor;
using bundle::v1::ProbeText;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr int kFormatVersion = 1;

// Of all messages together: what the bounds allow, packed as writers pack.  An object of two bytes
// on the wire takes a hundred once it is parsed, so that they are counted before.
constexpr int64_t kMostFields = int64_t{1} << 20;

// Counts the fields of a message and of those within it; whether they are sound, and within
// kMostFields.  Nothing is kept of them.
class FieldCount {
 public:
  explicit FieldCount(google::protobuf::io::CodedInputStream* input) : input_(*input) {}

  bool Message(const Descriptor& type) {
    while (const uint32_t tag = input_.ReadTag()) {
      if (++count_ > kMostFields || !Field(type, tag)) return false;
    }
    return input_.ConsumedEntireMessage();
  }

 private:
  bool Field(const Descriptor& type, uint32_t tag) {
    const FieldDescriptor* const field =
        type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        if (field != nullptr && field->message_type() != nullptr) return Inner(*field);
        return WireFormatLite::SkipField(&input_, tag);
      case WireFormatLite::WIRETYPE_START_GROUP:  // may hold any number of others; we write none
        return false;
      default:
        return WireFormatLite::SkipField(&input_, tag);
    }
  }

  bool Inner(const FieldDescriptor& field) {
    int length = 0;
    if (!input_.ReadVarintSizeAsInt(&length) || length > input_.BytesUntilLimit()) return false;
    const auto outer = input_.PushLimit(length);
    const bool sound = Message(*field.message_type());
    input_.PopLimit(outer);
    return sound;
  }

  google::protobuf::io::CodedInputStream& input_;
  int64_t count_ = 0;
};

bool FieldsAreFew(absl::string_view bytes) {
  const auto length = static_cast<int>(bytes.size());
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               length);
  input.PushLimit(length);
  return FieldCount(&input).Message(*ModelProbes::descriptor());
}

absl::optional<Dtype> DtypeOf(const ProbeTensor& tensor) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8, Dtype::kInt32}) {
    if (tensor.dtype() == DtypeName(dtype)) return dtype;
  }
  return absl::nullopt;
}

template <typename T>
absl::Status InRange(absl::string_view what, T value, T low, T high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not ", low, " to ", high));
}

bool IsTensorName(absl::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxTensorNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

absl::Status CheckText(const ProbeText& text, int item_count) {
  RETURN_IF_ERROR(
      InRange("the length in bytes", text.text().size(), size_t{0}, kMostProbeTextBytes));
  RETURN_IF_ERROR(CheckUtf8(text.text(), "text"));
  std::set<int> seen;
  for (const int item : text.relevant_items()) {
    RETURN_IF_ERROR(InRange("a relevant item", item, 0, item_count - 1));
    if (!seen.insert(item).second) {
      return absl::InvalidArgumentError(absl::StrCat("item ", item, " is relevant twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const ProbeTensor& tensor) {
  if (!IsTensorName(tensor.name())) {
    return absl::InvalidArgumentError("a tensor's name is not [a-z0-9_]{1,64}");
  }
  const absl::optional<Dtype> dtype = DtypeOf(tensor);
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.name(), " has a dtype that is none of float32, float16, int8, int32"));
  }
  RETURN_IF_ERROR(InRange(absl::StrCat(tensor.name(), ".row_count"), tensor.row_count(), int64_t{0},
                          int64_t{limits::kMaxTensorRows}));
  RETURN_IF_ERROR(InRange(absl::StrCat(tensor.name(), ".column_count"), tensor.column_count(),
                          int64_t{1}, int64_t{limits::kMaxTensorColumns}));
  const int64_t bytes =
      tensor.row_count() * tensor.column_count() * static_cast<int64_t>(DtypeSize(*dtype));
  if (static_cast<int64_t>(tensor.data().size()) == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(tensor.name(), " has ", tensor.data().size(),
                                                 " bytes, its shape and dtype give ", bytes));
}

absl::Status CheckItem(const ProbeItem& item) {
  RETURN_IF_ERROR(
      InRange("the number of tensors", item.features_size(), 0, limits::kMaxFeatureTensors));
  std::set<absl::string_view> names;
  int64_t bytes = 0;
  for (const ProbeTensor& tensor : item.features()) {
    RETURN_IF_ERROR(CheckTensor(tensor));
    if (!names.insert(tensor.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat("has ", tensor.name(), " twice"));
    }
    bytes += static_cast<int64_t>(tensor.data().size());
  }
  RETURN_IF_ERROR(
      InRange("the bytes of features", bytes, int64_t{0}, limits::kMaxItemFeatureBytes));
  RETURN_IF_ERROR(
      InRange("the embedding's dimension", item.embedding_size(), 0, limits::kMaxDimension));
  for (const float number : item.embedding()) {
    if (!std::isfinite(number)) return absl::InvalidArgumentError("its embedding is not finite");
  }
  return absl::OkStatus();
}

// Whether it has what the first one has.
absl::Status CheckAlike(const ProbeItem& first, const ProbeItem& item) {
  if (item.features().empty() != first.features().empty()) {
    return absl::InvalidArgumentError("has features and item 0 has none, or the other way round");
  }
  if (item.embedding_size() == first.embedding_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("its embedding has ", item.embedding_size(),
                                                 " numbers, that of item 0 ",
                                                 first.embedding_size()));
}

}  // namespace

absl::Status CheckProbes(const ModelProbes& probes) {
  RETURN_IF_ERROR(InRange("format_version", probes.format_version(), 1, kFormatVersion));
  RETURN_IF_ERROR(
      InRange("the number of texts", probes.texts_size(), kLeastProbeTexts, kMostProbeTexts));
  RETURN_IF_ERROR(
      InRange("the number of items", probes.items_size(), kLeastProbeItems, kMostProbeItems));
  for (int t = 0; t < probes.texts_size(); ++t) {
    RETURN_IF_ERROR(
        Within(absl::StrCat("text ", t), CheckText(probes.texts(t), probes.items_size())));
  }
  const ProbeItem& first = probes.items(0);
  if (first.features().empty() && first.embedding().empty()) {
    return absl::InvalidArgumentError("item 0: has neither features nor an embedding");
  }
  for (int i = 0; i < probes.items_size(); ++i) {
    const std::string place = absl::StrCat("item ", i);
    RETURN_IF_ERROR(Within(place, CheckItem(probes.items(i))));
    RETURN_IF_ERROR(Within(place, CheckAlike(first, probes.items(i))));
  }
  return InRange("the number of bytes", static_cast<int64_t>(probes.ByteSizeLong()), int64_t{0},
                 kMaxProbesBytes);
}

std::string SerializeProbes(const ModelProbes& probes) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  probes.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

absl::StatusOr<ModelProbes> ParseProbes(absl::string_view bytes) {
  ModelProbes probes;
  if (bytes.size() > kMaxProbesBytes || !FieldsAreFew(bytes) ||
      !probes.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("is no message of probes");
  }
  if (probes.format_version() > kFormatVersion) {
    return MakeError(reasons::kNewerFormat,
                     absl::StrCat("format_version ", probes.format_version(), " is newer than the ",
                                  kFormatVersion, " that this program reads; update the program"));
  }
  const absl::Status sound = CheckProbes(probes);
  if (!sound.ok()) return absl::DataLossError(sound.message());
  return probes;
}

bool HasProbes(const bundle::v1::ModelBundleManifest& manifest) {
  return std::any_of(manifest.files().begin(), manifest.files().end(),
                     [](const BundleFile& file) { return file.path() == kProbesFile; });
}

absl::StatusOr<ModelProbes> ReadModelProbes(const ModelBundle& bundle) {
  if (!HasProbes(bundle.manifest)) {
    return absl::NotFoundError(absl::StrCat("model ", bundle.id, " has no probes"));
  }
  const std::string path = bundle.FilePath(kProbesFile);
  for (const BundleFile& file : bundle.manifest.files()) {
    if (file.path() == kProbesFile && file.byte_count() > kMaxProbesBytes) {
      return absl::DataLossError(absl::StrCat(path, " has ", file.byte_count(),
                                              " bytes; probes have at most ", kMaxProbesBytes));
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> content,
                   ReadBundleFile(bundle, kProbesFile));
  absl::StatusOr<ModelProbes> probes =
      ParseProbes(absl::string_view(content->data(), static_cast<size_t>(content->size())));
  if (!probes.ok()) return WithPrefix(probes.status(), path);
  return probes;
}

absl::StatusOr<ModelBundle> WithProbes(const ModelBundle& bundle, const ModelProbes& probes,
                                       absl::string_view store) {
  RETURN_IF_ERROR(CheckProbes(probes));
  RETURN_IF_ERROR(OpenModelBundle(bundle.directory, /*verify_checksums=*/true).status());
  std::map<std::string, ContentWriter> files;
  for (const BundleFile& file : bundle.manifest.files()) {
    files[file.path()] = ContentOfFile(bundle.FilePath(file.path()));
  }
  files[std::string(kProbesFile)] = [bytes = SerializeProbes(probes)](const ByteSink& sink) {
    return sink(bytes);
  };
  return StreamModelBundle(store, bundle.manifest, files);
}

ItemFeatures FeaturesOf(const ProbeItem& item) {
  ItemFeatures features;
  for (const ProbeTensor& tensor : item.features()) {
    features.tensors.push_back({tensor.name(), DtypeOf(tensor).value_or(Dtype::kBytes),
                                tensor.row_count(), tensor.column_count(), tensor.data()});
  }
  return features;
}

void SetFeatures(const ItemFeatures& features, ProbeItem* item) {
  item->clear_features();
  for (const FeatureTensor& tensor : features.tensors) {
    ProbeTensor* out = item->add_features();
    out->set_name(tensor.name);
    out->set_dtype(DtypeName(tensor.dtype));
    out->set_row_count(tensor.rows);
    out->set_column_count(tensor.columns);
    out->set_data(tensor.bytes);
  }
}

}  // namespace sightline
