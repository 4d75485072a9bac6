#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "deploy/gpu/faiss_flat.h"
#include "faiss/gpu/GpuIndexFlat.h"
#include "faiss/gpu/StandardGpuResources.h"

namespace sightline {
namespace {

template <typename Work>
absl::Status Caught(const char* what, const Work& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

faiss::gpu::GpuIndexFlatConfig InFloat16(int device) {
  faiss::gpu::GpuIndexFlatConfig config;
  config.device = device;
  config.useFloat16 = true;
  return config;
}

class GpuFlat : public FaissFlat {
 public:
  GpuFlat(int dimension, int device) : index_(&resources_, dimension, InFloat16(device)) {}

  void Add(const float* rows, int64_t count) { index_.add(count, rows); }

  absl::Status Search(const float* queries, int64_t count, int top_k, float* scores,
                      int64_t* rows) override {
    return Caught("FAISS searches", [&] { index_.search(count, queries, top_k, scores, rows); });
  }

 private:
  faiss::gpu::StandardGpuResources resources_;
  faiss::gpu::GpuIndexFlatIP index_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FaissFlat>> FaissFlat::Make(const float* rows, int64_t count,
                                                           int dimension, int device) {
  std::unique_ptr<GpuFlat> made;
  RETURN_IF_ERROR(Caught("FAISS loads", [&] {
    made = std::make_unique<GpuFlat>(dimension, device);
    made->Add(rows, count);
  }));
  return std::unique_ptr<FaissFlat>(std::move(made));
}

}  // namespace sightline
