// SPDX-License-Identifier: Apache-2.0
//
// Sets up the tile registers of a thread. Use it only in code that is compiled for AMX (a region of
// `#pragma GCC target`) and runs only if has_amx_bf16(). Tile loads are inline assembly, so the
// compiler does not know that they read memory: put a signal fence between plain writes and such
// loads.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace regatta::cpu {

#pragma GCC push_options
#pragma GCC target("amx-tile")
#pragma clang attribute push(__attribute__((target("amx-tile"))), apply_to = function)

/// Configures all eight tiles at full size while this object exists. oneDNN sets its own tile
/// configuration before each use, so this one does not disturb it.
class Tiles {
 public:
  Tiles() {
    // Constant, because g++ 12 takes the instruction for a read of the first 8 bytes only and would
    // omit stores to the rest.
    static constexpr Configuration kWhole{};
    _tile_loadconfig(&kWhole);
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { _tile_release(); }

 private:
  struct alignas(64) Configuration {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
};

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace regatta::cpu
