// What goes into a conversion, and what comes out of it.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_CONVERSION_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_CONVERSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "common/bundle/model_bundle.h"
#include "common/models/convert/checkpoint.h"

namespace sightline {

struct ConvertOptions {
  // A file or folder, see Checkpoint::Open.
  std::string checkpoint;
  // The tokenizer's file: vocab.txt, SentencePiece model, or SGRAF's JSON of words.
  std::string vocabulary;
  // config.json; empty: the one beside the checkpoint, if there is one.
  std::string config;

  // What the tensors cannot tell.  Left alone, each takes what config.json or
  // training_args.bin says, and then the family's usual value.

  // A family that has a conversion (families.bzl); empty: what the tensors look like.
  std::string family;
  // Of "oscar" and "m3p": "cross-encoder", "bi-encoder" or "joint".  Empty: joint if there
  // is a classifier, and just a cross-encoder if the checkpoint is one of microsoft/Oscar.
  std::string use;
  // Of "uniter": "rank_raw", "softmax_match" or "logit_match"; of "oscar" and "m3p": one of
  // the latter two.
  std::string score_kind;
  // Of "lightningdot": whether its image tower reads the text in pictures; how many wordpieces
  // of it, where the separator before them stands, of which segment all are, and whether a
  // picture without text has the separator.  Left alone 64, 1, 0 and not.
  bool scene_text = false;
  absl::optional<int64_t> scene_token_count;
  absl::optional<int64_t> scene_position;
  absl::optional<int64_t> scene_token_type;
  bool lone_separator = false;
  // Of "uniter" and "lightningdot": regions whose detector was surer than this are read, and so
  // many of the first at least; a floor of 0 reads all.  Left alone 0.2 and 10.
  absl::optional<double> confidence_floor;
  absl::optional<int64_t> min_region_count;
  absl::optional<int64_t> head_count;
  absl::optional<int64_t> max_token_count;  // of a text; "vldeformer": its fixed length
  // "oscar": most of text and tags together, 0: no tags; "vldeformer": the tags' fixed length.
  absl::optional<int64_t> tag_token_count;
  absl::optional<int64_t> tag_padding_type;  // "vldeformer": segment of padded tags
  absl::optional<int64_t> region_count;      // most regions; "vldeformer", "sgraf": all there are
  absl::optional<int64_t> cell_count;        // K of T-EMDE
  // One line for people; empty: one is made.
  std::string description;
};

struct Conversion {
  // Without files.
  bundle::v1::ModelBundleManifest manifest;
  // Under the names that the family loads.  Views into `source`.
  NamedTensors tensors;
  // Content of the tokenizer's file.
  std::string vocabulary;
  // What somebody should know or check, a sentence each.
  std::vector<std::string> warnings;
  std::shared_ptr<const Checkpoint> source;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_CONVERSION_H_
