#include "common/index/hnsw_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/section_reader.h"
#include "common/index/index_file.h"

namespace sightline {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kRowsBetweenLooks = 1 << 16;

using Header = std::array<int64_t, 5>;

Header HeaderOf(const HnswShape& shape) {
  return {kVersion, shape.rows, shape.dimension, shape.link_count, shape.coded ? 1 : 0};
}

absl::string_view BytesOf(const void* data, int64_t bytes) {
  return {static_cast<const char*>(data), static_cast<size_t>(bytes)};
}

absl::Status Declare(const HnswShape& shape, const HnswStage* stage, ContainerWriter* writer) {
  const auto header = static_cast<int64_t>(HeaderOf(shape).size());
  RETURN_IF_ERROR(writer->Declare("header", Dtype::kInt64, {header}));
  RETURN_IF_ERROR(writer->Declare("nodes", Dtype::kBytes, {shape.rows, shape.node_bytes()}));
  RETURN_IF_ERROR(writer->Declare("upper_rows", Dtype::kInt32, {shape.LevelCount(1)}));
  RETURN_IF_ERROR(
      writer->Declare("upper_links", Dtype::kInt32, {shape.upper_vertices() * shape.link_count}));
  if (stage == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(
      writer->Declare("build", Dtype::kBytes, {static_cast<int64_t>(stage->build.size())}));
  return writer->Declare("linked", Dtype::kInt64, {1});
}

// The nodes of a coded graph, links only.
absl::Status AppendLinks(const HnswGraph& graph, const HnswShape& to, ContainerWriter* writer) {
  constexpr int64_t kRowsAtOnce = 1024;
  const LinkTable links = graph.base();
  std::string nodes;
  for (int64_t first = 0; first < to.rows; first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, to.rows - first);
    nodes.assign(static_cast<size_t>(count * to.node_bytes()), '\0');
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&nodes[static_cast<size_t>(i * to.node_bytes())],
                  links.of(static_cast<uint32_t>(first + i)), to.base_links() * sizeof(uint32_t));
    }
    RETURN_IF_ERROR(writer->Append(nodes));
  }
  return absl::OkStatus();
}

