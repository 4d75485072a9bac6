// The stack of device_stack.h on any device: what is launched, in which order, in what memory.
//
// What a pass reads is copied as one piece, then the launches of its bucket follow, then what
// somebody reads is copied back; nothing waits for the device but the end.  Launches are recorded
// after the first pass of a bucket, and asked for as a whole from then on.  There are two places
// for what a pass reads and leaves: while the device computes one, the host lays out another, which
// is copied in a stream of its own and asked for before the first has ended.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_STACK_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_STACK_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/dtype.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/device/block.h"
#include "common/device/device_array.h"
#include "common/device/product.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/device_attention.h"
#include "common/kernels/device_block_weights.h"
#include "common/kernels/device_stack.h"
#include "common/kernels/device_steps.h"
#include "common/kernels/device_tile_attention.h"
#include "common/kernels/pass_layout.h"

namespace sightline::kernels {

// `Products` multiplies, as device::PlainProducts does; what it launches may be recorded.
template <typename Device, typename Products, typename Number>
class DeviceBlockStack : public DeviceStack {
 public:
  // As StackDevices::New.
  static absl::StatusOr<std::unique_ptr<DeviceStack>> Make(Device device,
                                                           const DeviceStackOptions& options) {
    RETURN_IF_ERROR(CheckShape(options));
    std::unique_ptr<DeviceBlockStack> stack(new DeviceBlockStack(std::move(device), options));
    RETURN_IF_ERROR(stack->Reserve());
    return stack;
  }

  static constexpr int kMostHead = 128;
  // Warming up makes some eight hundred; each takes a fraction of a megabyte.
  static constexpr size_t kMostRecordings = 2048;

  absl::Status Add(const BlockWeights& weights) override {
    MutexLock lock(mutex_);
    if (blocks_.size() == static_cast<size_t>(options_.block_count)) {
      return absl::FailedPreconditionError("the stack has all of its blocks");
    }
    blocks_.emplace_back();
    const absl::Status copied = blocks_.back().Copy(&device_, weights);
    if (!copied.ok()) blocks_.pop_back();
    return copied;
  }

  absl::Status WarmUp(StackReadout readout, bool has_bias, int64_t usual_length) override {
    std::vector<float> numbers(options_.limits.rows * hidden_), bias(options_.limits.rows);
    std::vector<float> out(numbers.size());
    for (int64_t rows = 1; rows <= options_.limits.rows; rows = BucketRows(rows) + 1) {
      const int64_t bucket = std::min(BucketRows(rows), options_.limits.rows);
      // Half, once and twice as long as usual: as many sequences as buckets tell apart.  In each of
      // the places, which take turns.
      for (const int64_t length : {usual_length / 2, usual_length, 2 * usual_length}) {
        const int64_t count = std::clamp<int64_t>(bucket / std::max<int64_t>(length, 1), 1,
                                                  options_.limits.sequences);
        std::vector<int64_t> lengths(count, bucket / count);
        lengths.back() += bucket % count;
        const RowPart part = {numbers.data(), Dtype::kFloat32, nullptr, bucket};
        const Sequences sequences = {&part, 1, has_bias ? bias.data() : nullptr, lengths.data(),
                                     count};
        for (size_t i = 0; i < places_.size(); ++i) {
          RETURN_IF_ERROR(RunTelling(nullptr, sequences, readout, out.data(), nullptr));
        }
      }
    }
    return absl::OkStatus();
  }

  using DeviceStack::Run;
  absl::Status Run(const Sequences& sequences, StackReadout readout, float* out,
                   PassStats* stats) override {
    return RunTelling(options_.watch.get(), sequences, readout, out, stats);
  }

  int64_t byte_count() const override { return BytesOfStack(options_); }

 private:
  template <typename T>
  using Array = device::DeviceArray<Device, T>;
  using Linear = LinearOnDevice<Device, Number>;
  using Norm = NormOnDevice<Device>;
  using Block = BlockOnDevice<Device, Number>;
  using Event = typename Device::Event;

