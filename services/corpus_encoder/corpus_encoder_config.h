// Configuration of corpus_encoder; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_CONFIG_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/bundle/rerankers.h"
#include "common/config/config.h"
#include "common/config/device_models.h"
#include "common/config/sections.h"
#include "common/dataset/open_corpus.h"
#include "common/models/precision/policy.h"
#include "services/corpus_encoder/corpus_encoder_job.h"

namespace sightline {

struct CorpusEncoderConfig {
  std::string model;  // id of a bundle in the store
  // Likewise, the default first; none: the model, if it has a cross-encoder.
  std::vector<NamedReranker> rerankers;
  bool verify_model = true;
  std::vector<CorpusSpec> corpora;
  ComputeConfig compute;
  PrecisionOptions precision;  // whose reports are kept in the work folder
  ModelPlaceConfig place;
  absl::Duration max_decode_time = absl::Seconds(60);  // of one picture
  CorpusEncoderOptions job;
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<CorpusEncoderConfig> ReadCorpusEncoderConfig(ConfigFile* file);

// What the command line says.
struct CorpusEncoderFlags {
  bool help = false;
  bool check = false;       // read the configuration, report its problems, and stop
  std::string config_path;  // empty when the flags are the configuration
  std::string yaml;         // the flags as a configuration file would have them
};

// `arguments` without the program's name.  InvalidArgument for what no flag is, a flag
// without its value or given twice, or --config together with settings.
absl::StatusOr<CorpusEncoderFlags> ParseCorpusEncoderFlags(
    const std::vector<std::string>& arguments);

// The text of --help.
std::string CorpusEncoderUsage();

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_CONFIG_H_
