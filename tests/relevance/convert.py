"""Writes the weights that PyPI `wordllama` ships as a model that the gateway reads: convert.py FOLDER."""
import os, pathlib, shutil, sys

import wordllama


def main(folder):
    package = pathlib.Path(wordllama.__file__).parent
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(package / "weights/l2_supercat_256.safetensors", f"{folder}/model.safetensors")
    shutil.copyfile(package / "tokenizers/l2_supercat_tokenizer_config.json", f"{folder}/tokenizer.json")


main(*sys.argv[1:])
