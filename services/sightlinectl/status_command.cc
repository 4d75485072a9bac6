#include "services/sightlinectl/status_command.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/outcome.h"
#include "common/bundle/rerankers.h"
#include "common/clients/admin_client.h"
#include "common/clients/convert_admin.h"
#include "common/clients/router_address.h"
#include "common/config/table.h"
#include "common/log/progress.h"
#include "services/sightlinectl/json.h"

namespace sightline {
namespace {

const char* StateName(GenerationState state) {
  switch (state) {
    case GenerationState::kLoading:
      return "LOADING";
    case GenerationState::kReady:
      return "READY";
    case GenerationState::kRefused:
      return "REFUSED";
  }
  return "?";
}

const char* StageName(LoadStage stage) {
  switch (stage) {
    case LoadStage::kFetching:
      return "fetch";
    case LoadStage::kVerifying:
      return "verify";
    case LoadStage::kLoading:
      return "load";
  }
  return "?";
}

// The first digits of a hash tell bundles apart; --json has all of them.
std::string Short(const std::string& hash) {
  return hash.empty() ? "-" : hash.substr(0, 12);
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// The default first; its name only where there are others.
std::string Rerankers(const std::vector<RerankerInfo>& rerankers) {
  if (rerankers.size() == 1 && rerankers[0].name == kDefaultReranker) {
    return Short(rerankers[0].model);
  }
  return OrDash(absl::StrJoin(rerankers, " ", [](std::string* out, const RerankerInfo& reranker) {
    absl::StrAppend(out, reranker.name, "=", Short(reranker.model));
  }));
}

std::string GenerationTable(const std::vector<GenerationStatus>& generations) {
  Table table({{"index"},
               {"generation"},
               {"state"},
               {"sequence", true},
               {"items", true},
               {"kind"},
               {"dimension", true},
               {"shards", true},
               {"held"},
               {"encoder"},
               {"reranker"},
               {"reason"}});
  for (const GenerationStatus& status : generations) {
    const GenerationInfo& info = status.info;
    table.AddRow({info.ref.index, info.ref.generation, StateName(status.state),
                  absl::StrCat(status.sequence), absl::StrCat(info.item_count),
                  info.content == IndexContent::kCaptions ? "captions" : "images",
                  absl::StrCat(info.dimension), absl::StrCat(info.shard_count),
                  OrDash(absl::StrJoin(status.held_shards, ",")), Short(info.encoder_model),
                  Rerankers(info.rerankers), OrDash(status.reason)});
  }
  return table.empty() ? "" : absl::StrCat("generations\n", table.ToString(2));
}

// What is read of generations that are LOADING, a line each.
std::string LoadLines(const std::vector<GenerationStatus>& generations) {
  constexpr int64_t kKilobyte = 1000, kMegabyte = 1000 * kKilobyte;
  std::string lines;
  for (const GenerationStatus& status : generations) {
    if (!status.progress.has_value() || status.progress->total_bytes == 0) continue;
    const LoadProgress& progress = *status.progress;
    const bool is_small = progress.total_bytes < 10 * kMegabyte;
    const int64_t unit = is_small ? kKilobyte : kMegabyte;
    const std::string line =
        ProgressLine(StageName(progress.stage), is_small ? "kB" : "MB", progress.read_bytes / unit,
                     /*skipped=*/0, progress.total_bytes / unit, progress.elapsed);
    const std::string name = absl::StrCat(status.info.ref.index, "/", status.info.ref.generation);
    absl::StrAppend(&lines, "  ", Printable(name, 0), "  ", line, "\n");
  }
  return lines.empty() ? "" : absl::StrCat("loading\n", lines);
}

// Of indexes whose CURRENT cannot be read or brought up to date: what is followed meanwhile.
std::string TroubleTable(const std::vector<IndexStatus>& indexes) {
  Table table({{"index"}, {"sequence", true}, {"generation"}, {"error"}});
  for (const IndexStatus& status : indexes) {
    if (status.error.empty()) continue;
    table.AddRow(
        {status.index, absl::StrCat(status.sequence), OrDash(status.generation), status.error});
  }
  return table.empty() ? "" : absl::StrCat("CURRENT may be out of date\n", table.ToString(2));
}

std::string ModelTable(const std::vector<ModelStatus>& models) {
  Table table({{"model"},
               {"family"},
               {"space"},
               {"precision"},
               {"agreement", true},
               {"description", false, 80}});
  for (const ModelStatus& model : models) {
    const bool computes = !model.precision.empty();
    table.AddRow({Short(model.model), model.family, Short(model.space), OrDash(model.precision),
                  computes ? absl::StrFormat("%.3f", model.agreement) : "-", model.description});
  }
  return table.empty() ? "" : absl::StrCat("models\n", table.ToString(2));
}

std::string BackendTable(const std::vector<BackendStatus>& backends) {
  Table table({{"service"}, {"address"}, {"reachable"}, {"shards"}, {"error"}});
  for (const BackendStatus& backend : backends) {
    table.AddRow({backend.service, backend.address, backend.reachable ? "yes" : "NO",
                  OrDash(absl::StrJoin(backend.shards, " ")), OrDash(backend.error)});
  }
  return table.empty() ? "" : absl::StrCat("backends\n", table.ToString(2));
}

std::string CacheTable(const std::vector<CacheStatus>& caches) {
  Table table({{"cache"},
               {"entries", true},
               {"bytes", true},
               {"of", true},
               {"hits", true},
               {"shared", true},
               {"misses", true}});
  for (const CacheStatus& cache : caches) {
    table.AddRow({cache.name, absl::StrCat(cache.entries), absl::StrCat(cache.bytes),
                  cache.max_bytes > 0 ? absl::StrCat(cache.max_bytes) : "off",
                  absl::StrCat(cache.hits), absl::StrCat(cache.shared),
                  absl::StrCat(cache.misses)});
  }
  return table.empty() ? "" : absl::StrCat("caches\n", table.ToString(2));
}

std::string DeviceTable(const std::vector<DeviceStatus>& devices) {
  Table table({{"device", true},
               {"name"},
               {"MB held", true},
               {"of", true},
               {"passes", true},
               {"recorded", true},
               {"ms a pass", true},
               {"waiting", true},
               {"MB in", true},
               {"MB out", true}});
  const auto megabytes = [](int64_t bytes) { return absl::StrCat(bytes / 1'000'000); };
  for (const DeviceStatus& device : devices) {
    const DeviceWork& work = device.work;
    const auto each = [&](absl::Duration time) {
      if (work.pass_count == 0) return std::string("-");
      return absl::StrFormat("%.3f", absl::ToDoubleMilliseconds(time) / work.pass_count);
    };
    table.AddRow({absl::StrCat(device.number), OrDash(device.name), megabytes(device.held_bytes),
                  device.memory_bytes > 0 ? megabytes(device.memory_bytes) : "-",
                  absl::StrCat(work.pass_count), absl::StrCat(work.recorded_count), each(work.took),
                  each(work.waited), megabytes(work.bytes_in), megabytes(work.bytes_out)});
  }
  return table.empty() ? "" : absl::StrCat("devices\n", table.ToString(2));
}

// All at once: the slowest server alone decides how long it takes.
std::vector<ServerAnswer> AskAll(const std::vector<std::string>& addresses,
                                 const CallContext& call) {
  std::vector<std::shared_ptr<Outcome<ServerStatus>>> outcomes;
  for (const std::string& address : addresses) {
    auto outcome = std::make_shared<Outcome<ServerStatus>>();
    outcomes.push_back(outcome);
    MakeGrpcAdminClient(address)->GetStatus(
        call, {},
        [outcome](absl::StatusOr<ServerStatus> status) { outcome->Set(std::move(status)); });
  }
  std::vector<ServerAnswer> answers;
  for (size_t i = 0; i < addresses.size(); ++i) {
    answers.push_back({addresses[i], outcomes[i]->Await(CallContext::Unbounded(), addresses[i])});
  }
  return answers;
}

}  // namespace

std::string FormatServer(const ServerAnswer& answer) {
  if (!answer.status.ok()) {
    return absl::StrCat(answer.address, "  does not answer\n", FormatError(answer.status.status()));
  }
  const ServerStatus& status = *answer.status;
  return absl::StrCat(
      answer.address, "  ", Printable(status.service, 0), status.draining ? ", about to end" : "",
      "\n", GenerationTable(status.generations), LoadLines(status.generations),
      TroubleTable(status.indexes), ModelTable(status.models), DeviceTable(status.devices),
      BackendTable(status.backends), CacheTable(status.caches));
}

std::string ServersJson(const std::vector<ServerAnswer>& answers) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ServerAnswer& answer : answers) {
    nlohmann::ordered_json one;
    one["address"] = answer.address;
    if (answer.status.ok()) {
      v1::GetStatusResponse message;
      ToProto(*answer.status, &message);
      one["status"] = nlohmann::ordered_json::parse(MessageJson(message), /*cb=*/nullptr,
                                                    /*allow_exceptions=*/false);
    } else {
      one["error"]["code"] = absl::StatusCodeToString(answer.status.status().code());
      one["error"]["message"] = std::string(answer.status.status().message());
    }
    all.push_back(std::move(one));
  }
  // What is not UTF-8 in a message from elsewhere must not throw.
  return all.dump(/*indent=*/1, ' ', /*ensure_ascii=*/false,
                  nlohmann::ordered_json::error_handler_t::replace);
}

int RunStatus(const std::vector<std::string>& args, const Console& console) {
  std::string router = DefaultRouter();
  absl::Duration timeout = absl::Seconds(2);
  bool json = false;
  Flags flags;
  flags.String("router", "ADDR",
               "asked when no address is given; default $SIGHTLINE_ROUTER or localhost:7400",
               &router);
  flags.Duration("timeout", "how long to wait for the answers; default 2s", &timeout);
  flags.Switch("json", "print the answers as a JSON array", &json);
  std::vector<std::string> addresses;
  int status = kSuccess;
  if (!ParseArguments(kStatusCommand, &flags, args, console, &addresses, &status)) return status;
  if (addresses.empty()) addresses.push_back(router);

  const std::vector<ServerAnswer> answers =
      AskAll(addresses, CallContext(Clock::Real(), Clock::Real()->Now() + timeout));
  for (const ServerAnswer& answer : answers) {
    status = Worse(status, ExitStatusOf(answer.status.status()));
    if (!json) (answer.status.ok() ? console.out : console.err) << FormatServer(answer);
  }
  if (json) console.out << ServersJson(answers) << "\n";
  return status;
}

}  // namespace sightline
