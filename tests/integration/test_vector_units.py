"""What was tested with all vector units of this processor holds with AVX2 alone as well."""

import platform
import sys

import pytest
import torch

from tests.commands import run

AVX2 = dict.fromkeys(["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"], "AVX2")
AVX2 |= {"FBGEMM_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
TESTS = ["tests/unit/layers/test_linear.py", "tests/parity/test_fairseq_levt.py"]
UNITS = "import torch; print(torch.backends.cpu.get_cpu_capability())"


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="AVX2 is of x86")
def test_products_and_parity_with_avx2_alone() -> None:
    if torch.backends.cpu.get_cpu_capability() == "AVX2":
        pytest.skip("this processor has nothing above AVX2: the same tests ran with it alone")
    if run(sys.executable, "-c", UNITS, **AVX2).out.strip() != "AVX2":
        pytest.skip("this processor has no AVX2")
    done = run(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS, timeout=900, **AVX2)
    assert done.code == 0, done.both[-3000:]
    assert " passed" in done.out
