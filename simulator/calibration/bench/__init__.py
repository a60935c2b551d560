"""What every measurement needs: workers that are pinned and die with their parent, a campaign, a journal, a record."""
