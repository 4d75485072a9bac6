// `add-model`: a model bundle from anywhere into a store.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_MODEL_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_MODEL_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/config/command.h"

namespace sightline {

int RunAddModel(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kAddModelCommand = {
    "add-model", "sightlinectl add-model FOLDER [--store DIR] [--object-store URL]",
    "copies a model bundle into a store, verified, and prints its id", RunAddModel};

// Copies the bundle in `folder`, whatever that folder is called, to
// `<store>/models/<id>/`: manifest.json and the files that it lists, nothing else.  They
// appear whole and verified, or not at all.  A bundle that the store holds already is
// verified there and returned.
//
// NotFound: `folder` is not there, or holds no manifest.json.  DataLoss: the manifest is
// malformed or not what a folder named by a hash promises, or a file is missing or not
// what the manifest says; also when the store's own copy is damaged.  FailedPrecondition: a newer
// format, or `folder` is no folder.
absl::StatusOr<ModelBundle> AddModel(const std::string& folder, const std::string& store);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_MODEL_COMMAND_H_
