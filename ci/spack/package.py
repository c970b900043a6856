# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe. In a checkout: `spack repo create own`, copy this file to packages/regatta/
there, `spack repo add` it, and `spack dev-build --source-path . regatta@main`."""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import conflicts, depends_on, license, variant, version


class Regatta(CMakePackage):
    """Regatta races parallel training strategies: the same model, data, initial weights and target
    accuracy; only the strategy differs."""

    license("Apache-2.0")
    version("main", branch="main")

    variant("cuda", default=False, description="Compile kernels for NVIDIA GPUs")

    generator("ninja")
    conflicts("%gcc@:11", msg="C++20 as of g++ 12 is needed")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cuda", type="build", when="+cuda")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("grpc@1.51:")
    depends_on("protobuf@3.21:")
    depends_on("abseil-cpp")
    depends_on("openssl@3:")
    depends_on("zlib-api")
    depends_on("hwloc@2.9:")
    depends_on("cli11@2.1:", type="build")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("tomlplusplus@3.3:", type="build")
    depends_on("googletest@1.12: +gmock", type="build")
    depends_on("benchmark@1.7:", type="build")
    # The program loads the MPI whose mpirun is first in PATH when it runs, and links none.
    depends_on("mpi", type=("build", "run"))
    depends_on("python@3.10:", type="run")
    depends_on("py-matplotlib", type="run")
    depends_on("py-numpy", type="run")
    depends_on("py-jinja2", type="run")

    build_targets = ["regatta"]

    def cmake_args(self):
        return [
            self.define("REGATTA_ARCH", "any"),
            self.define("REGATTA_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]
