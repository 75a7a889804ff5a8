"""Makes a site as large and as uneven as the published one, the same from the same seed.

`histograms` reads the statistics, `population` decides who wrote and voted what, `words` and `rows` make table rows of that, `bulk`
stores them. The command is ``lobsters_seed``.
"""
