// SPDX-License-Identifier: Apache-2.0
//
// A language model of the size and recipe of nanoGPT's character models: a decoder of
// pre-normalised blocks (GPT-2, or Llama's with rotary positions, RMSNorm and SwiGLU), tied
// embeddings, no biases, no dropout, AdamW, gradients clipped at norm 1. Source: Radford et al.
// 2019 (GPT-2), Touvron et al., arXiv:2302.13971 (Llama), A. Karpathy, nanoGPT,
// train_shakespeare_char.py (recipe).
#pragma once

#include <array>
#include <string_view>

#include "kernels/base/option.h"
#include "workloads/workload.h"

namespace regatta::workloads {

inline constexpr Option kLayers = {
    .name = "layers",
    .help = "number of blocks of attention and feed-forward",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 1024}};

inline constexpr Option kHeads = {
    .name = "heads",
    .help = "number of heads of attention, which divides the width",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 1024}};

inline constexpr std::string_view kLlama = "llama";
inline constexpr std::array<std::string_view, 2> kBlocks = {"gpt", kLlama};
inline constexpr Option kBlock = {
    .name = "block",
    .help = "GPT-2's blocks, or Llama's with rotary positions, RMSNorm and SwiGLU",
    .unit = "",
    .type = Choice{.default_value = kBlocks[0], .words = kBlocks}};

inline constexpr std::string_view kPlainSgd = "sgd";
inline constexpr std::string_view kMuon = "muon";
inline constexpr std::array<std::string_view, 3> kOptimizers = {"adamw", kPlainSgd, kMuon};
inline constexpr Option kOptimizer = {
    .name = "optimizer",
    .help =
        "AdamW with gradients clipped at norm 1, SGD with momentum 0.9 without clipping, or Muon "
        "for the blocks' matrices and AdamW for the rest, clipped",
    .unit = "",
    .type = Choice{.default_value = kOptimizers[0], .words = kOptimizers}};

Workload gpt_tiny();
Workload gpt_thin();
Workload gpt_small();

}  // namespace regatta::workloads
