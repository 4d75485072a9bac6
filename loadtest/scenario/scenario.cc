#include "loadtest/scenario/scenario.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/config/config.h"
#include "loadtest/fleet/process_names.h"
#include "loadtest/measure/latency_histogram.h"
#include "loadtest/measure/recorder.h"

namespace sightline {
namespace {

constexpr double kMinRate = 0.001;
constexpr double kMaxRate = 1e6;
constexpr double kMaxRequests = 1e9;  // of one run
constexpr int kMaxMixEntries = 100;
constexpr int kMaxWeightedValues = 100;
constexpr int kMaxFaults = 100;
constexpr int kMaxPercentiles = 20;
constexpr int kMaxNameLength = 63;
constexpr double kMinWeight = 1e-6;
constexpr double kMaxWeight = 1e6;
constexpr int kMaxMeasuredRecall = 100;

// In the order of their enums; the first is the default.
constexpr const char* kArrivalKinds[] = {"poisson", "constant", "ramp", "replay"};
constexpr const char* kQueryKinds[] = {"text", "image", "item"};
constexpr const char* kFaultKinds[] = {"kill", "pause", "delay", "publish"};

// `path` as it is meant in the file `scenario`.
std::string Resolve(const std::string& scenario, const std::string& path) {
  if (path.empty()) return path;
  return (std::filesystem::path(scenario).parent_path() / path).string();
}

std::string CheckedName(ConfigReader section, absl::string_view key, std::string name) {
  if (!name.empty() && !IsValidName(name, kMaxNameLength)) {
    section.AddProblem(key, absl::StrCat("must be made of a-z, 0-9, _ and -, start with a letter "
                                         "or digit and have at most ",
                                         kMaxNameLength, " characters"));
  }
  return name;
}

template <typename Kind, size_t kCount>
Kind ReadKind(ConfigReader section, const char* const (&names)[kCount]) {
  const std::string name = section.Choice("kind", names[0], {names, names + kCount});
  return static_cast<Kind>(std::find(names, names + kCount, name) - names);
}

// A key that does nothing beside another one's value.
void Refuse(ConfigReader section, absl::string_view key, absl::string_view why) {
  if (section.Has(key)) section.AddProblem(key, absl::StrCat("does nothing ", why, "; remove it"));
}

void RefuseForKind(ConfigReader section, absl::string_view key, absl::string_view kind) {
  Refuse(section, key, absl::StrCat("for the kind ", kind));
}

absl::optional<double> OptionalShare(ConfigReader section, absl::string_view key) {
  const double share = section.Double(key, 0, 0, 1);
  return section.Has(key) ? absl::make_optional(share) : absl::nullopt;
}

// ---- arrivals ----

ArrivalSpec ReadArrivals(ConfigReader section, const std::string& file, bool capacity) {
  ArrivalSpec arrivals;
  arrivals.kind = ReadKind<ArrivalKind>(section, kArrivalKinds);
  const char* const kind = kArrivalKinds[static_cast<int>(arrivals.kind)];
  const bool replay = arrivals.kind == ArrivalKind::kReplay;
  const bool ramp = arrivals.kind == ArrivalKind::kRamp;
  if (capacity && (replay || ramp)) {
    section.AddProblem("kind", absl::StrCat("has ", kind,
                                            "; a capacity search sets the rate itself and wants "
                                            "poisson or constant"));
  }
  if (replay) {
    arrivals.trace = Resolve(file, section.RequiredString("trace"));
    arrivals.speed = section.Double("speed", arrivals.speed, 0.001, 1000);
    RefuseForKind(section, "rate", kind);
  } else {
    RefuseForKind(section, "trace", kind);
    RefuseForKind(section, "speed", kind);
    if (capacity) {
      Refuse(section, "rate", "beside capacity, which sets it");
    } else {
      arrivals.rate = section.RequiredDouble("rate", kMinRate, kMaxRate);
    }
  }
  if (ramp) {
    arrivals.end_rate = section.RequiredDouble("end_rate", kMinRate, kMaxRate);
  } else {
    RefuseForKind(section, "end_rate", kind);
  }
  return arrivals;
}

void CheckRequestCount(const Scenario& scenario, ConfigReader arrivals) {
  const double rate = std::max(scenario.arrivals.rate, scenario.arrivals.end_rate);
  const double count = rate * absl::ToDoubleSeconds(scenario.warm_up + scenario.length);
  if (count > kMaxRequests) {
    arrivals.AddProblem("rate", absl::StrCat("makes ", count,
                                             " requests over warm_up and length; "
                                             "allowed are ",
                                             kMaxRequests));
  }
}

// ---- mix ----

std::vector<WeightedInt> ReadWeighted(ConfigReader entry, absl::string_view key, int otherwise,
                                      int min, int max) {
  std::vector<WeightedInt> values;
  for (ConfigReader section : entry.Sections(key, entry.Has(key) ? 1 : 0, kMaxWeightedValues)) {
    WeightedInt value;
    value.value = static_cast<int>(section.RequiredInt("value", min, max));
    value.weight = section.Double("weight", value.weight, kMinWeight, kMaxWeight);
    values.push_back(value);
  }
  if (values.empty()) values.push_back({otherwise, 1});
  return values;
}

TagFilter ReadFilter(ConfigReader section) {
  TagFilter filter;
  const auto& [any, all, none] = filter;
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"any", &filter.any}, {"all", &filter.all}, {"none", &filter.none}};
  for (const auto& [key, tags] : lists) {
    *tags = section.StringList(key, 0, limits::kMaxFilterTags);
    for (const std::string& tag : *tags) {
      if (tag.size() <= limits::kMaxFilterTagBytes) continue;
      section.AddProblem(key, absl::StrCat("has a tag of ", tag.size(), " bytes; at most ",
                                           limits::kMaxFilterTagBytes, " are allowed"));
    }
  }
  const size_t count = any.size() + all.size() + none.size();
  if (count > limits::kMaxFilterTags) {
    section.AddProblem("any", absl::StrCat("any, all and none have ", count,
                                           " tags together, at most ", limits::kMaxFilterTags));
  }
  return filter;
}

