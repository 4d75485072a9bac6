// What lies where in a job's work folder, and what may go.
//
//   FORMAT                         of this layout
//   LOCK, LOCK.*                   work_lock.h
//   <content>.base                 base_choice.h
//   tally.<worker>                 work_share.h
//   scans/<2 digits>/<hash>.scan   scan_file.h
//   units/<2 digits>/<hash>.unit   unit_file.h
//   rows/<2 digits>/<hash>.rows    row_file.h
//   seals/<hash>.<worker>.*        work_seal.h
//   shards/<hash>.*, LOCK.*        shard_work.h
//   quarantine.jsonl               of a job that has failed
//   precision/*.json               how far precisions are from float32 (common/models/precision)
//   spool.*.tmp                    temporary files, nameless but for a moment
//
// Pieces are spread over folders by the first digits of their hash, so that none of them
// holds more than a 256th.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/spool.h"
#include "services/corpus_encoder/work_lock.h"

namespace sightline {

// Of jobs that write to that index of pictures.
std::string WorkDirectory(absl::string_view store, absl::string_view images_index);

// Names only; a value.
class WorkFolder {
 public:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}

  // Makes the folder where it is missing.  FailedPrecondition if it is of a layout that this
  // program does not know.  Files of the first layout, which had no FORMAT, are not read: a
  // log line says so, and they go with other stale files.
  static absl::StatusOr<WorkFolder> Open(std::string path);

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;
  std::string ScanPath(absl::string_view hash) const { return Piece("scans", hash, ".scan"); }
  std::string UnitPath(absl::string_view hash) const { return Piece("units", hash, ".unit"); }
  std::string RowsPath(absl::string_view hash) const { return Piece("rows", hash, ".rows"); }
  std::string ScanSeal(absl::string_view hash, int worker) const;
  std::string RowsSeal(absl::string_view hash, int worker) const;
  std::string ReceiptPath(absl::string_view hash, absl::string_view shard) const;
  std::string ClaimPath(absl::string_view shard) const;

 private:
  std::string Piece(absl::string_view folder, absl::string_view hash, absl::string_view end) const;

  std::string path_;
};

// Makes the folder that `path` is to lie in.
absl::Status MakeFolderOf(absl::string_view path);

// Hashes of the pieces that stay: eight bytes each, so that a stale one may stay by chance.
class KeptPieces {
 public:
  void Add(absl::string_view hash);
  absl::Status AddAll(const Spool& hashes);
  // Before the first question.
  void Sort();
  // Whether the file of this name, without its folder, is one of them and whole.
  bool Has(absl::string_view name) const;

 private:
  std::vector<uint64_t> hashes_;
};

// Removes pieces, whole or half written, that are not kept and were there before this job
// began, and everything of the first layout.  While another process is at work nothing goes:
// it may wait for any of them.
void RemoveStaleFiles(const WorkFolder& folder, const KeptPieces& kept, WorkLock& lock);

// Removes what shards are written from, and by: rows and their seals, receipts and claims,
// as far as they were there before `time`.  For when a generation is written; likewise not
// while another process is at work.
void RemoveRows(const WorkFolder& folder, absl::Time time, WorkLock& lock);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_FOLDER_H_
