"""Software execution graphs, what counts operations in source, intermediate and machine code, and what costs them."""
