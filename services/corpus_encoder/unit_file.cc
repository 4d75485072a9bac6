#include "services/corpus_encoder/unit_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr Dtype kTensorDtypes[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8,
                                   Dtype::kInt32,   Dtype::kInt64,   Dtype::kBytes};

Json DescribeTensor(const FeatureTensor& tensor, size_t reranker) {
  Json described = {{"name", tensor.name},
                    {"dtype", DtypeName(tensor.dtype)},
                    {"rows", tensor.rows},
                    {"columns", tensor.columns}};
  if (reranker > 0) described["reranker"] = reranker;
  return described;
}

Json Describe(const std::vector<UnitRow>& rows) {
  Json described = Json::array();
  for (const UnitRow& row : rows) {
    Json entry = {{"id", row.item_id}};
    if (!row.rejected.empty()) {
      entry["rejected"] = row.rejected;
      entry["may_pass"] = row.may_pass;
    } else {
      Json& tensors = entry["tensors"] = Json::array();
      for (size_t reranker = 0; reranker < row.features.size(); ++reranker) {
        for (const FeatureTensor& tensor : row.features[reranker].tensors) {
          tensors.push_back(DescribeTensor(tensor, reranker));
        }
      }
    }
    described.push_back(std::move(entry));
  }
  return described;
}

absl::string_view BytesOf(const std::vector<float>& values) {
  return absl::string_view(reinterpret_cast<const char*>(values.data()),
                           values.size() * sizeof(float));
}

absl::StatusOr<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return absl::DataLossError(absl::StrCat("\"", key, "\" is no string"));
  }
  return found->get<std::string>();
}

absl::StatusOr<int64_t> Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() || found->get<int64_t>() < 0) {
    return absl::DataLossError(absl::StrCat("\"", key, "\" is no count"));
  }
  return found->get<int64_t>();
}

// Its bytes are left out.
absl::StatusOr<FeatureTensor> ParseTensor(const Json& json) {
  FeatureTensor tensor;
  ASSIGN_OR_RETURN(tensor.name, Text(json, "name"));
  ASSIGN_OR_RETURN(const std::string dtype, Text(json, "dtype"));
  ASSIGN_OR_RETURN(tensor.rows, Number(json, "rows"));
  ASSIGN_OR_RETURN(tensor.columns, Number(json, "columns"));
  for (const Dtype known : kTensorDtypes) {
    if (dtype != DtypeName(known)) continue;
    tensor.dtype = known;
    return tensor;
  }
  return absl::DataLossError(absl::StrCat("tensor ", tensor.name, " is of dtype ", dtype));
}

}  // namespace

// Nothing in the file is believed: each number is checked against what is there.
class UnitFileParser {
 public:
  explicit UnitFileParser(UnitFile& file) : file_(file) {}