EffortWish ReadEffort(ConfigReader section) {
  EffortWish wish;
  const double recall = section.Double("recall", 1, 0.001, 1);
  const int64_t effort = section.Int("effort", 1, 1, limits::kMaxEffort);
  if (section.Has("recall")) wish.recall = static_cast<float>(recall);
  if (!section.Has("effort")) return wish;
  if (section.Has("recall")) Refuse(section, "effort", "beside recall");
  wish.effort = static_cast<int>(effort);
  return wish;
}

// How many nearest items; 0 where recall is not measured.  Exact answers are retrieval's, and no
// longer than those that are compared with them.
int ReadMeasureRecall(ConfigReader section, const MixEntry& entry) {
  const int nearest = static_cast<int>(section.Int("measure_recall", 1, 1, kMaxMeasuredRecall));
  if (!section.Has("measure_recall")) return 0;
  for (const WeightedInt& depth : entry.depth) {
    if (depth.value == 0) continue;
    section.AddProblem("measure_recall",
                       absl::StrCat("has ", nearest, " beside a depth of ", depth.value,
                                    "; what is reranked is in another order than the exact answer: "
                                    "set depth: [{value: 0}]"));
  }
  for (const WeightedInt& top_k : entry.top_k) {
    if (top_k.value >= nearest) continue;
    section.AddProblem("measure_recall", absl::StrCat("has ", nearest, " beside a top_k of ",
                                                      top_k.value, ", which is fewer items"));
  }
  return nearest;
}

MixEntry ReadMixEntry(ConfigReader section, const std::string& file) {
  MixEntry entry;
  entry.kind = ReadKind<QueryKind>(section, kQueryKinds);
  const char* const kind = kQueryKinds[static_cast<int>(entry.kind)];
  entry.name = CheckedName(section, "name", section.String("name", kind));
  if (entry.name.empty()) section.AddProblem("name", "must not be empty");
  entry.weight = section.Double("weight", entry.weight, kMinWeight, kMaxWeight);
  const bool item = entry.kind == QueryKind::kItem;
  // Where the item lies cannot be guessed, unlike which index a text is to search.
  entry.index = CheckedName(section, "index",
                            item ? section.RequiredString("index") : section.String("index", ""));
  entry.queries =
      Resolve(file, item ? section.String("queries", "") : section.RequiredString("queries"));
  entry.top_k = ReadWeighted(section, "top_k", entry.top_k[0].value, 1, limits::kMaxHits);
  entry.depth = ReadWeighted(section, "depth", entry.depth[0].value, 0, limits::kMaxHits);
  entry.reranker = CheckedName(section, "reranker", section.String("reranker", ""));
  entry.filter = ReadFilter(section);
  entry.effort = ReadEffort(section);
  entry.deadline =
      section.Duration("deadline", entry.deadline, absl::Milliseconds(1), absl::Minutes(10));
  entry.distinct = section.Int("distinct", entry.distinct, 0, 10'000'000);
  entry.measure_recall = ReadMeasureRecall(section, entry);
  return entry;
}

