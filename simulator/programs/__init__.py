"""What runs: rows and columns of operations, collectives, applications, and graphs (SEG) as applications.

Nothing here knows where a process is placed or how long an operation takes; that is the engines' part.
"""
