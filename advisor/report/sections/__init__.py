"""The sections that pages are made of: one file each, `section(document) -> Section`; see `advisor.report.page`."""
