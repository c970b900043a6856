# SPDX-License-Identifier: Apache-2.0
"""Provides `plt`, Matplotlib with its own defaults and no display, for all code that draws. The
user's matplotlibrc and MPLBACKEND change no figure."""

import os

os.environ.pop("MPLBACKEND", None)

import matplotlib

matplotlib.use("Agg")
matplotlib.rcdefaults()
import matplotlib.pyplot as plt

__all__ = ["plt"]
