"""The names of the profiles, by themselves: notebooks reach these, and no edit of what a profile holds re-runs them."""

LAPTOP = "laptop"
FULL = "full"

#: Tells a notebook's kernel which profile it runs under.
PROFILE_VARIABLE = "BOOK_PROFILE"
