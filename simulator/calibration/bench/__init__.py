"""What every measurement needs: workers that are pinned and die with their parent, a campaign, a journal, one record.

What is measured (kernels, messages, memory, applications) has a folder of its own next to this one.
"""
