#include "common/models/network/row_dropout.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/random.h"

namespace sightline {
namespace {

thread_local const DropoutScope* current = nullptr;

// Of a row's key and a column, 32 bits that look random: rounds of a multiplicative hash
// (lowbias32, Wellons, 2018) with the key's upper half between them.  Sums and products are modulo
// 2^32.
constexpr uint32_t kColumnFactor = 0x9e3779b1, kFirstFactor = 0x7feb352d, kLastFactor = 0x846ca68b;

uint32_t HashOf(uint32_t low, uint32_t high, uint32_t column) {
  uint32_t x = low + column * kColumnFactor;
  x = (x ^ (x >> 16)) * kFirstFactor;
  x = ((x ^ (x >> 15)) + high) * kLastFactor;
  return x ^ (x >> 16);
}

// Numbers of the hash below it are dropped.
uint32_t ThresholdOf(double share) {
  return static_cast<uint32_t>(std::llround(share * 4294967296.0));
}

float ScaleOf(double share) {
  return static_cast<float>(1 / (1 - share));
}

// As many columns at once as an instruction or two take: of a loop whose length it knows the
// compiler makes vectors.
constexpr int64_t kLanes = 16;

struct RowFiller {
  uint32_t threshold;
  float scale;

  void FillLanes(uint64_t key, int64_t begin, float* lanes) const {
    const auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
    const auto first = static_cast<uint32_t>(begin);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = HashOf(low, high, first + lane) >= threshold ? scale : 0.0F;
    }
  }

  void Fill(uint64_t key, int64_t columns, float* row) const {
    const int64_t whole = columns / kLanes * kLanes;
    for (int64_t begin = 0; begin < whole; begin += kLanes) FillLanes(key, begin, row + begin);
    if (whole == columns) return;
    float rest[kLanes];
    FillLanes(key, whole, rest);
    std::copy(rest, rest + (columns - whole), row + whole);
  }
};

// A 32-bit number as tensors of int32 hold it, which wrap alike.
int64_t Wrapped(uint64_t bits) {
  return static_cast<int32_t>(static_cast<uint32_t>(bits));
}

// x ^ (x >> by) of unsigned numbers, in place.
void Fold(int64_t by, at::Tensor* x) {
  x->bitwise_xor_(x->bitwise_right_shift(by).bitwise_and_(Wrapped(0xffffffffu >> by)));
}

// Of a row of an item, or of what a query of one of its heads pays heed to.
uint64_t KeyAt(uint64_t key, int64_t place) {
  return SplitMix64(key + static_cast<uint64_t>(place));
}

uint64_t KeyOfHead(uint64_t item, int64_t head) {
  return SplitMix64(~item + static_cast<uint64_t>(head));
}

RowKeys RowsOfItems(const std::vector<uint64_t>& items, const std::vector<int64_t>& lengths) {
  std::vector<uint64_t> rows;
  rows.reserve(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t place = 0; place < lengths[i]; ++place) {
      rows.push_back(KeyAt(items[i], place));
    }
  }
  return RowKeys(std::move(rows));
}

}  // namespace

DropoutScope::DropoutScope(uint64_t seed, std::vector<uint64_t> keys)
    : seed_(seed), keys_(std::move(keys)), outer_(current) {
  current = this;
}

DropoutScope::DropoutScope(uint64_t seed) : seed_(seed), outer_(current) {
  current = this;
}

DropoutScope::~DropoutScope() {
  current = outer_;
}

const DropoutScope& DropoutScope::Current() {
  TORCH_CHECK(current != nullptr, "a layer is to drop outside of a DropoutScope");
  return *current;
}

std::vector<uint64_t> DropoutScope::ItemKeys(int64_t count) const {
  TORCH_CHECK(!keys_ || count == static_cast<int64_t>(keys_->size()), count,
              " items in a dropout scope of ", keys_->size());
  const uint64_t call = keys_ ? 0 : SplitMix64(++calls_);
  std::vector<uint64_t> items;
  items.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = keys_ ? (*keys_)[i] : call + static_cast<uint64_t>(i);
    items.push_back(SplitMix64(SplitMix64(seed_) ^ key));
  }
  return items;
}

const std::pair<at::Tensor, at::Tensor>& RowKeys::HalvesOn(c10::Device device) const {
  if (halves_.first.defined() && halves_.first.device() == device) return halves_;
  const at::Tensor halves = at::empty({2, size(), 1}, at::kInt);
  auto* const low = halves.data_ptr<int32_t>();
  for (int64_t i = 0; i < size(); ++i) {
    low[i] = static_cast<int32_t>(Wrapped(keys_[i]));
    low[size() + i] = static_cast<int32_t>(Wrapped(keys_[i] >> 32));
  }
  const at::Tensor there = halves.to(device);
  halves_ = {there[0], there[1]};
  return halves_;
}