absl::Status CheckLinks(absl::string_view path, const LinkTable& links, int64_t vertices,
                        const CallContext& call) {
  for (int64_t vertex = 0; vertex < vertices; ++vertex) {
    if (vertex % kRowsBetweenLooks == 0) RETURN_IF_ERROR(call.Check("open index"));
    const uint32_t* const of = links.of(static_cast<uint32_t>(vertex));
    for (int i = 0; i < links.capacity; ++i) {
      if (of[i] < vertices || of[i] == kNoLink) continue;
      return InvalidIndexFile(
          path, absl::StrCat("vertex ", vertex, " of ", vertices, " has a link to ", of[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCodes(absl::string_view path, const HnswGraph& graph) {
  for (int64_t row = 0; row < graph.shape.rows; ++row) {
    const kernels::Int8RowScale& code = graph.code(static_cast<uint32_t>(row));
    if (std::isfinite(code.scale) && code.error >= 0 && code.length >= 0) continue;
    return InvalidIndexFile(path, absl::StrCat("row ", row, " is coded with scale ", code.scale,
                                               ", error ", code.error, ", length ", code.length));
  }
  return absl::OkStatus();
}

// On every level.
absl::Status CheckLinks(absl::string_view path, const HnswGraph& graph, const CallContext& call) {
  const HnswShape& shape = graph.shape;
  RETURN_IF_ERROR(CheckLinks(path, graph.base(), shape.rows, call));
  for (int level = shape.top_level(); level >= 1; --level) {
    RETURN_IF_ERROR(CheckLinks(path, graph.upper(level), shape.LevelCount(level), call));
  }
  return absl::OkStatus();
}

absl::Status CheckGraph(absl::string_view path, const HnswGraph& graph, const CallContext& call) {
  const HnswShape& shape = graph.shape;
  RETURN_IF_ERROR(CheckLinks(path, graph, call));
  for (int64_t i = 0; i < shape.LevelCount(1); ++i) {
    if (graph.upper_rows[i] < shape.rows) continue;
    return InvalidIndexFile(
        path, absl::StrCat("vertex ", i, " is row ", graph.upper_rows[i], " of ", shape.rows));
  }
  return shape.coded ? CheckCodes(path, graph) : absl::OkStatus();
}

absl::Status CheckHeader(const Container& container, const HnswShape& shape,
                         const CallContext& call) {
  const Header wanted = HeaderOf(shape);
  ASSIGN_OR_RETURN(
      const SectionBytes header,
      LoadSection(container, "header", Dtype::kInt64, {static_cast<int64_t>(wanted.size())}, call));
  if (header.view() == BytesOf(wanted.data(), sizeof(wanted))) return absl::OkStatus();
  Header found;
  std::memcpy(found.data(), header.data(), sizeof(found));
  return InvalidIndexFile(
      container.path(),
      absl::StrCat("a graph (version ", found[0], ") of ", found[1], " x ", found[2], ", ",
                   found[3], " links, coded: ", found[4], "; the shard's would be (version ",
                   wanted[0], ") of ", wanted[1], " x ", wanted[2], ", ", wanted[3],
                   " links, coded: ", wanted[4]));
}

absl::StatusOr<LoadedHnswGraph> Load(const Container& container, const HnswShape& shape,
                                     const CallContext& call) {
  RETURN_IF_ERROR(CheckHeader(container, shape, call));
  LoadedHnswGraph loaded;
  ASSIGN_OR_RETURN(loaded.nodes, LoadSection(container, "nodes", Dtype::kBytes,
                                             {shape.rows, shape.node_bytes()}, call));
  ASSIGN_OR_RETURN(loaded.upper_rows, LoadSection(container, "upper_rows", Dtype::kInt32,
                                                  {shape.LevelCount(1)}, call));
  ASSIGN_OR_RETURN(loaded.upper_links,
                   LoadSection(container, "upper_links", Dtype::kInt32,
                               {shape.upper_vertices() * shape.link_count}, call));
  loaded.graph = {shape, loaded.nodes.data(),
                  reinterpret_cast<const uint32_t*>(loaded.upper_rows.data()),
                  reinterpret_cast<const uint32_t*>(loaded.upper_links.data())};
  RETURN_IF_ERROR(CheckGraph(container.path(), loaded.graph, call));
  return loaded;
}

// Calls `take(begin, bytes)` for the bytes of `section` from its first to its last, `piece` at a
// time.
template <typename Take>
absl::Status ForEachPiece(const Container& container, const Section& section, int64_t piece,
                          const CallContext& call, const Take& take) {
  SectionReader reader(container, section, /*loaded=*/nullptr);
  for (int64_t begin = 0; begin < section.length; begin += piece) {
    RETURN_IF_ERROR(call.Check("build index"));
    ASSIGN_OR_RETURN(const absl::string_view bytes,
                     reader.View(begin, std::min(piece, section.length - begin)));
    take(begin, bytes);
  }
  return absl::OkStatus();
}

// Of a graph that is stored without codes.
absl::Status ReadLinks(const Container& container, const CallContext& call,
                       const HnswLinksTarget& to) {
  HnswShape stored = to.shape;
  stored.coded = false;
  RETURN_IF_ERROR(CheckHeader(container, stored, call));
  ASSIGN_OR_RETURN(const Section* const nodes, RequireSection(container, "nodes", Dtype::kBytes,
                                                              {stored.rows, stored.node_bytes()}));
  ASSIGN_OR_RETURN(const Section* const upper_links,
                   RequireSection(container, "upper_links", Dtype::kInt32,
                                  {stored.upper_vertices() * stored.link_count}));
  const size_t link_bytes = stored.base_links() * sizeof(uint32_t);
  const int64_t row_bytes = stored.node_bytes();
  char* const first_links = to.nodes + to.shape.links_at();
  constexpr int64_t kRowsAtOnce = 512;
  RETURN_IF_ERROR(ForEachPiece(container, *nodes, kRowsAtOnce * row_bytes, call,
                               [&](int64_t begin, absl::string_view bytes) {
                                 const int64_t first = begin / row_bytes;
                                 const int64_t count =
                                     static_cast<int64_t>(bytes.size()) / row_bytes;
                                 for (int64_t i = 0; i < count; ++i) {
                                   std::memcpy(first_links + (first + i) * to.shape.node_bytes(),
                                               bytes.data() + i * row_bytes, link_bytes);
                                 }
                               }));
  RETURN_IF_ERROR(ForEachPiece(container, *upper_links, Container::kBlockBytes, call,
                               [&](int64_t begin, absl::string_view bytes) {
                                 std::memcpy(reinterpret_cast<char*>(to.upper_links) + begin,
                                             bytes.data(), bytes.size());
                               }));
  return CheckLinks(container.path(), {to.shape, to.nodes, nullptr, to.upper_links}, call);
}

}  // namespace

absl::StatusOr<ContainerWriter::Summary> WriteHnswGraph(absl::string_view path,
                                                        const HnswGraph& graph, bool coded,
                                                        const HnswStage* stage) {
  HnswShape shape = graph.shape;
  shape.coded = coded;
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(Declare(shape, stage, writer.get()));
  const Header header = HeaderOf(shape);
  RETURN_IF_ERROR(writer->Append(BytesOf(header.data(), sizeof(header))));
  if (shape.coded == graph.shape.coded) {
    RETURN_IF_ERROR(writer->Append(BytesOf(graph.nodes, shape.rows * shape.node_bytes())));
  } else {
    RETURN_IF_ERROR(AppendLinks(graph, shape, writer.get()));
  }
  constexpr auto kNumber = static_cast<int64_t>(sizeof(uint32_t));
  RETURN_IF_ERROR(writer->Append(BytesOf(graph.upper_rows, shape.LevelCount(1) * kNumber)));
  RETURN_IF_ERROR(writer->Append(
      BytesOf(graph.upper_links, shape.upper_vertices() * shape.link_count * kNumber)));
  if (stage != nullptr) {
    RETURN_IF_ERROR(writer->Append(stage->build));
    RETURN_IF_ERROR(writer->Append(BytesOf(&stage->linked, sizeof(stage->linked))));
  }
  return writer->Finish();
}

absl::StatusOr<LoadedHnswGraph> LoadHnswGraph(absl::string_view path, const HnswShape& shape,
                                              const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, OpenIndexFile(path));
  return Load(*container, shape, call);
}

absl::StatusOr<int64_t> ReadUnfinishedHnswGraph(absl::string_view path, absl::string_view build,
                                                const CallContext& call,
                                                const HnswLinksTarget& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, OpenIndexFile(path));
  ASSIGN_OR_RETURN(const SectionBytes of, LoadSection(*container, "build", Dtype::kBytes,
                                                      {static_cast<int64_t>(build.size())}, call));
  if (of.view() != build) {
    return absl::NotFoundError(absl::StrCat(path, " is of another build"));
  }
  ASSIGN_OR_RETURN(const SectionBytes count,
                   LoadSection(*container, "linked", Dtype::kInt64, {1}, call));
  int64_t linked = 0;
  std::memcpy(&linked, count.data(), sizeof(linked));
  if (linked < 0 || linked > to.shape.rows) {
    return InvalidIndexFile(path, absl::StrCat(linked, " of ", to.shape.rows, " rows are linked"));
  }
  RETURN_IF_ERROR(ReadLinks(*container, call, to));
  return linked;
}

}  // namespace sightline
