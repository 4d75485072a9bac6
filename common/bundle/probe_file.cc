#include "common/bundle/probe_file.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"

namespace sightline {

absl::StatusOr<Probes> ReadProbes(absl::string_view path,
                                  const bundle::v1::GenerationManifest& manifest, int shard) {
  const bundle::v1::ShardManifest& description = manifest.shards(shard);
  const bundle::v1::RecallProbe& probe = manifest.recall_probe();
  const int64_t rows = probe.query_count();
  const int dimension = manifest.embedding().dimension();
  const int64_t list = std::min<int64_t>(probe.neighbor_count(), description.item_count());

  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Open(path));
  ASSIGN_OR_RETURN(const Section* queries, container->Require("queries", Dtype::kFloat32, 2));
  ASSIGN_OR_RETURN(const Section* neighbors, container->Require("neighbors", Dtype::kInt64, 1));
  const bool as_told = container->file_length() == description.probes().byte_count() &&
                       queries->shape[0] == rows && queries->shape[1] == dimension &&
                       neighbors->shape[0] == rows * list;
  if (!as_told) {
    return absl::DataLossError(
        absl::StrCat(path, " holds ", queries->shape[0], " queries of ", queries->shape[1], " and ",
                     neighbors->shape[0], " neighbors in ", container->file_length(),
                     " bytes, its manifest says ", rows, " of ", dimension, " and ", rows * list,
                     " in ", description.probes().byte_count()));
  }
  const CallContext call = CallContext::Unbounded();
  ASSIGN_OR_RETURN(const SectionBytes query_bytes, container->Load(*queries, call));
  ASSIGN_OR_RETURN(const SectionBytes neighbor_bytes, container->Load(*neighbors, call));
  Probes probes;
  probes.queries = EmbeddingMatrix(rows, dimension);
  for (int64_t i = 0; i < rows; ++i) {
    const auto* row =
        reinterpret_cast<const float*>(query_bytes.data() + i * queries->row_stride_bytes);
    std::copy(row, row + dimension, probes.queries.mutable_row(i).begin());
    const auto* found = reinterpret_cast<const int64_t*>(neighbor_bytes.data()) + i * list;
    probes.neighbors.emplace_back(found, found + list);
    for (const int64_t neighbor : probes.neighbors.back()) {
      if (neighbor >= 0 && neighbor < description.item_count()) continue;
      return absl::DataLossError(absl::StrCat(path, ": neighbor ", neighbor, " of query ", i,
                                              " is none of ", description.item_count(), " items"));
    }
  }
  if (!AllFinite(probes.queries.values())) {
    return absl::DataLossError(absl::StrCat(path, ": a query is not finite"));
  }
  return probes;
}

absl::StatusOr<bundle::v1::BundleFile> WriteProbes(absl::string_view directory,
                                                   absl::string_view name, const Probes& probes) {
  const int64_t rows = probes.queries.rows();
  const int64_t list =
      probes.neighbors.empty() ? 0 : static_cast<int64_t>(probes.neighbors.front().size());
  ASSIGN_OR_RETURN(std::unique_ptr<ContainerWriter> writer,
                   ContainerWriter::Create(JoinPath(directory, name)));
  RETURN_IF_ERROR(writer->Declare("queries", Dtype::kFloat32, {rows, probes.queries.dimension()}));
  RETURN_IF_ERROR(writer->Declare("neighbors", Dtype::kInt64, {rows * list}));
  const absl::Span<const float> values = probes.queries.values();
  RETURN_IF_ERROR(writer->Append(absl::string_view(reinterpret_cast<const char*>(values.data()),
                                                   values.size() * sizeof(float))));
  for (const std::vector<int64_t>& neighbors : probes.neighbors) {
    RETURN_IF_ERROR(writer->Append(absl::string_view(
        reinterpret_cast<const char*>(neighbors.data()), neighbors.size() * sizeof(int64_t))));
  }
  ASSIGN_OR_RETURN(const ContainerWriter::Summary summary, writer->Finish());
  bundle::v1::BundleFile file;
  file.set_path(std::string(name));
  file.set_byte_count(summary.byte_count);
  file.set_sha256(summary.sha256);
  return file;
}

}  // namespace sightline
