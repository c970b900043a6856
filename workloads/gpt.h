// SPDX-License-Identifier: Apache-2.0
//
// A language model of the size and recipe of nanoGPT's character models: a decoder of
// pre-normalised blocks (GPT-2, or Llama's with rotary positions, RMSNorm and SwiGLU), tied
// embeddings, no biases, no dropout, AdamW, gradients clipped at norm 1. Source: Radford et al.
// 2019 (GPT-2), Touvron et al., arXiv:2302.13971 (Llama), A. Karpathy, nanoGPT,
// train_shakespeare_char.py (recipe).
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace regatta::workloads {

struct GptSize {
  enum class Block : std::uint8_t { Gpt, Llama };
  enum class Updates : std::uint8_t {
    AdamW,
    Sgd  ///< with momentum 0.9, without clipping
  };
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t context = 64;      ///< tokens of a sequence
  std::int64_t vocabulary = 256;  ///< a token is a byte
  Block block = Block::Gpt;
  Updates updates = Updates::AdamW;
  double peak_rate = 3e-3;
};

Workload gpt_thin();
/// Return the workload's training step and evaluation step with a model of this size. Throw:
/// RunError(Usage) if the heads do not divide the width.
Step gpt_training(const Recipe& recipe, const GptSize& size);
Step gpt_evaluation(const Recipe& recipe, const GptSize& size);

}  // namespace regatta::workloads
