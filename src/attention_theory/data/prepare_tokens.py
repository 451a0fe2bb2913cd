"""Turn a folder of text files into token files for the language models of Tables 1 and 2.

``python -m attention_theory.data.prepare_tokens DOCUMENTS OUT --encoding gpt2``

DOCUMENTS is a folder, searched to any depth for ``*.txt``, one document a file, as the OpenWebText archives unpack; OUT
becomes the folder that the notebooks take as ``tokens_folder``. ``gpt2`` needs the optional package ``tiktoken``;
``bytes`` needs nothing. OpenWebText has about 8 million documents and 9 billion GPT-2 tokens: 18 GB of shards.
"""

import argparse
from pathlib import Path

from attention_theory.data.token_files import gpt2_encoding, open_tokens, write_tokens


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write the token files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, help="folder of .txt files, one document each")
    parser.add_argument("out", type=Path, help="folder for the token files")
    parser.add_argument("--encoding", choices=["gpt2", "bytes"], default="gpt2")
    parser.add_argument("--validation-every", type=int, default=2000, help="every so many documents one for validation")
    chosen = parser.parse_args(arguments)
    encode, vocabulary = gpt2_encoding() if chosen.encoding == "gpt2" else (lambda text: [*text.encode(), 0], 256)
    files = sorted(chosen.documents.rglob("*.txt"))
    if not files:
        parser.error(f"no .txt files in {chosen.documents}")
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    write_tokens(texts, chosen.out, encode, vocabulary, chosen.validation_every)
    train, validation = open_tokens(chosen.out)
    print(f"{len(files)} documents, {len(train)} training tokens, {len(validation)} validation tokens in {chosen.out}")


if __name__ == "__main__":
    main()
