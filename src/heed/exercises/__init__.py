"""What each chapter asks, what counts as right, and what to say to a usual mistake."""
