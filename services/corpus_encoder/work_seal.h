// Seals: a worker's word that all of its scans, or of its rows, are there.
//
// Others believe a seal and look at the pieces when they use them.  Whoever finds then that
// it does not hold, since a piece is damaged, gone or wrong, removes it and ends with an error
// that says who makes the piece anew.  Whoever finds a seal gone that was there begins again:
// its worker, if that is at work, by making its rows, the others by waiting.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SEAL_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SEAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Makes the folder where it is missing.
absl::Status WriteSeal(const std::string& seal, absl::string_view content);

// Does nothing if it is not there.
void RemoveSeal(const std::string& seal);

// What to return for `found`, which came of reading a piece that the seal of `worker` vouches
// for.  If the piece is damaged, gone or lies where the disk cannot be read, the seal is removed:
// DataLoss, naming the worker.  Should only this machine be unable to read it, its worker finds it
// whole and seals it again.  Anything else says nothing of the piece, and is returned as it is.
absl::Status BreakSeal(const std::string& seal, int worker, const absl::Status& found);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_SEAL_H_
