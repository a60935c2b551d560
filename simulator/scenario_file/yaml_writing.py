"""Plain data as YAML text."""

from collections.abc import Mapping
from typing import Any

import yaml


def yaml_text(document: Mapping[str, Any]) -> str:
    """Plain data as YAML, in the order given, short lists on one line."""
    return str(yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120))


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is shared is written where it stands."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's own protocol
        return True
