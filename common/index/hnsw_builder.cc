#include "common/index/hnsw_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/index/hnsw_file.h"
#include "common/index/hnsw_order.h"
#include "common/index/hnsw_walk.h"
#include "common/index/row_scores.h"
#include "common/kernels/int8_rows.h"

namespace sightline {
namespace {

// Changes whenever equal rows and parameters give another graph.
constexpr int kAlgorithm = 1;

// Whose products with others are numbers.
bool IsLinkable(const kernels::Int8RowScale& code) {
  const double length = double{code.length};
  return std::isfinite(code.error) &&
         length * length < double{std::numeric_limits<float>::max()} / 4;
}

// The graph's memory, which is the builder's own.
uint32_t* LinksOf(const LinkTable& links, uint32_t vertex) {
  return const_cast<uint32_t*>(links.of(vertex));
}

int CountLinks(const LinkTable& links, uint32_t vertex) {
  const uint32_t* const first = links.of(vertex);
  return static_cast<int>(std::find(first, first + links.capacity, kNoLink) - first);
}

void SetLinks(const LinkTable& links, uint32_t vertex, const std::vector<Reached>& to) {
  uint32_t* const first = LinksOf(links, vertex);
  uint32_t* const end =
      std::transform(to.begin(), to.end(), first, [](const Reached& one) { return one.vertex; });
  std::fill(end, first + links.capacity, kNoLink);
}

absl::string_view BytesOf(const void* data, size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

}  // namespace

HnswBuilder::HnswBuilder(const HnswShape& shape, const HnswParameters& parameters,
                         std::unique_ptr<ResidentMemory> nodes,
                         std::unique_ptr<ResidentMemory> upper_links)
    : parameters_(parameters),
      nodes_(std::move(nodes)),
      upper_links_(std::move(upper_links)),
      graph_({shape, nodes_->data(), nullptr,
              reinterpret_cast<const uint32_t*>(upper_links_->data())}),
      space_(graph_),
      from_space_(graph_),
      choice_(graph_) {
  Unlink();
}

absl::StatusOr<std::unique_ptr<HnswBuilder>> HnswBuilder::Create(const VectorView& vectors,
                                                                 const HnswParameters& parameters,
                                                                 const CallContext& call) {
  const HnswShape shape = {vectors.rows, vectors.dimension, parameters.link_count,
                           /*coded=*/true};
  ASSIGN_OR_RETURN(auto nodes, ResidentMemory::Allocate(shape.rows * shape.node_bytes()));
  ASSIGN_OR_RETURN(auto upper_links,
                   ResidentMemory::Allocate(shape.upper_vertices() * shape.link_count *
                                            static_cast<int64_t>(sizeof(uint32_t))));
  std::unique_ptr<HnswBuilder> builder(
      new HnswBuilder(shape, parameters, std::move(nodes), std::move(upper_links)));
  RETURN_IF_ERROR(builder->Encode(vectors, call));
  builder->Order();
  return builder;
}

int64_t HnswBuilder::Memory(const HnswShape& shape) {
  // Two tables of bits, and the rows that are still to be followed in ConnectAll, which are fewer
  // than what drawing the order takes.
  constexpr int64_t kBuffers = 4 << 20;  // of stages that are written and read, a piece at a time
  return shape.byte_count() + HnswOrderMemory(shape.rows) + shape.rows / 2 + kBuffers;
}

absl::Status HnswBuilder::Encode(const VectorView& vectors, const CallContext& call) {
  constexpr int64_t kRowsAtOnce = 1024;
  const HnswShape& shape = graph_.shape;
  const int64_t numbers[] = {kAlgorithm,
                             shape.rows,
                             shape.dimension,
                             shape.link_count,
                             parameters_.build_effort,
                             static_cast<int64_t>(parameters_.seed)};
  Sha256 digest;
  digest.Update(BytesOf(numbers, sizeof(numbers)));
  std::vector<float> rows(static_cast<size_t>(kRowsAtOnce) * shape.dimension);
  for (int64_t first = 0; first < shape.rows; first += kRowsAtOnce) {
    RETURN_IF_ERROR(call.Check("build index"));
    const int64_t count = std::min(kRowsAtOnce, shape.rows - first);
    RETURN_IF_ERROR(CopyRows(vectors, first, count, rows.data()));
    for (int64_t i = 0; i < count; ++i) {
      char* const node = nodes_->data() + (first + i) * shape.node_bytes();
      auto* const code = reinterpret_cast<kernels::Int8RowScale*>(node + shape.code_bytes());
      *code = kernels::EncodeInt8Row(rows.data() + i * shape.dimension, shape.dimension,
                                     reinterpret_cast<int8_t*>(node));
      if (IsLinkable(*code)) ++linkable_;
      digest.Update(BytesOf(node, static_cast<size_t>(shape.links_at())));
    }
  }
  digest_ = digest.Hex();
  return absl::OkStatus();
}

void HnswBuilder::Order() {
  order_ = HnswOrder(graph_.shape.rows, parameters_.seed,
                     [this](uint32_t row) { return !IsLinkable(graph_.code(row)); });
  graph_.upper_rows = order_.data();
}

void HnswBuilder::Unlink() {
  std::fill_n(upper_links_->data(), upper_links_->size(), '\xFF');
  for (int64_t row = 0; row < graph_.shape.rows; ++row) {
    SetLinks(graph_.base(), static_cast<uint32_t>(row), {});
  }
  linked_ = 0;
}

void HnswBuilder::Link(int64_t count) {
  for (int64_t i = 0; i < count && linked_ < linkable_; ++i) LinkNext();
}

void HnswBuilder::LinkNext() {
  const auto place = static_cast<uint32_t>(linked_++);
  if (place == 0) return;
  int level = 0;
  while (place < graph_.shape.LevelCount(level + 1)) ++level;
  space_.SetRow(order_[place]);
  uint32_t start = Descend(graph_, space_, level, &seen_);
  for (; level >= 1; --level) {
    start = LinkOnLevel(graph_.upper(level), UpperSpace<RowSpace>(space_, order_.data()),
                        order_.data(), place, start);
    if (level == 1) start = order_[start];
  }
  LinkOnLevel(graph_.base(), space_, nullptr, order_[place], start);
}

template <typename Space>
uint32_t HnswBuilder::LinkOnLevel(const LinkTable& links, const Space& space,
                                  const uint32_t* row_of, uint32_t vertex, uint32_t start) {
  seen_.Reset(row_of == nullptr ? graph_.shape.rows : graph_.shape.LevelCount(1));
  beam_.Reset(parameters_.build_effort);
  seen_.Mark(start);
  beam_.Offer({space.Similarity(start), start});
  Walk(links, space, WalkLimit(), &seen_, &beam_);
  near_.clear();
  for (size_t i = 0; i < beam_.size(); ++i) near_.push_back(beam_.at(i));
  choice_.Choose(near_, space.Similarity(vertex), graph_.shape.link_count, graph_.shape.link_count,
                 row_of, &chosen_);
  SetLinks(links, vertex, chosen_);
  for (const Reached& chosen : chosen_) {
    AddLink(links, row_of, chosen.vertex, {chosen.similarity, vertex});
  }
  return near_.front().vertex;
}

void HnswBuilder::AddLink(const LinkTable& links, const uint32_t* row_of, uint32_t from,
                          Reached to) {
  const int count = CountLinks(links, from);
  uint32_t* const present = LinksOf(links, from);
  if (count < links.capacity) {
    present[count] = to.vertex;
    return;
  }
  const auto row = [row_of](uint32_t vertex) {
    return row_of == nullptr ? vertex : row_of[vertex];
  };
  for (int i = 0; i < count; ++i) from_space_.Prefetch(row(present[i]));
  from_space_.SetRow(row(from));
  // Of equals the latest first: nothing else may lead to it yet.
  from_near_.assign(1, to);
  for (int i = 0; i < count; ++i) {
    from_near_.push_back({from_space_.Similarity(row(present[i])), present[i]});
  }
  std::stable_sort(from_near_.begin(), from_near_.end(),
                   [](const Reached& a, const Reached& b) { return a.similarity > b.similarity; });
  choice_.Choose(from_near_, from_space_.Similarity(row(from)), links.capacity,
                 graph_.shape.link_count, row_of, &from_chosen_);
  SetLinks(links, from, from_chosen_);
}

int64_t HnswBuilder::ConnectAll() {
  if (linkable_ == 0) return 0;
  reached_.Reset(graph_.shape.rows);
  MarkReached(order_[0]);
  int64_t unreached = 0;
  for (int64_t place = 1; place < linkable_; ++place) {
    const uint32_t row = order_[place];
    if (reached_.Contains(row)) continue;
    ++unreached;
    LinkUnreached(ReachedNear(row), row);
    MarkReached(row);
  }
  return unreached;
}

void HnswBuilder::MarkReached(uint32_t from) {
  const LinkTable links = graph_.base();
  std::vector<uint32_t> open = {from};
  reached_.Mark(from);
  while (!open.empty()) {
    const uint32_t row = open.back();
    open.pop_back();
    for (int i = 0, count = CountLinks(links, row); i < count; ++i) {
      const uint32_t to = links.of(row)[i];
      if (reached_.Mark(to)) open.push_back(to);
    }
  }
}

uint32_t HnswBuilder::ReachedNear(uint32_t row) {
  const LinkTable links = graph_.base();
  space_.SetRow(row);
  Reached best = {-std::numeric_limits<float>::infinity(), row};
  for (int i = 0, count = CountLinks(links, row); i < count; ++i) {
    const Reached one = {space_.Similarity(links.of(row)[i]), links.of(row)[i]};
    if (reached_.Contains(one.vertex) && one.similarity > best.similarity) best = one;
  }
  if (best.vertex != row) return best.vertex;
  // A part of the graph that leads to itself only: what a walk from the entry finds is reached.
  seen_.Reset(graph_.shape.rows);
  beam_.Reset(parameters_.build_effort);
  seen_.Mark(order_[0]);
  beam_.Offer({space_.Similarity(order_[0]), order_[0]});
  Walk(links, space_, WalkLimit(), &seen_, &beam_);
  return beam_.at(0).vertex;
}

// Where `from` has no place left its last link gives way, and `row` leads there instead.  What
// `row` itself gives up for that was not reached through it.
void HnswBuilder::LinkUnreached(uint32_t from, uint32_t row) {
  const LinkTable links = graph_.base();
  const int from_count = CountLinks(links, from);
  if (from_count < links.capacity) {
    LinksOf(links, from)[from_count] = row;
    return;
  }
  const uint32_t given_up = std::exchange(LinksOf(links, from)[links.capacity - 1], row);
  uint32_t* const present = LinksOf(links, row);
  const int count = CountLinks(links, row);
  if (std::find(present, present + count, given_up) != present + count) return;
  present[std::min(count, links.capacity - 1)] = given_up;
}

absl::Status HnswBuilder::Restore(absl::string_view path, const CallContext& call) {
  const auto linked = ReadUnfinishedHnswGraph(
      path, digest_, call,
      {graph_.shape, nodes_->data(), reinterpret_cast<uint32_t*>(upper_links_->data())});
  if (!linked.ok()) Unlink();
  RETURN_IF_ERROR(linked.status());
  linked_ = std::min(*linked, linkable_);
  return absl::OkStatus();
}

}  // namespace sightline
