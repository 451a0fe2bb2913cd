from pathlib import Path

import numpy as np
import pytest

from attention_theory.data.prepare_tokens import main
from attention_theory.data.token_files import open_tokens


def test_a_folder_of_texts_becomes_token_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(f"text {number}", encoding="utf-8")
    out = tmp_path / "out"
    main([str(tmp_path), str(out), "--encoding", "bytes", "--validation-every", "2"])
    assert "4 documents, 14 training tokens, 14 validation tokens" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([str(out), str(tmp_path / "other"), "--encoding", "bytes"])
    train, validation = open_tokens(out)
    assert bytes(np.concatenate(train.shards).astype(np.uint8)) == b"text 0\x00text 2\x00"
    assert bytes(np.concatenate(validation.shards).astype(np.uint8)) == b"text 1\x00text 3\x00"
