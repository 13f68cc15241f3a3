"""The questions, one a file, each pure on a cut; :mod:`.answers` holds what they return."""