RowKeys RowKeysOf(const std::vector<int64_t>& lengths) {
  const auto count = static_cast<int64_t>(lengths.size());
  return RowsOfItems(DropoutScope::Current().ItemKeys(count), lengths);
}

RowKeys AttentionKeysOf(int64_t items, int64_t heads, int64_t queries) {
  std::vector<uint64_t> rows;
  rows.reserve(items * heads * queries);
  for (const uint64_t item : DropoutScope::Current().ItemKeys(items)) {
    for (int64_t head = 0; head < heads; ++head) {
      const uint64_t of_head = KeyOfHead(item, head);
      for (int64_t query = 0; query < queries; ++query) rows.push_back(KeyAt(of_head, query));
    }
  }
  return RowKeys(std::move(rows));
}

RowKeys RowKeysAt(const std::vector<std::vector<int64_t>>& places) {
  const auto items = DropoutScope::Current().ItemKeys(static_cast<int64_t>(places.size()));
  std::vector<uint64_t> rows;
  for (size_t i = 0; i < places.size(); ++i) {
    for (const int64_t place : places[i]) rows.push_back(KeyAt(items[i], place));
  }
  return RowKeys(std::move(rows));
}

RowKeys AttentionKeysAt(const std::vector<std::vector<int64_t>>& places, int64_t heads) {
  const auto items = DropoutScope::Current().ItemKeys(static_cast<int64_t>(places.size()));
  size_t queries = 0;
  for (const std::vector<int64_t>& of_item : places) queries = std::max(queries, of_item.size());
  std::vector<uint64_t> rows;
  rows.reserve(places.size() * heads * queries);
  for (size_t i = 0; i < places.size(); ++i) {
    for (int64_t head = 0; head < heads; ++head) {
      const uint64_t of_head = KeyOfHead(items[i], head);
      for (const int64_t place : places[i]) rows.push_back(KeyAt(of_head, place));
      rows.resize(rows.size() + queries - places[i].size());
    }
  }
  return RowKeys(std::move(rows));
}

at::Tensor DropoutFactors(const RowKeys& rows, uint64_t layer, int64_t columns, double share,
                          c10::Device device) {
  if (!device.is_cpu()) return DropoutFactorsByTensors(rows, layer, columns, share, device);
  const at::Tensor factors = at::empty({rows.size(), columns}, at::kFloat);
  auto* row = factors.data_ptr<float>();
  const RowFiller filler = {ThresholdOf(share), ScaleOf(share)};
  for (const uint64_t key : rows.keys()) {
    filler.Fill(key ^ layer, columns, row);
    row += columns;
  }
  return factors;
}

at::Tensor DropoutFactorsByTensors(const RowKeys& rows, uint64_t layer, int64_t columns,
                                   double share, c10::Device device) {
  const auto& [low, high] = rows.HalvesOn(device);
  at::Tensor x = at::arange(columns, at::TensorOptions().dtype(at::kInt).device(device))
                     .mul_(Wrapped(kColumnFactor)) +
                 low.bitwise_xor(Wrapped(layer));
  Fold(16, &x);
  x.mul_(Wrapped(kFirstFactor));
  Fold(15, &x);
  x.add_(high.bitwise_xor(Wrapped(layer >> 32))).mul_(Wrapped(kLastFactor));
  Fold(16, &x);
  // Unsigned numbers are in the order of signed ones whose sign has been turned.
  constexpr int64_t kSign = std::numeric_limits<int32_t>::min();
  const int64_t threshold = Wrapped(ThresholdOf(share)) ^ kSign;
  return (x.bitwise_xor_(kSign) >= threshold).to(at::kFloat).mul_(ScaleOf(share));
}

at::Tensor RowDropoutImpl::forward(const at::Tensor& x, const RowKeys& rows) {
  if (!drops()) return x;
  TORCH_CHECK(layer_.has_value(), "a layer is to drop before PrepareDropout has been called");
  const int64_t columns = x.size(-1);
  TORCH_CHECK(x.numel() == columns * rows.size(), "keys of ", rows.size(), " rows for a tensor of ",
              x.sizes());
  const at::Tensor factors = DropoutFactors(rows, *layer_, columns, share_, x.device());
  return (x * factors.view(x.sizes())).to(x.scalar_type());
}

at::Tensor RowDropoutImpl::OfItems(const at::Tensor& x) {
  return drops() ? forward(x, RowKeysOf(std::vector<int64_t>(x.size(0), 1))) : x;
}

void PrepareDropout(double share, torch::nn::Module* module) {
  for (const auto& part : module->named_modules()) {
    auto* const dropout = part.value()->as<RowDropoutImpl>();
    if (dropout == nullptr) continue;
    uint64_t layer = 0;
    for (const char c : part.key()) layer = SplitMix64(layer ^ static_cast<unsigned char>(c));
    dropout->set_layer(layer);
    if (share >= 0) dropout->set_share(share);
  }
}

}  // namespace sightline
