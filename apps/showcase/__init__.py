"""What the sample applications share: the page that leads to them, and the guided tour of `manage.py demo`."""
