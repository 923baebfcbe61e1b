"""What a fitted model says, as data and as a page."""
