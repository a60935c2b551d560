"""What every measurement needs: child processes that are pinned and die with their parent, a journal of finished work.

What is measured (kernels, messages, memory, applications) has a folder of its own beside this one.
"""
