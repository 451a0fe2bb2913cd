from attention_theory.data.library_sources import LIBRARY_SHA256, ascii_documents, library_sources, text_hash


def test_the_sources_are_text_in_one_order_and_hashed() -> None:
    documents = library_sources()
    assert sum(map(len, documents)) > 5_000_000
    assert any("def loads(" in document for document in documents)
    assert not any("import unittest\nfrom test import support" in document for document in documents)
    assert text_hash(documents) == text_hash(library_sources())
    assert len(LIBRARY_SHA256) == 64


def test_folders_are_left_out_by_name() -> None:
    fewer = library_sources(leave_out=["encodings"])
    assert 0 < len(fewer) < len(library_sources())


def test_a_hash_is_of_the_text_and_not_of_its_parts() -> None:
    assert text_hash(["ab", "c"]) == text_hash(["a", "bc"]) != text_hash(["ab", "d"])


def test_every_tenth_document_is_kept_for_validation() -> None:
    train, validation = ascii_documents([f"{number}" for number in range(20)])
    assert bytes(validation) == b"9\x0019\x00"
    assert bytes(train).count(b"\x00") == 18


def test_other_characters_are_question_marks() -> None:
    train, validation = ascii_documents(["é∑a", "b"], validation_every=2)
    assert (bytes(train), bytes(validation)) == (b"??a\x00", b"b\x00")