  // Run, of which `watch` is told unless it is null.
  absl::Status RunTelling(device::PassWatch* watch, const Sequences& sequences,
                          StackReadout readout, float* out, PassStats* stats) {
    if (sequences.count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckSequences(sequences));
    const absl::Time asked = absl::Now();
    const size_t number = next_place_++ % places_.size();
    Place& place = places_[number];
    PassStats pass;
    pass.can_be_recorded = true;
    MutexLock own(place.mutex);
    pass.waited = absl::Now() - asked;
    const PassBucket bucket = BucketOf(sequences, readout);
    {
      const typename Device::Range range("laying out a pass", RowsOf(sequences));
      pass.bytes_in =
          WritePass(sequences, PassLayout(bucket, hidden_), hidden_, place.host_pass.data());
    }
    const int64_t count =
        hidden_ * (readout == StackReadout::kAllRows ? RowsOf(sequences) : sequences.count);
    pass.bytes_out = Array<float>::Bytes(count);
    if (watch != nullptr) watch->Began();
    const absl::Status done = RunPass(number, bucket, &pass);
    pass.took = absl::Now() - asked;
    if (watch != nullptr) watch->Ended(done.ok() ? &pass : nullptr);
    RETURN_IF_ERROR(done);
    std::copy_n(place.host_read.data(), count, out);
    if (stats != nullptr) *stats = pass;
    return absl::OkStatus();
  }

  // Rows that steps read and write, and how many of them are somebody's.
  struct Rows {
    Number* numbers = nullptr;
    int bucket = 0;
    const int32_t* count = nullptr;  // on the device
  };

  DeviceBlockStack(Device device, const DeviceStackOptions& options)
      : options_(options),
        hidden_(static_cast<int>(options.shape.hidden_size)),
        middle_(static_cast<int>(options.shape.intermediate_size)),
        most_rows_(BucketRows(options.limits.rows)),
        device_(std::move(device)) {}

