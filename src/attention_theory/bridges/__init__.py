"""Results that none of the papers has: their constructions side by side, and what one of them says about another.

This room alone imports the papers' rooms; none of them imports it.
"""
