"""Load on the sample sites: people who use them as ever, while others disguise their data and reveal it again.

The users (`websubmit`, `lobsters`, `hotcrp`) talk HTTP only, through the pages that a browser would use. `python -m loadtest
SCENARIO` (`make load SCENARIO=...`) starts everything they need, and measures; `locust -f loadtest/locustfile.py` lets one play.
"""
