// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one race: the checkpoint from which it continues (--resume) and those that it
// writes (--checkpoint-every) to OUT/checkpoints/RUN_ID. The last checkpoint is kept until the run
// has finished. RUN_ID is the id of the original run, however often it was resumed.
// Threads: used from one thread.
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

namespace regatta::checkpoint {

/// The progress of a run: examples trained on, and its two clocks.
struct RunPosition {
  std::int64_t examples = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
};

class Checkpoints {
 public:
  /// Reads the checkpoint given by --resume. Throws: RunError(Usage), RunError(Data).
  explicit Checkpoints(const plan::RaceRequest& request);

  /// True if the run writes checkpoints or continues from one.
  bool wanted() const { return request_.checkpoint_every || former_; }
  /// The position at which the run starts: that of the checkpoint given by --resume, or zero.
  RunPosition begin() const;
  std::optional<record::Resumed> resumed() const;
  /// Checks that the checkpoint belongs to the requested run. Throws: RunError(Usage) with both
  /// values if the fingerprints differ.
  void identify(plan::Fingerprint asked_for, const record::Record& record);
  /// Sets the trainer to the state of the checkpoint and copies its results to the record.
  /// Throws: RunError(Data) if the checkpoint has other variables than the run.
  void restore(run::Trainer& trainer, record::Record& record);

  /// Returns the number of examples trained on, greater than `examples`, at which the next
  /// checkpoint is due.
  std::int64_t next_after(std::int64_t examples, std::int64_t global_batch) const;
  void write(const RunPosition& position, run::Trainer& trainer, record::Record& record);
  /// Writes the first checkpoint before the clocks start, so that the run fails early if
  /// checkpoints cannot be written. Throws: RunError(Io).
  void write_first(run::Trainer& trainer, record::Record& record);

  /// Returns the measurements of the whole run: those before the checkpoint, joined with `later`,
  /// those after it.
  run::TrainingReport whole(run::TrainingReport later) const;
  /// Instructions to resume after a failure, as the end of a sentence; empty without a checkpoint.
  std::string advice() const;
  /// Deletes the checkpoints of a run that has finished.
  void remove();

 private:
  plan::RaceRequest request_;
  std::optional<Checkpoint> former_;
  plan::Fingerprint fingerprint_;
  std::string run_id_;
  std::string command_;
  std::string path_;  ///< the path to give to --resume; empty: there is no checkpoint yet
  std::unique_ptr<CheckpointFolder> folder_;
  std::unique_ptr<system::InterruptMessage> message_;
};

}  // namespace regatta::checkpoint