  absl::Status Parse(absl::string_view hash, int dimension) {
    const Container& container = *file_.container_;
    ASSIGN_OR_RETURN(const Section* unit, container.Require("unit", Dtype::kBytes, 1));
    ASSIGN_OR_RETURN(file_.embeddings_, container.Require("embeddings", Dtype::kFloat32, 2));
    ASSIGN_OR_RETURN(const Section* tensors, container.Require("tensors", Dtype::kBytes, 1));
    file_.tensors_ = absl::string_view(tensors->data, static_cast<size_t>(tensors->length));
    const Json json = Json::parse(unit->data, unit->data + unit->length, /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
    if (!json.is_object()) return absl::DataLossError("the description is no JSON object");
    ASSIGN_OR_RETURN(const std::string found_hash, Text(json, "hash"));
    ASSIGN_OR_RETURN(const int64_t found_dimension, Number(json, "dimension"));
    if (found_hash != hash) return absl::DataLossError("it holds another unit: " + found_hash);
    if (found_dimension != dimension || file_.embeddings_->shape[1] != dimension) {
      return absl::DataLossError(
          absl::StrCat("its dimension is ", found_dimension, ", not ", dimension));
    }
    RETURN_IF_ERROR(ParseRows(json.value("images", Json()), file_.images_));
    RETURN_IF_ERROR(ParseRows(json.value("captions", Json()), file_.captions_));
    if (next_row_ != file_.embeddings_->shape[0] || next_byte_ != file_.tensors_.size()) {
      return absl::DataLossError("more data than rows");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ParseRows(const Json& json, std::vector<UnitFile::Row>& rows) {
    if (!json.is_array()) return absl::DataLossError("rows are no array");
    for (const Json& entry : json) {
      UnitFile::Row row;
      ASSIGN_OR_RETURN(row.item_id, Text(entry, "id"));
      if (entry.contains("rejected")) {
        ASSIGN_OR_RETURN(row.rejected, Text(entry, "rejected"));
        file_.may_pass_ = file_.may_pass_ || entry.value("may_pass", Json()) == true;
      } else {
        if (next_row_ >= file_.embeddings_->shape[0]) {
          return absl::DataLossError("an embedding is missing");
        }
        row.embedding = next_row_++;
        RETURN_IF_ERROR(ParseTensors(entry, row));
      }
      rows.push_back(std::move(row));
    }
    return absl::OkStatus();
  }

  absl::Status ParseTensors(const Json& entry, UnitFile::Row& row) {
    const auto tensors = entry.find("tensors");
    if (tensors == entry.end() || !tensors->is_array()) {
      return absl::DataLossError("\"tensors\" is no array");
    }
    for (const Json& json : *tensors) {
      UnitFile::Tensor tensor;
      ASSIGN_OR_RETURN(tensor.described, ParseTensor(json));
      if (json.contains("reranker")) {
        ASSIGN_OR_RETURN(const int64_t reranker, Number(json, "reranker"));
        if (reranker >= kMaxRerankers) return absl::DataLossError("\"reranker\" is too great");
        tensor.reranker = static_cast<int>(reranker);
      }
      const FeatureTensor& described = tensor.described;
      const auto element = static_cast<int64_t>(DtypeSize(described.dtype));
      const auto left = static_cast<int64_t>(file_.tensors_.size() - next_byte_);
      if (described.columns > 0 && described.rows > left / described.columns / element) {
        return absl::DataLossError(absl::StrCat("tensor ", described.name, " does not fit"));
      }
      tensor.begin = next_byte_;
      tensor.length = static_cast<size_t>(described.rows * described.columns * element);
      next_byte_ += tensor.length;
      row.tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  UnitFile& file_;
  int64_t next_row_ = 0;  // of the embeddings
  size_t next_byte_ = 0;  // of the tensors
};

std::string UnitFilePath(absl::string_view work_directory, absl::string_view hash) {
  return JoinPath(work_directory, absl::StrCat(hash, ".unit"));
}

absl::StatusOr<int64_t> WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
                                      const UnitResult& result) {
  const Json json = {{"hash", std::string(hash)},
                     {"dimension", dimension},
                     {"images", Describe(result.images)},
                     {"captions", Describe(result.captions)}};
  const std::string description =
      json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  int64_t rows = 0, tensor_bytes = 0;
  for (const auto* list : {&result.images, &result.captions}) {
    for (const UnitRow& row : *list) {
      if (row.rejected.empty()) ++rows;
      for (const ItemFeatures& features : row.features) {
        for (const FeatureTensor& tensor : features.tensors) {
          tensor_bytes += static_cast<int64_t>(tensor.bytes.size());
        }
      }
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(
      writer->Declare("unit", Dtype::kBytes, {static_cast<int64_t>(description.size())}));
  RETURN_IF_ERROR(writer->Declare("embeddings", Dtype::kFloat32, {rows, dimension}));
  RETURN_IF_ERROR(writer->Declare("tensors", Dtype::kBytes, {tensor_bytes}));
  RETURN_IF_ERROR(writer->Append(description));
  for (const auto* list : {&result.images, &result.captions}) {
    for (const UnitRow& row : *list) RETURN_IF_ERROR(writer->Append(BytesOf(row.embedding)));
  }
  for (const auto* list : {&result.images, &result.captions}) {
    for (const UnitRow& row : *list) {
      for (const ItemFeatures& features : row.features) {
        for (const FeatureTensor& tensor : features.tensors) {
          RETURN_IF_ERROR(writer->Append(tensor.bytes));
        }
      }
    }
  }
  ASSIGN_OR_RETURN(const ContainerWriter::Summary summary, writer->Finish());
  return summary.byte_count;
}

absl::StatusOr<std::unique_ptr<UnitFile>> UnitFile::Open(absl::string_view path,
                                                         absl::string_view hash, int dimension,
                                                         bool verify) {
  std::unique_ptr<UnitFile> file(new UnitFile);
  ASSIGN_OR_RETURN(file->container_, Container::Map(path));
  if (verify) RETURN_IF_ERROR(file->container_->Verify());
  const absl::Status parsed = UnitFileParser(*file).Parse(hash, dimension);
  if (!parsed.ok()) return absl::DataLossError(absl::StrCat(path, ": ", parsed.message()));
  return file;
}

absl::Span<const float> UnitFile::embedding(const Row& row) const {
  // Sections lie at multiples of 4 KiB and rows are whole floats.
  const char* const begin = embeddings_->data + row.embedding * embeddings_->row_stride_bytes;
  return absl::MakeConstSpan(reinterpret_cast<const float*>(begin),
                             static_cast<size_t>(embeddings_->shape[1]));
}

ItemFeatures UnitFile::features(const Row& row, int reranker) const {
  ItemFeatures features;
  for (const Tensor& tensor : row.tensors) {
    if (tensor.reranker != reranker) continue;
    features.tensors.push_back(tensor.described);
    features.tensors.back().bytes = std::string(tensors_.substr(tensor.begin, tensor.length));
  }
  return features;
}

}  // namespace sightline
