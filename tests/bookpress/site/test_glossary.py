"""Words of the glossary in a page's prose: the first mention leads to its meaning, names and code stay as they are."""

from docutils import nodes
from docutils.core import publish_doctree

from bookpress.site.glossary import _is_prose, _linked

TERMS = {
    "linear attention": ("term-linear-attention", "Attention without the softmax."),
    "softmax": ("term-softmax", "A map."),
}


class _Builder:
    def get_relative_uri(self, here: str, there: str) -> str:
        return f"../{there}.html"


class _Environment:
    docname = "papers/demo"

    class app:
        builder = _Builder()


def linked(words: str) -> str:
    missing = dict(TERMS)
    parts = list(_linked(nodes.Text(words), missing, _Environment()))  # type: ignore[arg-type]
    return "".join(
        f"[{one.astext()}]({one['refuri']})" if isinstance(one, nodes.reference) else one.astext() for one in parts
    )


def test_the_first_mention_of_each_term_is_a_link() -> None:
    to = "../glossary.html#term-"
    assert linked("Linear attention has no softmax; the softmax is left out.") == (
        f"[Linear attention]({to}linear-attention) has no [softmax]({to}softmax); the softmax is left out."
    )


def test_parts_of_words_are_no_mention() -> None:
    assert linked("softmaxes, a non-softmax and softmax-like things") == ""


def test_only_prose_is_read() -> None:
    document = publish_doctree("softmax\n=======\n\nA softmax, a ``softmax``, and a `softmax <there>`__.\n")
    texts = [one.parent.tagname for one in document.findall(nodes.Text) if "softmax" in one and _is_prose(one)]
    assert texts == ["paragraph"]
