// SPDX-License-Identifier: Apache-2.0
//
// Where a run keeps its checkpoint: FOLDER/checkpoint. A new one is written beside it, brought to
// the disk and then put in its place, so that at any moment one is there and whole. The folder is
// locked: two runs never write to it at a time.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/checkpoint/checkpoint.h"

namespace regatta {

class CheckpointFolder {
 public:
  /// Makes the folder. Throws: RunError(Io), also when another run writes to it.
  explicit CheckpointFolder(const std::filesystem::path& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Throws: RunError(Io) that says what to do; then the former one is still there.
  void write(const Checkpoint& checkpoint);
  /// Sees that there is room for one more beside the one that is there. Throws: RunError(Io).
  void require_room() const;
  /// All that is in it.
  void remove();

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

/// `path`: a file, or a folder that holds one. Throws: RunError(Usage), RunError(Data).
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace regatta
