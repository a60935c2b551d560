"""Kinds of message times: each file of the folder is one, and a file says by its own keys which kind a link is of."""

from itertools import combinations
from pathlib import Path

import pytest

from simulator.models.network import FITS, FORMS, KINDS, kinds
from simulator.models.network.kinds.kind import MessageModel
from simulator.platform.networks.link import LINK_KINDS, LineForm


def own_keys(form):
    return {name for name, field in form.model_fields.items() if field.is_required()} - set(LineForm.model_fields)


def test_every_file_of_the_folder_is_a_kind():
    found = {path.stem for path in Path(kinds.__file__).parent.glob("*.py")} - {"__init__", "kind"}
    assert {kind.model.__module__.rpartition(".")[2] for kind in KINDS} == found


def test_forms_are_tried_from_the_simplest_on():
    assert list(FITS) == ["hockney", "packetised", "piecewise", "smooth"]
    assert set(FORMS) == set(FITS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.model.__name__)
def test_a_kind_says_what_all_kinds_say(kind):
    assert issubclass(kind.model, MessageModel)
    assert kind.form.__doc__
    assert kind.model.is_fitted == bool(kind.fits)
    for name in ("time_s", "scaled", "latency_s", "bandwidth_bytes_per_s"):
        assert hasattr(kind.model, name) or name in kind.model.__dataclass_fields__


def test_no_two_kinds_of_links_have_a_key_in_common():
    assert len(LINK_KINDS) == len(KINDS) + 2
    assert all(not own_keys(one) & own_keys(other) for one, other in combinations(LINK_KINDS, 2))
