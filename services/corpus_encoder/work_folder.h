// What a work folder keeps and what may go.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "services/corpus_encoder/work_lock.h"

namespace sightline {

// Removes the files by which workers keep in touch, whole or half written, that are not
// `wanted` and that were there before this job began.  While another process is at work
// nothing goes: it may wait for any of them.
void RemoveStaleFiles(absl::string_view work_directory, const std::set<std::string>& wanted,
                      WorkLock& lock);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_
