"""The answer for people: tables and a small map, made from the problem and the answer alone."""
