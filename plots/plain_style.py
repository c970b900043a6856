# SPDX-License-Identifier: Apache-2.0
"""Matplotlib with defaults of its own, without a display: no matplotlibrc and no MPLBACKEND of the
user changes a figure. What draws takes `plt` from here."""

import os

os.environ.pop("MPLBACKEND", None)

import matplotlib

matplotlib.use("Agg")
matplotlib.rcdefaults()
import matplotlib.pyplot as plt

__all__ = ["plt"]
