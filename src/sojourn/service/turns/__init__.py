"""What handlers have the hub do, in its turn.

acts           each as a function that the hub calls
gather         what many ask for at the same time, carried out as one
waits_by_rule  counts of them, kept up as waits open and end
"""
