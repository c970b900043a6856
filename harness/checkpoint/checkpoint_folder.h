// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run's checkpoint, FOLDER/checkpoint. A new checkpoint is written to a second
// file, synced to the disk and renamed over the old one, so that a complete one exists at any
// moment. A lock on the folder keeps two runs from writing to it at once.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/checkpoint/checkpoint.h"

namespace regatta {

class CheckpointFolder {
 public:
  /// Creates and locks the folder. Throws: RunError(Io), also if another run has the lock.
  explicit CheckpointFolder(const std::filesystem::path& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Replaces the checkpoint. Throws: RunError(Io) that names a remedy; the old one then remains.
  void write(const Checkpoint& checkpoint);
  /// Checks that a second checkpoint of the present one's size fits on the disk.
  /// Throws: RunError(Io).
  void require_room() const;
  /// Deletes the checkpoint, and the folder and its parent if they are then empty.
  void remove();

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

/// Reads the checkpoint at `path`: a file, or the folder of a run's checkpoint.
/// Throws: RunError(Usage), RunError(Data).
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace regatta
