"""Software execution graphs (SEG): what a program's steps are and how often each is done, in symbols."""
