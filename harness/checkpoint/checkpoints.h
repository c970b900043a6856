// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one race: the one that it goes on from (--resume), and those that it leaves
// (--checkpoint-every) in OUT/checkpoints/RUN_ID, of which the last is kept until the run has
// finished. RUN_ID is that of the run that began, however often it was resumed.
// Threads: one thread calls it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/checkpoint/checkpoint.h"
#include "harness/checkpoint/checkpoint_folder.h"
#include "harness/plan/race_request.h"
#include "harness/run/trainer.h"
#include "harness/system/interrupt_message.h"

namespace regatta {

/// Where a run is.
struct RunPosition {
  std::int64_t examples = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
};

class Checkpoints {
 public:
  /// Reads what --resume names. Throws: RunError.
  explicit Checkpoints(const RaceRequest& request);

  bool wanted() const { return request_.checkpoint_every || former_; }
  /// Where the run begins: at zero, unless it goes on from a checkpoint.
  RunPosition begin() const;
  std::optional<Resumed> resumed() const;
  /// Sees that the checkpoint is of what was asked for. Throws: RunError(Usage) with both sides.
  void identify(Fingerprint asked_for, const Record& record);
  /// Puts the trainer where the checkpoint was taken, and its results into the record.
  void restore(Trainer& trainer, Record& record);

  /// The first count of examples after this one at which one is written.
  std::int64_t next_after(std::int64_t examples, std::int64_t global_batch) const;
  void write(const RunPosition& position, Trainer& trainer, Record& record);
  /// The first, before the clocks start: that one can be written.
  void write_first(Trainer& trainer, Record& record);

  /// All that was measured, before the checkpoint, too.
  TrainingReport whole(TrainingReport later) const;
  /// How to go on after a failure, as the end of a sentence; empty where there is no checkpoint.
  std::string advice() const;
  /// The run has finished: they are of no more use.
  void remove();

 private:
  RaceRequest request_;
  std::optional<Checkpoint> former_;
  Fingerprint fingerprint_;
  std::string run_id_;
  std::string command_;
  std::string path_;  ///< what --resume would be given; empty: none is there yet
  std::unique_ptr<CheckpointFolder> folder_;
  std::unique_ptr<InterruptMessage> message_;
};

}  // namespace regatta
