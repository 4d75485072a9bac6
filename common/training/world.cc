// Before all else, as LibTorch's headers look at it: without it they declare no gloo.
#if __has_include(<gloo/context.h>)
#define USE_C10D_GLOO
#endif

#include "common/training/world.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#ifdef USE_C10D_GLOO
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/training/nccl.h"

namespace sightline {

#ifdef USE_C10D_GLOO

struct TrainingWorld::Group {
  // Of whoever keeps it, the server too; it outlives the group, which meets by it.
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<CollectiveEngine> gloo;
  // Null: what lies on GPUs goes through gloo as well.
  c10::intrusive_ptr<CollectiveEngine> nccl;

  // What exchanges a tensor as it is Exchangeable.
  CollectiveEngine& EngineOf(const at::Tensor& tensor) const {
    return *(nccl && tensor.is_cuda() ? nccl : gloo);
  }
  // In one piece, and on the host for gloo; the tensor's own memory, if that is so already.
  at::Tensor Exchangeable(const at::Tensor& tensor) const {
    const at::Tensor own = tensor.detach();
    return (nccl && own.is_cuda() ? own : own.to(at::kCPU)).contiguous();
  }
};

namespace {

std::shared_ptr<::gloo::transport::Device> DeviceFor(const TrainingWorldOptions& options) {
  if (!options.interface.empty()) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(options.interface);
  }
  // Processes of one machine stay within it: its name may lead to nowhere.
  if (options.all_local) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

// Whether this process is the one at which the others meet.
bool KeepsStore(const TrainingWorldOptions& options) {
  return options.rank == 0 && !options.launcher_keeps_store;
}

c10::intrusive_ptr<c10d::Store> Meet(const TrainingWorldOptions& options) {
  c10d::TCPStoreOptions of_store;
  of_store.port = static_cast<std::uint16_t>(options.port);
  of_store.isServer = KeepsStore(options);
  // Who is missing, gloo finds out, and in one time rather than two.
  of_store.waitWorkers = false;
  of_store.timeout = absl::ToChronoMilliseconds(options.timeout);
#if TORCH_VERSION_MAJOR >= 2
  of_store.useLibUV = false;  // true by default, which Debian 13's LibTorch is built without
#endif
  c10::intrusive_ptr<c10d::Store> store =
      c10::make_intrusive<c10d::TCPStore>(options.host, of_store);
  if (options.prefix.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>(options.prefix, std::move(store));
}

c10::intrusive_ptr<CollectiveEngine> GlooOf(const c10::intrusive_ptr<c10d::Store>& store,
                                            const TrainingWorldOptions& options) {
  auto of_gloo =
      c10d::ProcessGroupGloo::Options::create(absl::ToChronoMilliseconds(options.timeout));
  of_gloo->devices.push_back(DeviceFor(options));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank, options.size, of_gloo);
}

std::string LineOf(absl::string_view words) {
  return std::vector<std::string>(absl::StrSplit(words, absl::MaxSplits('\n', 1)))[0];
}

// What `run` throws, in a line; empty if it throws nothing.
std::string Thrown(const std::function<void()>& run) {
  try {
    run();
    return "";
  } catch (const c10::Error& error) {
    return LineOf(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return LineOf(error.what());
  }
}

absl::Status CheckOptions(const TrainingWorldOptions& options) {
  if (options.size >= 1 && options.size <= kMostProcesses && options.rank >= 0 &&
      options.rank < options.size && options.timeout > absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no process ", options.rank, " of ", options.size, ", of at most ", kMostProcesses,
      ", that waits for the others for ", absl::FormatDuration(options.timeout)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingWorld>> TrainingWorld::Join(
    const TrainingWorldOptions& options, c10::Device device) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<TrainingWorld> world = absl::WrapUnique(new TrainingWorld(options, device));
  if (options.size == 1) return world;
  PrepareNccl(options);
  world->group_ = std::make_unique<Group>();
  std::string thrown = Thrown([&] { world->group_->store = Meet(options); });
  if (!thrown.empty() && KeepsStore(options)) {
    return absl::UnavailableError(absl::StrCat(
        "process 0 of ", options.size, " cannot wait for the others at ", options.host, ":",
        options.port, ": ", thrown,
        "; is that MASTER_ADDR this machine's? If another program has the port, give all of them "
        "another MASTER_PORT"));
  }
  if (thrown.empty()) {
    thrown = Thrown([&] { world->group_->gloo = GlooOf(world->group_->store, options); });
  }
  if (thrown.empty()) {
    RETURN_IF_ERROR(world->ChooseEngine());
    return world;
  }
  return absl::UnavailableError(absl::StrCat(
      "process ", options.rank, " of ", options.size, " did not meet the others at ", options.host,
      ":", options.port, " within ", absl::FormatDuration(options.timeout), ": ", thrown,
      "; are all of them started, with equal WORLD_SIZE, MASTER_ADDR and MASTER_PORT and each with "
      "a RANK of its own, and is the port no other program's?"));
}

absl::Status TrainingWorld::Exchange(absl::string_view what,
                                     const std::function<void(Group* group)>& run) {
  if (!lost_.ok()) return lost_;
  const std::string thrown = Thrown([&] { run(group_.get()); });
  if (!thrown.empty()) {
    lost_ = absl::UnavailableError(
        absl::StrCat("process ", rank(), " of ", size(), " was to ", what,
                     ", and another one has ended or was not heard of for ",
                     absl::FormatDuration(options_.timeout), ": ", thrown,
                     "; start all of them again, and they go on at the last checkpoint"));
  }
  return lost_;
}

namespace {

void PutBack(const at::Tensor& exchanged, const at::Tensor& tensor) {
  if (exchanged.data_ptr() != tensor.data_ptr()) tensor.detach().copy_(exchanged);
}

}  // namespace

absl::Status TrainingWorld::TakeFrom(int rank, const at::Tensor& tensor) {
  if (tensor.numel() == 0) return absl::OkStatus();
  return Exchange("take what another one has", [&](Group* group) {
    std::vector<at::Tensor> parts = {group->Exchangeable(tensor)};
    c10d::BroadcastOptions from;
    from.rootRank = rank;
    group->EngineOf(parts[0]).broadcast(parts, from)->wait();
    PutBack(parts[0], tensor);
  });
}

absl::Status TrainingWorld::AddUp(const std::vector<at::Tensor>& tensors) {
  if (is_alone()) return absl::OkStatus();
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    RETURN_IF_ERROR(Exchange("add up what all have", [&](Group* group) {
      std::vector<at::Tensor> parts = {group->Exchangeable(tensor)};
      group->EngineOf(parts[0]).allreduce(parts)->wait();
      PutBack(parts[0], tensor);
    }));
  }
  return absl::OkStatus();
}

namespace {

// Equally shaped tensors of all processes.
std::vector<at::Tensor> AllOf(const at::Tensor& own, int size, CollectiveEngine* engine) {
  std::vector<std::vector<at::Tensor>> all(1);
  for (int i = 0; i < size; ++i) all[0].push_back(at::empty_like(own));
  std::vector<at::Tensor> parts = {own};
  engine->allgather(all, parts)->wait();
  return std::move(all[0]);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TrainingWorld::GpuIdsOfAll() {
  std::string own_id;
  if (options_.may_use_nccl) {
    engine_ = Thrown([&] { own_id = GpuIdForNccl(device_); });
    if (!engine_.empty()) engine_ = absl::StrCat("gloo, since CUDA says: ", engine_);
  }
  // An id that is missing is told as zeros, which no GPU has.
  const at::Tensor own = at::zeros({kGpuIdBytes}, at::kByte);
  std::copy(own_id.begin(), own_id.end(), own.data_ptr<uint8_t>());
  std::vector<std::string> ids;
  RETURN_IF_ERROR(Exchange("tell which GPU it has", [&](Group* group) {
    for (const at::Tensor& one : AllOf(own, size(), group->gloo.get())) {
      const uint8_t* const bytes = one.data_ptr<uint8_t>();
      const bool missing = one.count_nonzero().item<int64_t>() == 0;
      ids.emplace_back(bytes, bytes + (missing ? 0 : kGpuIdBytes));
    }
  }));
  return ids;
}

absl::Status TrainingWorld::ChooseEngine() {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, GpuIdsOfAll());
  if (engine_.empty()) engine_ = "gloo";
  if (!EachHasItsOwnGpu(ids)) return absl::OkStatus();
  // NCCL says what it cannot do when something is exchanged.
  const std::string thrown = Thrown([&] {
    group_->nccl = NcclBetween(group_->store, options_);
    std::vector<at::Tensor> ones = {at::ones({1}, device_)};
    group_->nccl->allreduce(ones)->wait();
    const auto sum = ones[0].item<float>();
    TORCH_CHECK(sum == static_cast<float>(size()), "it counts ", sum, " processes");
  });
  const absl::Status begun =
      Agree(thrown.empty() ? absl::OkStatus()
                           : absl::UnavailableError(absl::StrCat("NCCL does not begin: ", thrown)));
  if (begun.ok()) {
    engine_ = "nccl";
    return absl::OkStatus();
  }
  group_->nccl.reset();
  engine_ = absl::StrCat("gloo, since ", begun.message(), " (NCCL_DEBUG=INFO tells more)");
  return lost_;
}

absl::StatusOr<GatheredRows> TrainingWorld::GatherRows(const at::Tensor& rows) {
  if (is_alone()) return GatheredRows{rows.detach(), 0};
  const bool has_some = rows.size(0) > 0;
  // Of rows that a process has none of it learns the shape, and where they lie, from the others.
  at::Tensor shape = at::zeros({4}, at::kLong);
  if (has_some) {
    shape = at::tensor({rows.size(0), rows.size(1), static_cast<int64_t>(rows.scalar_type()),
                        int64_t{rows.is_cpu() ? 0 : 1}},
                       at::kLong);
  }
  std::vector<at::Tensor> shapes;
  RETURN_IF_ERROR(Exchange("tell how many rows it has", [&](Group* group) {
    shapes = AllOf(shape, size(), &group->EngineOf(shape));
  }));
  GatheredRows all;
  std::vector<int64_t> counts;
  int64_t most = 0, width = 0, type = 0;
  bool on_device = false;
  for (const at::Tensor& of_one : shapes) {
    const int64_t* const numbers = of_one.data_ptr<int64_t>();
    if (static_cast<int>(counts.size()) < rank()) all.begin += numbers[0];
    counts.push_back(numbers[0]);
    most = std::max(most, numbers[0]);
    if (numbers[0] == 0) continue;
    if (width != 0 && (width != numbers[1] || type != numbers[2])) {
      return absl::InternalError(absl::StrCat("processes have rows of ", width, " and of ",
                                              numbers[1], " numbers; do all read the same start?"));
    }
    width = numbers[1];
    type = numbers[2];
    on_device = on_device || numbers[3] != 0;
  }
  all.rows = at::empty({0, width}, static_cast<at::ScalarType>(type));
  if (most == 0 || width == 0) return all;
  const c10::Device where = on_device && group_->nccl ? device_ : c10::Device(at::kCPU);
  const at::Tensor padded =
      at::zeros({most, width}, at::TensorOptions(where).dtype(static_cast<at::ScalarType>(type)));
  if (has_some) padded.narrow(0, 0, rows.size(0)).copy_(rows.detach());
  std::vector<at::Tensor> parts;
  RETURN_IF_ERROR(Exchange("tell its rows", [&](Group* group) {
    parts = AllOf(padded, size(), &group->EngineOf(padded));
  }));
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].narrow(0, 0, counts[i]);
  all.rows = at::cat(parts);
  if (on_device) all.rows = all.rows.to(device_);
  return all;
}

absl::StatusOr<std::vector<int64_t>> TrainingWorld::NumbersOf(int64_t number) {
  std::vector<int64_t> numbers;
  RETURN_IF_ERROR(Exchange("tell a number", [&](Group* group) {
    const at::Tensor own = at::tensor({number}, at::kLong);
    for (const at::Tensor& one : AllOf(own, size(), &group->EngineOf(own))) {
      numbers.push_back(one.item<int64_t>());
    }
  }));
  return numbers;
}

#else

struct TrainingWorld::Group {};

absl::StatusOr<std::unique_ptr<TrainingWorld>> TrainingWorld::Join(
    const TrainingWorldOptions& options, c10::Device device) {
  if (options.size == 1) return absl::WrapUnique(new TrainingWorld(options, device));
  return absl::UnimplementedError(absl::StrCat(
      "this program was built without gloo, which ", options.size,
      " processes need to learn together; build it where libgloo-dev is installed, or start one"));
}

// No world has several processes then.
absl::Status TrainingWorld::Exchange(absl::string_view, const std::function<void(Group*)>&) {
  return lost_;
}
absl::Status TrainingWorld::TakeFrom(int, const at::Tensor&) {
  return lost_;
}
absl::Status TrainingWorld::AddUp(const std::vector<at::Tensor>&) {
  return lost_;
}
absl::StatusOr<GatheredRows> TrainingWorld::GatherRows(const at::Tensor& rows) {
  return GatheredRows{rows.detach(), 0};
}
absl::StatusOr<std::vector<int64_t>> TrainingWorld::NumbersOf(int64_t number) {
  return std::vector<int64_t>{number};
}

#endif

TrainingWorld::TrainingWorld() : TrainingWorld(TrainingWorldOptions{}, c10::kCPU) {}

TrainingWorld::TrainingWorld(const TrainingWorldOptions& options, c10::Device device)
    : options_(options), device_(device) {}

TrainingWorld::~TrainingWorld() = default;

WorldPart TrainingWorld::PartOf(int64_t count) const {
  return {count * rank() / size(), count * (rank() + 1) / size()};
}

absl::StatusOr<int64_t> TrainingWorld::SumOf(int64_t number) {
  if (is_alone()) return number;
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, NumbersOf(number));
  int64_t sum = 0;
  for (const int64_t one : numbers) sum += one;
  return sum;
}

absl::Status TrainingWorld::TakeFromFirst(const std::vector<at::Tensor>& tensors) {
  if (is_alone()) return absl::OkStatus();
  for (const at::Tensor& tensor : tensors) RETURN_IF_ERROR(TakeFrom(0, tensor));
  return absl::OkStatus();
}

absl::StatusOr<std::string> TrainingWorld::TextOfFirst(const std::string& text) {
  if (is_alone()) return text;
  const at::Tensor count = at::tensor({static_cast<int64_t>(text.size())}, at::kLong);
  RETURN_IF_ERROR(TakeFrom(0, count));
  std::string of_first = text;
  of_first.resize(static_cast<size_t>(count.item<int64_t>()));
  RETURN_IF_ERROR(
      TakeFrom(0, at::from_blob(&of_first[0], {static_cast<int64_t>(of_first.size())}, at::kByte)));
  return of_first;
}

absl::Status TrainingWorld::Agree(const absl::Status& own) {
  if (is_alone()) return own;
  if (!lost_.ok()) return own.ok() ? lost_ : own;
  const auto told_codes = NumbersOf(static_cast<int64_t>(own.code()));
  if (!told_codes.ok()) return own.ok() ? told_codes.status() : own;
  const std::vector<int64_t>& codes = *told_codes;
  const auto failed =
      std::find_if(codes.begin(), codes.end(), [](int64_t code) { return code != 0; });
  if (failed == codes.end()) return absl::OkStatus();
  constexpr size_t kTextBytes = 1024;
  const auto teller = static_cast<int>(failed - codes.begin());
  std::string text(own.message());
  text.resize(kTextBytes, '\0');
  const absl::Status told =
      TakeFrom(teller, at::from_blob(&text[0], {static_cast<int64_t>(kTextBytes)}, at::kByte));
  if (!own.ok()) return own;
  RETURN_IF_ERROR(told);
  return absl::Status(static_cast<absl::StatusCode>(*failed),
                      absl::StrCat("process ", teller, " of ", size(), ": ", text.c_str()));
}

}  // namespace sightline