  static absl::Status CheckShape(const DeviceStackOptions& options) {
    const StackShape& shape = options.shape;
    const int64_t head = shape.hidden_size / std::max<int64_t>(shape.head_count, 1);
    if (head > kMostHead) {
      return absl::InvalidArgumentError(
          absl::StrCat("heads of ", head, " numbers; on a device they have at most ", kMostHead));
    }
    if (shape.hidden_size > AddAndNorm<Number>::kMostColumns) {
      return absl::InvalidArgumentError(absl::StrCat("rows of ", shape.hidden_size,
                                                     " numbers; on a device they have at most ",
                                                     AddAndNorm<Number>::kMostColumns));
    }
    if (shape.hidden_size % 8 != 0 || shape.intermediate_size % 8 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows of ", shape.hidden_size, " and ", shape.intermediate_size,
                       " numbers; on a device both are multiples of 8"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckWhole() const REQUIRES(mutex_) {
    if (blocks_.size() == static_cast<size_t>(options_.block_count) && !blocks_.empty()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the stack has ", blocks_.size(), " of ", options_.block_count, " blocks"));
  }

  absl::Status Reserve() {
    MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(products_, Products::Open(&device_));
    const int64_t pass_bytes = MostPassBytes(options_.limits, hidden_);
    for (Place& place : places_) {
      ASSIGN_OR_RETURN(auto copies, device_.NewStream());
      place.copies.emplace(std::move(copies));
      ASSIGN_OR_RETURN(auto copied, place.copies->NewEvent());
      place.copied.emplace(std::move(copied));
      ASSIGN_OR_RETURN(auto begun, device_.NewEvent());
      place.begun.emplace(std::move(begun));
      ASSIGN_OR_RETURN(auto done, device_.NewEvent());
      place.done.emplace(std::move(done));
      RETURN_IF_ERROR(place.pass.Reserve(&device_, pass_bytes));
      RETURN_IF_ERROR(place.host_pass.Reserve(&device_, pass_bytes));
      RETURN_IF_ERROR(place.read.Reserve(&device_, most_rows_ * hidden_));
      RETURN_IF_ERROR(place.host_read.Reserve(&device_, most_rows_ * hidden_));
    }
    for (Array<Number>* rows : {&x_, &attended_, &context_, &product_}) {
      RETURN_IF_ERROR(rows->Reserve(&device_, most_rows_ * hidden_));
    }
    return wide_.Reserve(&device_, most_rows_ * std::max(3 * hidden_, middle_));
  }

  static int64_t RowsOf(const Sequences& sequences) {
    return std::accumulate(sequences.lengths, sequences.lengths + sequences.count, int64_t{0});
  }

  absl::Status CheckSequences(const Sequences& sequences) const {
    const int64_t rows = RowsOf(sequences);
    const int64_t shortest =
        *std::min_element(sequences.lengths, sequences.lengths + sequences.count);
    int64_t in_parts = 0;
    for (int64_t i = 0; i < sequences.part_count; ++i) in_parts += sequences.parts[i].rows;
    if (shortest < 1 || in_parts != rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sequences of ", rows, " rows, the shortest of ", shortest, ", in parts of ", in_parts));
    }
    if (rows > options_.limits.rows || sequences.count > options_.limits.sequences) {
      return absl::InvalidArgumentError(
          absl::StrCat("a pass of ", rows, " rows and ", sequences.count, " sequences; at most ",
                       options_.limits.rows, " and ", options_.limits.sequences));
    }
    return absl::OkStatus();
  }

  // Of what lies in a place of the host, to what is read there.  While it is computed another
  // thread may ask for the next one.
  absl::Status RunPass(size_t number, const PassBucket& bucket, PassStats* pass) {
    Place& place = places_[number];
    const typename Device::Range range("a pass", bucket.rows);
    absl::Status done = AskFor(number, bucket, pass);
    if (done.ok()) {
      const absl::Time asked = absl::Now();
      done = place.begun->Wait();
      pass->waited += absl::Now() - asked;
    }
    if (done.ok()) done = place.done->Wait();
    if (done.ok() && pass->was_recorded) return done;
    MutexLock lock(mutex_);
    if (done.ok()) {
      Record(number, bucket);
      return done;
    }
    // Nothing is under way that would write to our memory, or read it.
    (void)place.copies->Wait();
    (void)device_.Wait();
    if (HasReason(done, reasons::kDeviceFailed)) failure_ = done;
    return done;
  }

  // Asks for a pass, and for `begun` and `done` of its place to be marked: once those ahead of it
  // have ended, and once it has.
  absl::Status AskFor(size_t number, const PassBucket& bucket, PassStats* pass) {
    Place& place = places_[number];
    // In a stream of its own, beside what the device computes.
    RETURN_IF_ERROR(
        place.copies->CopyIn(place.pass.data(), place.host_pass.data(), pass->bytes_in));
    RETURN_IF_ERROR(place.copies->Mark(*place.copied));
    const absl::Time copying = absl::Now();
    MutexLock lock(mutex_);
    pass->waited += absl::Now() - copying;
    RETURN_IF_ERROR(failure_);
    RETURN_IF_ERROR(CheckWhole());
    RETURN_IF_ERROR(device_.Mark(*place.begun));
    RETURN_IF_ERROR(device_.After(*place.copied));
    const auto recording = recordings_.find({number, bucket});
    pass->was_recorded = recording != recordings_.end();
    RETURN_IF_ERROR(pass->was_recorded ? device_.Replay(recording->second) : Launch(place, bucket));
    RETURN_IF_ERROR(device_.CopyOut(place.host_read.data(), place.read.data(), pass->bytes_out));
    return device_.Mark(*place.done);
  }

  // What cannot be recorded, as when somebody else waits for all of the device meanwhile, is
  // launched as before, and tried again; so is what would be one too many.
  void Record(size_t number, const PassBucket& bucket) REQUIRES(mutex_) {
    if (recordings_.size() >= kMostRecordings) return;
    const typename Device::Range range("recording a pass", bucket.rows);
    // The mutex is held: Record calls it before it returns, which the analysis cannot know.
    auto recording =
        device_.Record([&]() NO_THREAD_SAFETY_ANALYSIS { return Launch(places_[number], bucket); });
    if (recording.ok()) {
      recordings_.emplace(std::make_pair(number, bucket), *std::move(recording));
    }
  }

  // What a pass reads and leaves, on the device and the host.
  struct Place {
    Mutex mutex;
    absl::optional<Device> copies;  // the stream of copies to the device
    absl::optional<Event> copied, begun, done;
    Array<char> pass;
    Array<float> read;
    device::HostArray<Device, char> host_pass;
    device::HostArray<Device, float> host_read;
  };

  // What a pass lies in, of one bucket.
  struct Pass {
    const PassCounts* counts;
    const SequenceRange* ranges;
    const QueryTile* tiles;
    const float* bias;
    const RowSource* sources;
    const char* numbers;
  };

  Pass PassOf(const Place& place, const PassBucket& bucket) const {
    const PassLayout layout(bucket, hidden_);
    const char* const memory = place.pass.data();
    const auto at = [&](int64_t offset, auto* type) {
      return reinterpret_cast<decltype(type)>(memory + offset);
    };
    return {at(layout.counts, static_cast<const PassCounts*>(nullptr)),
            at(layout.ranges, static_cast<const SequenceRange*>(nullptr)),
            at(layout.tiles, static_cast<const QueryTile*>(nullptr)),
            bucket.has_bias ? at(layout.bias, static_cast<const float*>(nullptr)) : nullptr,
            at(layout.sources, static_cast<const RowSource*>(nullptr)),
            memory + layout.numbers};
  }

  absl::Status Launch(const Place& place, const PassBucket& bucket) REQUIRES(mutex_) {
    const Pass pass = PassOf(place, bucket);
    float* const out = place.read.data();
    const Rows all = {x_.data(), bucket.rows, &pass.counts->rows};
    RETURN_IF_ERROR(LaunchRows(bucket.rows, ReadSources<Number>{pass.counts, pass.sources,
                                                                pass.numbers, hidden_, x_.data()}));
    const bool first = bucket.readout == StackReadout::kFirstRows;
    for (size_t i = 0; i + (first ? 1 : 0) < blocks_.size(); ++i) {
      RETURN_IF_ERROR(LaunchBlock(blocks_[i], bucket, pass, all));
    }
    if (bucket.readout == StackReadout::kMeanRows) {
      const int pieces = bucket.sequences * MeanRows<Number>::WarpsOf(hidden_);
      return LaunchRows(pieces,
                        MeanRows<Number>{pass.counts, pass.ranges, x_.data(), hidden_, out});
    }
    Rows read = all;
    if (first) {
      read = {x_.data(), bucket.sequences, &pass.counts->sequences};
      RETURN_IF_ERROR(LaunchFirstRows(blocks_.back(), bucket, pass, read));
    }
    return LaunchRows(read.bucket, WidenRows<Number>{read.count, read.numbers, hidden_, out});
  }

  absl::Status LaunchBlock(const Block& block, const PassBucket& bucket, const Pass& pass,
                           const Rows& x) REQUIRES(mutex_) {
    RETURN_IF_ERROR(Multiply(x.numbers, block.query_key_value, 0, 3 * hidden_, x.bucket, hidden_,
                             wide_.data()));
    AttendTask<Number> attend = AttendTaskOf(pass);
    attend.queries = wide_.data();
    attend.keys = wide_.data() + hidden_;
    attend.values = wide_.data() + 2 * hidden_;
    attend.query_stride = attend.key_stride = 3 * hidden_;
    RETURN_IF_ERROR(LaunchAttend(attend, bucket.tiles()));
    return LaunchAfterAttention(block, x, x.numbers);
  }

  // The last block, of which the first row of each sequence is read; it ends in `x`.
  absl::Status LaunchFirstRows(const Block& block, const PassBucket& bucket, const Pass& pass,
                               const Rows& x) REQUIRES(mutex_) {
    Number* const residual = attended_.data();
    RETURN_IF_ERROR(Multiply(x_.data(), block.query_key_value, hidden_, 2 * hidden_, bucket.rows,
                             hidden_, wide_.data()));
    RETURN_IF_ERROR(
        LaunchRows(bucket.sequences,
                   TakeFirstRows<Number>{pass.counts, pass.ranges, x_.data(), hidden_, residual}));
    RETURN_IF_ERROR(Multiply(residual, block.query_key_value, 0, hidden_, bucket.sequences, hidden_,
                             product_.data()));
    AttendTask<Number> attend = AttendTaskOf(pass);
    attend.first_only = true;
    attend.queries = product_.data();
    attend.keys = wide_.data();
    attend.values = wide_.data() + hidden_;
    attend.query_stride = hidden_;
    attend.key_stride = 2 * hidden_;
    RETURN_IF_ERROR(LaunchAttend(attend, bucket.sequences));
    return LaunchAfterAttention(block, x, residual);
  }

  // The rest of a block: from context_ and `residual`, which may be attended_, to `x`.
  absl::Status LaunchAfterAttention(const Block& block, const Rows& x, const Number* residual)
      REQUIRES(mutex_) {
    RETURN_IF_ERROR(Multiply(context_.data(), block.attention_output, 0, hidden_, x.bucket, hidden_,
                             product_.data()));
    RETURN_IF_ERROR(
        LaunchNorm(product_.data(), residual, block.attention_norm, x, attended_.data()));
    RETURN_IF_ERROR(Multiply(attended_.data(), block.intermediate, 0, middle_, x.bucket, hidden_,
                             wide_.data()));
    RETURN_IF_ERROR(LaunchGelu(x));
    RETURN_IF_ERROR(
        Multiply(wide_.data(), block.output, 0, hidden_, x.bucket, middle_, product_.data()));
    return LaunchNorm(product_.data(), attended_.data(), block.output_norm, x, x.numbers);
  }

  // By the outputs of `layer` from `first` on.
  absl::Status Multiply(const Number* in, const Linear& layer, int first, int outputs, int rows,
                        int inputs, Number* out) REQUIRES(mutex_) {
    return products_->Multiply(
        &device_,
        device::DeviceProduct<Number>{in, layer.weights.data() + int64_t{first} * inputs,
                                      layer.bias.data() + first, rows, inputs, outputs, out});
  }

  absl::Status LaunchNorm(const Number* x, const Number* residual, const Norm& norm,
                          const Rows& rows, Number* out) REQUIRES(mutex_) {
    AddAndNorm<Number> step;
    step.row_count = rows.count;
    step.x = x;
    step.residual = residual;
    step.columns = hidden_;
    step.gain = norm.gain.data();
    step.shift = norm.shift.data();
    step.epsilon = options_.shape.layer_norm_epsilon;
    step.out = out;
    return LaunchRows(rows.bucket, step);
  }

  AttendTask<Number> AttendTaskOf(const Pass& pass) const {
    AttendTask<Number> task;
    task.counts = pass.counts;
    task.tiles = pass.tiles;
    task.ranges = pass.ranges;
    task.key_bias = pass.bias;
    task.heads = static_cast<int>(options_.shape.head_count);
    task.head_size = hidden_ / task.heads;
    task.scale = 1 / std::sqrt(static_cast<float>(task.head_size));
    task.out = context_.data();
    task.out_stride = hidden_;
    return task;
  }

  absl::Status LaunchAttend(const AttendTask<Number>& task, int tiles) REQUIRES(mutex_) {
    const int blocks = tiles * task.heads;
    if (task.head_size <= 32) return device_.Launch(blocks, Attend<Number, 32>{task});
    if (task.head_size <= 64) return device_.Launch(blocks, Attend<Number, 64>{task});
    return device_.Launch(blocks, Attend<Number, kMostHead>{task});
  }

  // Of what wide_ has.
  absl::Status LaunchGelu(const Rows& rows) REQUIRES(mutex_) {
    using Step = Gelu<Number>;
    constexpr int64_t kMostBlocks = 4096;
    const int64_t fours = int64_t{rows.bucket} * middle_ / Step::kFour;
    const int64_t blocks = std::min((fours + Step::kThreads - 1) / Step::kThreads, kMostBlocks);
    return device_.Launch(static_cast<int>(blocks), Step{rows.count, middle_, wide_.data()});
  }

  // A step whose warps take a row each.
  template <typename Step>
  absl::Status LaunchRows(int rows, const Step& step) REQUIRES(mutex_) {
    const int blocks = (rows + kRowsOfBlock - 1) / kRowsOfBlock;
    return device_.Launch(blocks, step);
  }

  const DeviceStackOptions options_;
  const int hidden_, middle_;
  const int64_t most_rows_;  // of a bucket
  Mutex mutex_;
  absl::Status failure_ GUARDED_BY(mutex_);
  Device device_;  // goes last
  absl::optional<Products> products_;
  std::deque<Block> blocks_ GUARDED_BY(mutex_);
  std::array<Place, kPassPlaces> places_;
  std::atomic<size_t> next_place_{0};
  Array<Number> x_, attended_, context_, product_, wide_;
  std::map<std::pair<size_t, PassBucket>, typename Device::Recording> recordings_
      GUARDED_BY(mutex_);
};

// As StackDevices::New, of the precision that is asked for.
template <typename Device, typename Products>
absl::StatusOr<std::unique_ptr<DeviceStack>> NewDeviceStack(Device device,
                                                            const DeviceStackOptions& options) {
  if (options.precision == kStackPrecisions[0]) {
    return DeviceBlockStack<Device, Products, float>::Make(std::move(device), options);
  }
  if (options.precision == kStackPrecisions[1]) {
    return DeviceBlockStack<Device, Products, device::Bfloat16>::Make(std::move(device), options);
  }
  return absl::InvalidArgumentError(absl::StrCat("nothing computes in ", options.precision,
                                                 " on a device; there are float32 and bfloat16"));
}

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_STACK_H_
