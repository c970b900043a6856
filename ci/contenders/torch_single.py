# SPDX-License-Identifier: Apache-2.0
"""single by PyTorch: one worker, no exchange.

    ci/contenders/environment.py ci/contenders/torch_single.py [--compile]
"""

import common

worker = common.start()

import torch_training

if __name__ == "__main__":
    options = common.options(__doc__, ["single"])
    common.race(torch_training.Training(common.Work(worker, options.plant), options))
