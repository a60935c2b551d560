"""The module `apportion`: what programs of users import. Its source lies here; the build maps it to the top level."""
