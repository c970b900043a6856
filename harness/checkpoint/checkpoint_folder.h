// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run's checkpoint, FOLDER/checkpoint. A new checkpoint is written to a second
// file, synced to the disk and renamed over the old one, so that a complete checkpoint exists at
// any moment. A lock on the folder keeps two runs from writing to it at once.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/checkpoint/checkpoint.h"

namespace regatta::checkpoint {

class CheckpointFolder {
 public:
  /// Creates and locks the folder. Throws: RunError(Io), for example if another run holds the lock.
  explicit CheckpointFolder(const std::filesystem::path& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Replaces the checkpoint. Throws: RunError(Io) that names a remedy; the old checkpoint then
  /// remains.
  void write(const Checkpoint& checkpoint);
  /// Checks that the disk has room for a second checkpoint of the same size as the present one.
  /// Throws: RunError(Io).
  void require_room() const;
  /// Deletes the checkpoint, and the folder and its parent if they are then empty.
  void remove();

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

/// Reads the checkpoint at `path`, which is a checkpoint file or the folder of a run's checkpoint.
/// Throws: RunError(Usage), RunError(Data).
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace regatta::checkpoint
