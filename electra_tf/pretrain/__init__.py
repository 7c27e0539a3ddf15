"""The method: hide, guess, draw, judge."""
