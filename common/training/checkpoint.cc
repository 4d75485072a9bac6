#include "common/training/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/formats/safetensors.h"
#include "common/models/network/weights.h"

namespace sightline {
namespace {

constexpr absl::string_view kPrefix = "checkpoint-";
constexpr absl::string_view kSuffix = ".safetensors";
constexpr absl::string_view kDamagedSuffix = ".damaged";
constexpr char kChecksum[] = "checksum";
constexpr size_t kKept = 2;

// SHA-256 over all that a checkpoint says, each piece behind its length.
std::string ChecksumOf(const std::map<std::string, std::string>& facts,
                       const std::map<std::string, TensorView>& tensors) {
  Sha256 sha;
  const auto add = [&](absl::string_view bytes) {
    sha.Update(absl::StrCat(bytes.size(), ":"));
    sha.Update(bytes);
  };
  for (const auto& [name, value] : facts) {
    if (name == kChecksum) continue;
    add(name);
    add(value);
  }
  for (const auto& [name, view] : tensors) {
    add(name);
    add(absl::StrCat(static_cast<int>(view.dtype), " ", absl::StrJoin(view.shape, ",")));
    add(view.bytes);
  }
  return sha.Hex();
}

// Of a checkpoint folder: file names of checkpoints, newest first.  NotFound if there is no
// such folder.
absl::StatusOr<std::vector<std::string>> CheckpointsIn(absl::string_view directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) {
                               return !absl::StartsWith(name, kPrefix) ||
                                      !absl::EndsWith(name, kSuffix);
                             }),
              names.end());
  // Numbers have leading zeros, so names sort as their steps do.
  std::sort(names.rbegin(), names.rend());
  return names;
}

absl::Status Remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError("remove", path, errno);
}

absl::Status RemoveCutOffWrites(absl::string_view directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, kPrefix) && absl::EndsWith(name, ".tmp")) {
      RETURN_IF_ERROR(Remove(JoinPath(directory, name)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingCheckpoint> ReadCheckpoint(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file, Safetensors::Open(path));
  TrainingCheckpoint checkpoint;
  checkpoint.facts = file->metadata();
  const std::string expected = checkpoint.facts[kChecksum];
  if (ChecksumOf(checkpoint.facts, file->tensors()) != expected) {
    return absl::DataLossError(absl::StrCat(path, ": the content does not have its checksum"));
  }
  checkpoint.facts.erase(kChecksum);
  for (const auto& [name, view] : file->tensors()) {
    ASSIGN_OR_RETURN(checkpoint.tensors[name], ToTorch(view));
  }
  return checkpoint;
}

// Out of the way of sound ones, and there for whoever wants to know what happened.
absl::StatusOr<std::string> PutAside(const std::string& path) {
  const std::string aside = absl::StrCat(path, kDamagedSuffix);
  if (::rename(path.c_str(), aside.c_str()) == 0) return aside;
  return FileError("rename", path, errno);
}

std::map<std::string, std::string> ParseLines(absl::string_view text) {
  std::map<std::string, std::string> values;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    values[std::string(parts.first)] = std::string(parts.second);
  }
  return values;
}

}  // namespace

absl::StatusOr<WrittenCheckpoint> WriteCheckpoint(absl::string_view directory, int64_t step,
                                                  const TrainingCheckpoint& checkpoint) {
  std::map<std::string, at::Tensor> stored;
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const at::Tensor value = tensor.detach().to(at::kCPU).contiguous();
    TensorView view;
    view.dtype = value.scalar_type() == at::kLong ? TensorDtype::kI64 : TensorDtype::kF32;
    view.shape = value.sizes().vec();
    view.bytes = absl::string_view(static_cast<const char*>(value.data_ptr()), value.nbytes());
    views.emplace(name, view);
    stored.emplace(name, value);
  }
  std::map<std::string, std::string> facts = checkpoint.facts;
  facts[kChecksum] = ChecksumOf(facts, views);
  const std::string bytes = SerializeSafetensors(views, facts);

  RETURN_IF_ERROR(MakeDirectories(directory));
  WrittenCheckpoint written;
  const std::string own = absl::StrFormat("%s%09d%s", kPrefix, step, kSuffix);
  written.path = JoinPath(directory, own);
  written.byte_count = static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(WriteFileAtomically(written.path, bytes));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, CheckpointsIn(directory));
  for (size_t i = kKept; i < names.size(); ++i) {
    // Whatever lies there with higher numbers.
    if (names[i] != own) RETURN_IF_ERROR(Remove(JoinPath(directory, names[i])));
  }
  return written;
}

absl::StatusOr<TrainingCheckpoint> ReadNewestCheckpoint(absl::string_view directory,
                                                        std::vector<std::string>* damaged) {
  const absl::Status none =
      absl::NotFoundError(absl::StrCat(directory, " holds no sound checkpoint"));
  const absl::StatusOr<std::vector<std::string>> names = CheckpointsIn(directory);
  if (absl::IsNotFound(names.status())) return none;
  RETURN_IF_ERROR(names.status());
  RETURN_IF_ERROR(RemoveCutOffWrites(directory));
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    auto checkpoint = ReadCheckpoint(path);
    if (checkpoint.ok()) return checkpoint;
    if (absl::IsNotFound(checkpoint.status())) {
      // Not "none": a run would begin anew.
      return absl::AbortedError(
          absl::StrCat(checkpoint.status().message(),
                       ", though the folder lists it; is another run at work there?"));
    }
    if (!absl::IsDataLoss(checkpoint.status())) return checkpoint;
    ASSIGN_OR_RETURN(const std::string aside, PutAside(path));
    damaged->push_back(absl::StrCat(checkpoint.status().message(), "; it is now ", aside));
  }
  return none;
}

absl::Status CopyTensors(const std::map<std::string, at::Tensor>& loaded,
                         const std::map<std::string, at::Tensor>& targets) {
  for (const auto& [name, target] : targets) {
    const auto it = loaded.find(name);
    if (it == loaded.end() || it->second.sizes() != target.sizes()) {
      return absl::DataLossError(
          absl::StrCat("the checkpoint has no tensor ", name, " of the model's shape"));
    }
  }
  at::NoGradGuard no_grad;
  for (const auto& [name, target] : targets) at::Tensor(target).copy_(loaded.at(name));
  return absl::OkStatus();
}

std::string LineDifferences(absl::string_view then, absl::string_view now) {
  std::map<std::string, std::string> before = ParseLines(then), after = ParseLines(now);
  std::vector<std::string> differences;
  for (const auto& [name, value] : before) {
    const auto it = after.find(name);
    const std::string current = it == after.end() ? "nothing" : it->second;
    if (current != value) {
      differences.push_back(absl::StrCat(name, ": ", value, " then, ", current, " now"));
    }
  }
  for (const auto& [name, value] : after) {
    if (before.count(name) == 0) {
      differences.push_back(absl::StrCat(name, ": nothing then, ", value, " now"));
    }
  }
  return absl::StrJoin(differences, "; ");
}

}  // namespace sightline