std::vector<MixEntry> ReadMix(ConfigReader root, const std::string& file) {
  std::vector<MixEntry> mix;
  std::set<std::string> names;
  for (ConfigReader section : root.Sections("mix", /*min_count=*/1, kMaxMixEntries)) {
    mix.push_back(ReadMixEntry(section, file));
    if (!names.insert(mix.back().name).second) {
      section.AddProblem("name", absl::StrCat("'", mix.back().name,
                                              "' names two entries of the mix; reports could not "
                                              "tell them apart"));
    }
  }
  return mix;
}

// ---- slo ----

Slo ReadSlo(ConfigReader section) {
  Slo slo;
  std::set<double> seen;
  for (ConfigReader line : section.Sections("latency", 0, kMaxPercentiles)) {
    const double percentile = line.RequiredDouble("percentile", 0.001, 99.999);
    const absl::Duration within = line.Duration("within", absl::ZeroDuration(),
                                                absl::Microseconds(1), LatencyHistogram::kLongest);
    if (!line.Has("within")) line.AddProblem("within", "is missing and has no default");
    if (!seen.insert(percentile).second) {
      line.AddProblem("percentile", absl::StrCat(percentile, " is limited twice"));
    }
    slo.latency.emplace_back(percentile / 100, within);
  }
  slo.max_error_share = OptionalShare(section, "max_error_share");
  slo.max_degraded_share = OptionalShare(section, "max_degraded_share");
  slo.min_coverage = OptionalShare(section, "min_coverage");
  slo.min_recall = OptionalShare(section, "min_recall");
  slo.min_measured_recall = OptionalShare(section, "min_measured_recall");
  slo.min_depth_share = OptionalShare(section, "min_depth_share");
  const double ratio = section.Double("max_p99_ratio_in_faults", 1, 1, 1000);
  if (section.Has("max_p99_ratio_in_faults")) slo.max_p99_ratio_in_faults = ratio;
  if (!slo.latency.empty() && !slo.max_error_share) {
    section.AddProblem("latency",
                       "alone is met by a fleet that refuses every request at once; add "
                       "max_error_share");
  }
  return slo;
}

bool AsksForNothing(const Slo& slo) {
  return slo.latency.empty() && !slo.max_error_share && !slo.max_degraded_share &&
         !slo.min_coverage && !slo.min_recall && !slo.min_measured_recall && !slo.min_depth_share &&
         !slo.max_p99_ratio_in_faults;
}

void CheckMeasuredRecall(const Scenario& scenario, ConfigReader slo) {
  if (!scenario.slo.min_measured_recall) return;
  const bool measured = std::any_of(scenario.mix.begin(), scenario.mix.end(),
                                    [](const MixEntry& entry) { return entry.measure_recall > 0; });
  if (measured) return;
  slo.AddProblem("min_measured_recall", absl::StrCat("has ", *scenario.slo.min_measured_recall,
                                                     ", and no entry of the mix measures recall; "
                                                     "add measure_recall to one"));
}

// ---- fleet ----

FleetSpec ReadFleet(ConfigReader section, const std::string& file) {
  FleetSpec fleet;
  fleet.store = Resolve(file, section.String("store", ""));
  fleet.query_encoders = static_cast<int>(section.Int("query_encoders", 1, 1, 16));
  fleet.rerankers = static_cast<int>(section.Int("rerankers", 1, 0, 16));
  fleet.shards = static_cast<int>(section.Int("shards", fleet.shards, 1, 64));
  fleet.replicas_per_shard = static_cast<int>(section.Int("replicas_per_shard", 1, 1, 8));
  fleet.remember_verified = section.Bool("remember_verified", fleet.remember_verified);
  fleet.precision =
      section.Choice("precision", fleet.precision, {"fastest", "float32", "bfloat16", "int8"});
  fleet.caches = section.Choice("caches", fleet.caches, {"none", "embeddings", "all"});
  fleet.loading_bytes_per_second =
      section.Bytes("loading_bytes_per_second", 0, int64_t{1} << 20, int64_t{1} << 40);
  return fleet;
}

