#include "services/corpus_encoder/unit_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr Dtype kTensorDtypes[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8,
                                   Dtype::kInt32,   Dtype::kInt64,   Dtype::kBytes};

Json Describe(const std::vector<UnitRow>& rows) {
  Json described = Json::array();
  for (const UnitRow& row : rows) {
    Json entry = {{"id", row.item_id}};
    if (!row.rejected.empty()) {
      entry["rejected"] = row.rejected;
    } else {
      Json& tensors = entry["tensors"] = Json::array();
      for (const FeatureTensor& tensor : row.features.tensors) {
        tensors.push_back({{"name", tensor.name},
                           {"dtype", DtypeName(tensor.dtype)},
                           {"rows", tensor.rows},
                           {"columns", tensor.columns}});
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

// Takes rows out of a unit file.  Nothing in the file is believed: each number is checked
// against what is there.
class UnitFileReader {
 public:
  UnitFileReader(const Section& embeddings, const Section& tensors, int dimension)
      : embeddings_(embeddings),
        tensors_(tensors.data, static_cast<size_t>(tensors.length)),
        dimension_(dimension) {}

  absl::Status ReadRows(const Json& described, std::vector<UnitRow>& rows) {
    if (!described.is_array()) return absl::DataLossError("rows are no array");
    for (const Json& entry : described) {
      UnitRow row;
      ASSIGN_OR_RETURN(row.item_id, Text(entry, "id"));
      if (entry.contains("rejected")) {
        ASSIGN_OR_RETURN(row.rejected, Text(entry, "rejected"));
      } else {
        RETURN_IF_ERROR(ReadEmbedding(row));
        RETURN_IF_ERROR(ReadTensors(entry, row));
      }
      rows.push_back(std::move(row));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAllUsed() const {
    if (next_row_ != embeddings_.shape[0] || !tensors_.empty()) {
      return absl::DataLossError("more data than rows");
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::string> Text(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) {
      return absl::DataLossError(absl::StrCat("\"", key, "\" is no string"));
    }
    return found->get<std::string>();
  }

  static absl::StatusOr<int64_t> Number(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer() || found->get<int64_t>() < 0) {
      return absl::DataLossError(absl::StrCat("\"", key, "\" is no count"));
    }
    return found->get<int64_t>();
  }

 private:
  absl::Status ReadEmbedding(UnitRow& row) {
    if (next_row_ >= embeddings_.shape[0]) return absl::DataLossError("an embedding is missing");
    row.embedding.resize(dimension_);
    std::memcpy(row.embedding.data(), embeddings_.data + next_row_ * embeddings_.row_stride_bytes,
                dimension_ * sizeof(float));
    ++next_row_;
    return absl::OkStatus();
  }

  absl::Status ReadTensors(const Json& entry, UnitRow& row) {
    const auto tensors = entry.find("tensors");
    if (tensors == entry.end() || !tensors->is_array()) {
      return absl::DataLossError("\"tensors\" is no array");
    }
    for (const Json& described : *tensors) {
      FeatureTensor tensor;
      ASSIGN_OR_RETURN(tensor.name, Text(described, "name"));
      ASSIGN_OR_RETURN(const std::string dtype, Text(described, "dtype"));
      ASSIGN_OR_RETURN(tensor.rows, Number(described, "rows"));
      ASSIGN_OR_RETURN(tensor.columns, Number(described, "columns"));
      size_t element = 0;
      for (const Dtype known : kTensorDtypes) {
        if (dtype != DtypeName(known)) continue;
        tensor.dtype = known;
        element = DtypeSize(known);
      }
      const int64_t left = static_cast<int64_t>(tensors_.size());
      if (element == 0 || (tensor.columns > 0 &&
                           tensor.rows > left / tensor.columns / static_cast<int64_t>(element))) {
        return absl::DataLossError(absl::StrCat("tensor ", tensor.name, " does not fit"));
      }
      const size_t length = static_cast<size_t>(tensor.rows * tensor.columns) * element;
      tensor.bytes = std::string(tensors_.substr(0, length));
      tensors_.remove_prefix(length);
      row.features.tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  const Section& embeddings_;
  absl::string_view tensors_;  // what is left of them
  const int dimension_;
  int64_t next_row_ = 0;
};

absl::StatusOr<UnitResult> ParseUnit(const Container& container, absl::string_view hash,
                                     int dimension) {
  ASSIGN_OR_RETURN(const Section* unit, container.Require("unit", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(const Section* embeddings, container.Require("embeddings", Dtype::kFloat32, 2));
  ASSIGN_OR_RETURN(const Section* tensors, container.Require("tensors", Dtype::kBytes, 1));
  const Json json = Json::parse(unit->data, unit->data + unit->length, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError("the description is no JSON object");
  ASSIGN_OR_RETURN(const std::string found_hash, UnitFileReader::Text(json, "hash"));
  ASSIGN_OR_RETURN(const int64_t found_dimension, UnitFileReader::Number(json, "dimension"));
  if (found_hash != hash) return absl::DataLossError("it holds another unit: " + found_hash);
  if (found_dimension != dimension || embeddings->shape[1] != dimension) {
    return absl::DataLossError(
        absl::StrCat("its dimension is ", found_dimension, ", not ", dimension));
  }
  UnitFileReader reader(*embeddings, *tensors, dimension);
  UnitResult result;
  RETURN_IF_ERROR(reader.ReadRows(json.value("images", Json()), result.images));
  RETURN_IF_ERROR(reader.ReadRows(json.value("captions", Json()), result.captions));
  RETURN_IF_ERROR(reader.CheckAllUsed());
  return result;
}

}  // namespace

std::string UnitFilePath(absl::string_view work_directory, absl::string_view hash) {
  return JoinPath(work_directory, absl::StrCat(hash, ".unit"));
}

absl::Status WriteUnitFile(absl::string_view path, absl::string_view hash, int dimension,
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
      for (const FeatureTensor& tensor : row.features.tensors) {
        tensor_bytes += static_cast<int64_t>(tensor.bytes.size());
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
      for (const FeatureTensor& tensor : row.features.tensors) {
        RETURN_IF_ERROR(writer->Append(tensor.bytes));
      }
    }
  }
  return writer->Finish().status();
}

absl::StatusOr<UnitResult> ReadUnitFile(absl::string_view path, absl::string_view hash,
                                        int dimension, bool verify) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Open(path));
  if (verify) RETURN_IF_ERROR(container->Verify());
  absl::StatusOr<UnitResult> result = ParseUnit(*container, hash, dimension);
  if (!result.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", result.status().message()));
  }
  return result;
}

}  // namespace sightline
