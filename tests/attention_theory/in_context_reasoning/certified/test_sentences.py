import pytest
import torch

from attention_theory.in_context_reasoning.certified import codes, enumeration, sentences
from attention_theory.in_context_reasoning.embedding import Embedding
from attention_theory.in_context_reasoning.model import Weights
from attention_theory.in_context_reasoning.task import Task

PLAIN, NOISY = Task(5, 2, 2, 5), Task(5, 1, 2, 5, noisy=True)
CERTIFY = {
    "Remark 2.3": lambda: codes.certify_width(2),
    "Lemma A.1": lambda: sentences.certify_scores(PLAIN),
    "Lemma 3.1": lambda: sentences.certify_logits(PLAIN),
    "Theorem 3.3": lambda: sentences.certify_unseen(PLAIN),
    "Lemma 4.1": lambda: sentences.certify_noisy_logits(NOISY),
    "Appendix A.1": lambda: sentences.certify_signs(NOISY),
    "Definition 2.1": lambda: sentences.certify_reading(PLAIN),
    "Definition 2.1, noisy": lambda: sentences.certify_reading(NOISY),
}


@pytest.mark.parametrize("place", CERTIFY)
def test_a_statement_holds_for_every_sentence(place: str) -> None:
    certificate = CERTIFY[place]()
    assert certificate.settled, certificate


@pytest.mark.parametrize(
    ("place", "matrix", "row", "column"),
    [
        ("Lemma A.1", "query_key", 0, 5),
        ("Lemma A.1", "query_key", 1, 6),
        ("Lemma A.1", "query_key", 7, 2),
        ("Lemma 3.1", "query_key", 1, 6),
        ("Lemma 3.1", "value", 2, 2),
        ("Theorem 3.3", "value", 4, 4),
        ("Theorem 3.3", "value", 3, 6),
        ("Lemma 4.1", "query_key", 0, 5),
        ("Lemma 4.1", "query_key", 0, 4),
        ("Lemma 4.1", "feed_forward", 4, 0),
        ("Lemma 4.1", "feed_forward", 4, 5),
        ("Lemma 4.1", "value", 1, 1),
        ("Appendix A.1", "query_key", 0, 2),
    ],
)
def test_the_last_bit_of_a_weight_is_noticed(
    place: str, matrix: str, row: int, column: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights by their codes: words, then previous words.

    Left out are the rows of V and F that write codes of previous words, which no logit reads. For the sign of scores
    only weights that are 0 count; the others have room.
    """
    build = enumeration.reparameterised

    def moved(task: Task, codes: Embedding, scales: torch.Tensor, gamma: float = 0.0) -> Weights:
        weights = build(task, codes, scales, gamma)
        entries = getattr(weights, matrix)
        if len(entries) < 2 * task.tokens:  # the codes of a control
            return weights
        entries[row, column] = torch.nextafter(entries[row, column], torch.tensor(-9.0, dtype=torch.float64))
        return weights

    monkeypatch.setattr(enumeration, "reparameterised", moved)
    assert CERTIFY[place]().outcome != "proved"
