"""The same applications really run on several processes here, beside a real background load."""
