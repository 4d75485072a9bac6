// The layer of device_linear.h on any device.
//
// There are some places, each with a stream, memory and a handle of its own, of which a caller
// takes one that is free: while the device multiplies for one, another's rows are laid out or
// copied.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_ROW_PRODUCTS_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_ROW_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/device/device_array.h"
#include "common/device/product.h"
#include "common/kernels/device_linear.h"
#include "common/kernels/packed_matrix.h"
#include "common/kernels/pass_layout.h"

namespace sightline::kernels {

// `Products` multiplies, as device::PlainProducts does.
template <typename Device, typename Products>
class DeviceRowProducts : public DeviceLinear {
 public:
  // As StackDevices::NewLinear, in streams of `device`.
  static absl::StatusOr<std::unique_ptr<DeviceLinear>> Make(const Device& device,
                                                            const LinearWeights& weights,
                                                            const DeviceLinearOptions& options) {
    std::unique_ptr<DeviceRowProducts> linear(new DeviceRowProducts(options));
    RETURN_IF_ERROR(linear->Reserve(device));
    RETURN_IF_ERROR(linear->CopyWeights(weights));
    return linear;
  }

  absl::Status Multiply(const float* in, int64_t rows, float* out) override {
    while (rows > 0) {
      const int64_t count = std::min(rows, kMostLinearRows);
      RETURN_IF_ERROR(MultiplyTogether(in, count, out));
      in += count * options_.inputs;
      out += count * options_.outputs;
      rows -= count;
    }
    return absl::OkStatus();
  }

  int64_t byte_count() const override { return BytesOfLinear(options_.inputs, options_.outputs); }

 private:
  template <typename T>
  using Array = device::DeviceArray<Device, T>;

  struct Place {
    explicit Place(Device opened) : device(std::move(opened)) {}

    Device device;  // goes last
    absl::optional<Products> products;
    Array<float> in, out;
    device::HostArray<Device, float> host_in, host_out;
  };

  explicit DeviceRowProducts(const DeviceLinearOptions& options)
      : options_(options), stride_(LinearStride(options.inputs)) {}

  absl::Status Reserve(const Device& device) {
    for (int i = 0; i < kLinearPlaces; ++i) {
      ASSIGN_OR_RETURN(auto stream, device.NewStream());
      places_.push_back(std::make_unique<Place>(std::move(stream)));
      RETURN_IF_ERROR(ReservePlace(places_.back().get()));
      Give(places_.back().get());
    }
    return absl::OkStatus();
  }

  absl::Status ReservePlace(Place* place) {
    ASSIGN_OR_RETURN(place->products, Products::Open(&place->device));
    const int64_t in = kMostLinearRows * stride_, out = kMostLinearRows * options_.outputs;
    RETURN_IF_ERROR(place->in.Reserve(&place->device, in));
    RETURN_IF_ERROR(place->out.Reserve(&place->device, out));
    RETURN_IF_ERROR(place->host_in.Reserve(&place->device, in));
    RETURN_IF_ERROR(place->host_out.Reserve(&place->device, out));
    // What is between two rows is never written again, and other passes' rows are numbers.
    std::fill_n(place->host_in.data(), in, 0.0f);
    RETURN_IF_ERROR(
        place->device.CopyIn(place->in.data(), place->host_in.data(), Array<float>::Bytes(in)));
    return place->device.Wait();
  }

  // All places read them.
  absl::Status CopyWeights(const LinearWeights& from) {
    Device& device = places_[0]->device;
    std::vector<float> padded(options_.outputs * stride_);
    for (int64_t i = 0; i < options_.outputs; ++i) {
      std::copy_n(from.weights + i * from.inputs, from.inputs, padded.begin() + i * stride_);
    }
    RETURN_IF_ERROR(weights_.ReserveCopy(&device, padded));
    return bias_.ReserveCopy(&device, std::vector<float>(from.bias, from.bias + from.outputs));
  }

  absl::Status MultiplyTogether(const float* in, int64_t rows, float* out) {
    const absl::Time asked = absl::Now();
    const typename Device::Range range("multiplying regions", rows);
    Place* const taken = Take();
    const absl::Cleanup give = [&] { Give(taken); };
    Place& place = *taken;
    device::PassStats pass;
    pass.waited = absl::Now() - asked;
    pass.bytes_in = Array<float>::Bytes(rows * stride_);
    pass.bytes_out = Array<float>::Bytes(rows * options_.outputs);
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(in + i * options_.inputs, options_.inputs, place.host_in.data() + i * stride_);
    }
    if (options_.watch != nullptr) options_.watch->Began();
    const absl::Status done = Launch(&place, rows, pass);
    pass.took = absl::Now() - asked;
    if (options_.watch != nullptr) options_.watch->Ended(done.ok() ? &pass : nullptr);
    if (done.ok()) {
      std::copy_n(place.host_out.data(), rows * options_.outputs, out);
    } else {
      // Nothing is under way that would write to our memory, or read it.
      (void)place.device.Wait();
    }
    return done;
  }

  Place* Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (free_.empty()) given_.Wait(mutex_);
    Place* const place = free_.back();
    free_.pop_back();
    return place;
  }

  void Give(Place* place) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    free_.push_back(place);
    given_.NotifyOne();
  }

  // Of a bucket's rows, so that there are few shapes of products.
  absl::Status Launch(Place* place, int64_t rows, const device::PassStats& pass) {
    Device& device = place->device;
    RETURN_IF_ERROR(device.CopyIn(place->in.data(), place->host_in.data(), pass.bytes_in));
    device::DeviceProduct<float> product;
    product.in = place->in.data();
    product.weights = weights_.data();
    product.bias = bias_.data();
    product.rows = static_cast<int>(std::min(BucketRows(rows), kMostLinearRows));
    product.inputs = static_cast<int>(stride_);
    product.outputs = static_cast<int>(options_.outputs);
    product.out = place->out.data();
    RETURN_IF_ERROR(place->products->Multiply(&device, product));
    RETURN_IF_ERROR(device.CopyOut(place->host_out.data(), place->out.data(), pass.bytes_out));
    return device.Wait();
  }

  const DeviceLinearOptions options_;
  const int64_t stride_;
  std::vector<std::unique_ptr<Place>> places_;  // go after the weights, whose device is one's
  Array<float> weights_, bias_;
  Mutex mutex_;
  CondVar given_;
  std::vector<Place*> free_ GUARDED_BY(mutex_);
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_ROW_PRODUCTS_H_
