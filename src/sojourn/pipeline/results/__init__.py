"""What is made of outcomes: counts, histograms, what-ifs, groups, comparisons, explanations."""
