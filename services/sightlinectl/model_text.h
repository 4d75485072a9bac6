// What a model's manifest says, for people.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_TEXT_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// A name and a text for each part that the manifest has, the family first; files are left
// out.  Texts from the manifest are as they are: print them through a Table.
std::vector<std::pair<std::string, std::string>> ModelLines(
    const bundle::v1::ModelBundleManifest& manifest);

// "256 numbers, cosine, space 73734c...".
std::string EmbeddingText(const bundle::v1::EmbeddingSpec& embedding);

// Lines as an aligned table, indented by two.
std::string AlignedLines(const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_MODEL_TEXT_H_
