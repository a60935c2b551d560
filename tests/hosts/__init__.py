"""Hosts in network namespaces, reached by a real ssh: what measures a cluster is put to the test on them."""
