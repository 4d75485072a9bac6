// Configuration: YAML in, checked values out, every problem reported at once.
//
//   ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(path));
//   ConfigReader root = file.root();
//   options.top_k = root.Int("top_k", /*otherwise=*/10, /*min=*/1, /*max=*/1000);
//   ConfigReader cache = root.Section("cache");
//   options.cache_bytes = cache.Bytes("size", 64 << 20, 0, int64_t{1} << 40);
//   for (ConfigReader shard : root.Sections("shards", 1)) {...}
//   RETURN_IF_ERROR(file.Finish());
//
// A getter never fails: on a problem it takes note and returns the default (for a
// Required getter the allowed value nearest zero, or an empty one).  So a program reads everything
// first, calls Finish(), and uses nothing of it unless that is OK.
//
// What is accepted is the plain part of YAML: maps with unique scalar keys, lists,
// scalars; no anchors, aliases, tags or second document; bounded in size, depth and
// number of nodes.  A configuration file is operator input, yet a wrong file must end in
// a message, never in a crash or in exhausted memory.
#ifndef SIGHTLINE_COMMON_CONFIG_CONFIG_H_
#define SIGHTLINE_COMMON_CONFIG_CONFIG_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sightline {

namespace config_internal {
struct Document;
struct Node;
}  // namespace config_internal

// Reads one map of a file.  A light handle: copy it freely; it must not outlive its
// ConfigFile.  Not thread-safe.
//
// Every getter marks its key as known.  `otherwise` is returned when the key is absent;
// it is not checked against the range.  A key that is present without a value counts as
// a problem for scalars and as empty for lists and sections.
class ConfigReader {
 public:
  bool Has(absl::string_view name) const;

  int64_t Int(absl::string_view name, int64_t otherwise,
              int64_t min = std::numeric_limits<int64_t>::min(),
              int64_t max = std::numeric_limits<int64_t>::max());
  int64_t RequiredInt(absl::string_view name, int64_t min = std::numeric_limits<int64_t>::min(),
                      int64_t max = std::numeric_limits<int64_t>::max());

  // Finite decimal numbers.
  double Double(absl::string_view name, double otherwise,
                double min = std::numeric_limits<double>::lowest(),
                double max = std::numeric_limits<double>::max());
  double RequiredDouble(absl::string_view name, double min = std::numeric_limits<double>::lowest(),
                        double max = std::numeric_limits<double>::max());

  // `true` or `false`.
  bool Bool(absl::string_view name, bool otherwise);

  // Any scalar, as written.  RequiredString refuses the empty string.
  std::string String(absl::string_view name, absl::string_view otherwise);
  std::string RequiredString(absl::string_view name);

  // A string that must be one of `allowed`.
  std::string Choice(absl::string_view name, absl::string_view otherwise,
                     const std::vector<std::string>& allowed);

  // "300ms", "2s", "1m30s": a number and a unit (ns, us, ms, s, m, h); 0 needs none.
  absl::Duration Duration(absl::string_view name, absl::Duration otherwise,
                          absl::Duration min = absl::ZeroDuration(),
                          absl::Duration max = absl::InfiniteDuration());

  // "16MiB": a whole number and a unit (B, KiB, MiB, GiB, TiB); without one, bytes.
  int64_t Bytes(absl::string_view name, int64_t otherwise, int64_t min = 0,
                int64_t max = std::numeric_limits<int64_t>::max());

  // A list of scalars with `min_count` to `max_count` entries, none empty.  Absent is
  // empty.
  std::vector<std::string> StringList(absl::string_view name, int64_t min_count = 0,
                                      int64_t max_count = 1000);

  // A map.  Absent is an empty one, whose getters return their defaults.
  ConfigReader Section(absl::string_view name);

  // A list of maps with `min_count` to `max_count` entries.  Absent is empty.
  std::vector<ConfigReader> Sections(absl::string_view name, int64_t min_count = 0,
                                     int64_t max_count = 1000);

  // A map of maps, as (key, map) in the file's order; for names that the operator
  // chooses.  Absent is empty.
  std::vector<std::pair<std::string, ConfigReader>> NamedSections(absl::string_view name,
                                                                  int64_t min_count = 0,
                                                                  int64_t max_count = 1000);

  // Takes note of a problem that the caller found with `name`, e.g. two values that
  // exclude each other.
  void AddProblem(absl::string_view name, absl::string_view problem);

  // Where this map stands in the file: "server.limits", "shards[2]"; "" for the root.
  const std::string& path() const { return path_; }

 private:
  friend class ConfigFile;

  ConfigReader(config_internal::Document* document, config_internal::Node* node, std::string path)
      : document_(document), node_(node), path_(std::move(path)) {}

  config_internal::Node* Find(absl::string_view name);
  // The scalar's text, or null after noting a problem or if it is absent.
  const std::string* Scalar(absl::string_view name, bool required);
  // The entries, or none after noting a problem or if it is absent.
  std::vector<config_internal::Node*> List(absl::string_view name, int64_t min_count,
                                           int64_t max_count);
  // A scalar that `parse` reads and that lies in the range; messages call it `wanted`, show it
  // as it was written, and the range as `format` writes it.
  template <typename T>
  T ReadRanged(absl::string_view name, bool required, T otherwise, T min, T max,
               bool (*parse)(const std::string& text, T* value), absl::string_view wanted,
               std::string (*format)(T value));
  // A reader of `node`, or of an empty map in its place if it is null or no map.
  ConfigReader Open(config_internal::Node* node, const config_internal::Node& parent,
                    std::string path);
  std::string PathOf(absl::string_view name) const;
  void Note(const config_internal::Node& at, absl::string_view path, absl::string_view problem);

  config_internal::Document* document_;
  config_internal::Node* node_;
  std::string path_;
};

// One parsed file and the problems found in it.  Movable.  Not thread-safe.
class ConfigFile {
 public:
  // A file of up to kMaxBytes, kMaxNodes nodes, kMaxDepth levels.
  static constexpr int64_t kMaxBytes = 1 << 20;
  static constexpr int kMaxNodes = 50000;
  static constexpr int kMaxDepth = 32;

  // InvalidArgument, with line and column, if `text` is not one YAML map of the accepted
  // kind; an empty text is an empty map.  `source_name` (a path) opens every message.
  static absl::StatusOr<ConfigFile> Parse(absl::string_view text, absl::string_view source_name);

  // Reads the file, then as Parse.
  static absl::StatusOr<ConfigFile> Load(absl::string_view path);

  ConfigFile(ConfigFile&&) noexcept;
  ConfigFile& operator=(ConfigFile&&) noexcept;
  ~ConfigFile();

  // Valid as long as the file; also after the file was moved.
  ConfigReader root();

  // Everything noted so far: OK, or one InvalidArgument with a line for each problem, in
  // the file's order:
  //   server.yaml:3:10: server.max_threads: 0 is out of range; allowed is 1 to 1024
  absl::Status status() const;

  // Call after everything was read: notes each key that nobody asked for, with the name
  // that was probably meant, and returns status().
  absl::Status Finish();

 private:
  explicit ConfigFile(std::unique_ptr<config_internal::Document> document);

  std::unique_ptr<config_internal::Document> document_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_CONFIG_H_