// ---- faults ----

// The process's whole name, "reranker/0" for "reranker"; as written, after noting a problem,
// if the fleet has none.
std::string CheckedTarget(const FleetSpec& fleet, const std::string& target, ConfigReader section) {
  if (target.empty()) return target;  // told already
  const absl::StatusOr<std::string> process = ResolveProcess(
      ProcessNames(fleet.query_encoders, fleet.rerankers, fleet.shards, fleet.replicas_per_shard),
      target);
  if (process.ok()) return *process;
  section.AddProblem("target", process.status().message());
  return target;
}

FaultSpec ReadFault(ConfigReader section) {
  FaultSpec fault;
  fault.kind = ReadKind<FaultKind>(section, kFaultKinds);
  if (!section.Has("kind")) section.AddProblem("kind", "is missing and has no default");
  fault.target = section.RequiredString("target");
  fault.at = section.Duration("at", absl::ZeroDuration(), absl::ZeroDuration(), absl::Hours(24));
  fault.lasting = section.Duration("lasting", fault.lasting, absl::ZeroDuration(), absl::Hours(24));
  if (fault.kind == FaultKind::kPublish && fault.lasting <= absl::ZeroDuration()) {
    section.AddProblem("lasting",
                       "is missing: how long the fleet may take to answer from the new "
                       "generation");
  }
  if (fault.kind == FaultKind::kDelay) {
    if (!section.Has("delay")) section.AddProblem("delay", "is missing and has no default");
    fault.delay =
        section.Duration("delay", absl::ZeroDuration(), absl::Milliseconds(1), absl::Minutes(1));
  } else {
    RefuseForKind(section, "delay", FaultKindName(fault.kind));
  }
  ConfigReader expect = section.Section("expect");
  const int64_t max_failures = expect.Int("max_failures", 0, 0, 1'000'000'000);
  if (expect.Has("max_failures")) fault.max_failures = max_failures;
  const absl::Duration whole_within =
      expect.Duration("whole_within", absl::ZeroDuration(), absl::Milliseconds(1), absl::Hours(1));
  if (expect.Has("whole_within")) fault.whole_within = whole_within;
  return fault;
}

void CheckFaultTimes(const Scenario& scenario, const FaultSpec& fault, ConfigReader section) {
  const absl::Duration needed =
      fault.at + fault.lasting + fault.whole_within.value_or(absl::ZeroDuration());
  if (needed <= scenario.length && fault.at < scenario.length) return;
  section.AddProblem("at", absl::StrCat("with lasting and whole_within, the run of ",
                                        absl::FormatDuration(scenario.length),
                                        " (length) ends before ", absl::FormatDuration(needed),
                                        " have passed; nothing could be told of what comes after"));
}

bool AtOnce(const FaultSpec& a, const FaultSpec& b) {
  const auto end = [](const FaultSpec& fault) {
    return fault.for_good() ? absl::InfiniteDuration() : fault.at + fault.lasting;
  };
  return a.at <= end(b) && b.at <= end(a);
}

std::vector<FaultSpec> ReadFaults(ConfigReader root, const Scenario& scenario) {
  std::vector<FaultSpec> faults;
  const FleetSpec fleet = scenario.fleet.value_or(FleetSpec());
  for (ConfigReader section : root.Sections("faults", 0, kMaxFaults)) {
    FaultSpec fault = ReadFault(section);
    if (fault.kind != FaultKind::kPublish) {
      fault.target = CheckedTarget(fleet, fault.target, section);
    }
    CheckFaultTimes(scenario, fault, section);
    for (size_t i = 0; i < faults.size(); ++i) {
      // Two faults at once on one process would undo each other.
      if (faults[i].target != fault.target || !AtOnce(faults[i], fault)) continue;
      section.AddProblem("at", absl::StrCat("faults[", i, "] is still done to ", fault.target,
                                            "; one fault at a time"));
    }
    faults.push_back(std::move(fault));
  }
  if (scenario.slo.max_p99_ratio_in_faults && faults.empty()) {
    root.Section("slo").AddProblem("max_p99_ratio_in_faults",
                                   "is of faults; add the section faults");
  }
  if (!faults.empty() && !scenario.fleet) {
    root.AddProblem("faults", "need a fleet of the load test's own; add the section fleet");
  }
  return faults;
}

// ---- capacity ----

CapacitySpec ReadCapacity(ConfigReader section) {
  CapacitySpec capacity;
  capacity.lowest = section.Double("lowest", capacity.lowest, kMinRate, kMaxRate);
  capacity.highest = section.Double("highest", capacity.highest, kMinRate, kMaxRate);
  capacity.precision = section.Double("precision", capacity.precision, 0.001, 1);
  capacity.window = section.Duration("window", capacity.window, absl::Seconds(1), absl::Hours(1));
  capacity.settle =
      section.Duration("settle", capacity.settle, absl::ZeroDuration(), absl::Hours(1));
  if (capacity.lowest >= capacity.highest) {
    section.AddProblem("lowest",
                       absl::StrCat(capacity.lowest, " is not below highest, ", capacity.highest));
  }
  return capacity;
}

void CheckCapacity(const Scenario& scenario, ConfigReader root) {
  if (AsksForNothing(scenario.slo)) {
    root.AddProblem("capacity",
                    "looks for the highest rate that meets the slo, which asks for "
                    "nothing; add to the section slo");
  }
  if (!scenario.faults.empty()) {
    root.AddProblem("faults", "go with no capacity search; make two scenarios of it");
  }
  Refuse(root, "length", "beside capacity, whose window it is");
  Refuse(root, "warm_up", "beside capacity, whose settle it is");
}

}  // namespace

