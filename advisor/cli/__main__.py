"""`python -m advisor.cli` is `apportion`."""

from advisor.cli import main

main()