const char* FaultKindName(FaultKind kind) {
  return kFaultKinds[static_cast<int>(kind)];
}

absl::Duration Slo::late_after() const {
  if (latency.empty()) return max_p99_ratio_in_faults ? kLeastLateness : kLatenessUnjudged;
  absl::Duration tightest = absl::InfiniteDuration();
  for (const auto& [share, limit] : latency) tightest = std::min(tightest, limit);
  return std::max(kLeastLateness, tightest / 10);
}

absl::StatusOr<Scenario> ReadScenario(const std::string& path) {
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(path));
  ConfigReader root = file.root();
  Scenario scenario;
  scenario.name = CheckedName(root, "name", root.RequiredString("name"));
  scenario.description = root.String("description", "");
  scenario.seed = static_cast<uint64_t>(root.Int("seed", 1, 0));
  scenario.warm_up =
      root.Duration("warm_up", scenario.warm_up, absl::ZeroDuration(), absl::Hours(1));
  scenario.length = root.Duration("length", scenario.length, absl::Seconds(1), absl::Hours(2));
  ConfigReader arrivals = root.Section("arrivals");
  scenario.arrivals = ReadArrivals(arrivals, path, root.Has("capacity"));
  CheckRequestCount(scenario, arrivals);
  if (scenario.arrivals.kind == ArrivalKind::kReplay) {
    Refuse(root, "mix", "beside a replay, whose trace has the requests");
    if (!root.Has("length")) {
      root.AddProblem("length",
                      "is missing; of a trace, what lies beyond warm_up and length is "
                      "not replayed");
    }
  } else {
    scenario.mix = ReadMix(root, path);
  }
  scenario.max_outstanding = root.Int("max_outstanding", scenario.max_outstanding, 1, 1'000'000);
  scenario.connections = static_cast<int>(root.Int("connections", scenario.connections, 1, 1000));
  scenario.check_answers = root.Bool("check_answers", scenario.check_answers);
  ConfigReader slo = root.Section("slo");
  scenario.slo = ReadSlo(slo);
  CheckMeasuredRecall(scenario, slo);
  ConfigReader fleet = root.Section("fleet");
  if (root.Has("fleet")) scenario.fleet = ReadFleet(fleet, path);
  scenario.faults = ReadFaults(root, scenario);
  ConfigReader capacity = root.Section("capacity");
  if (root.Has("capacity")) {
    scenario.capacity = ReadCapacity(capacity);
    CheckCapacity(scenario, root);
  }
  RETURN_IF_ERROR(file.Finish());
  return scenario;
}

}  // namespace sightline
