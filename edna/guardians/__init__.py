"""Guardians, as a site and as those who run them use them: ``INSTALLED_APPS += ["edna.guardians"]``.

What they compute is in `edna.custody.guardians`.
"""
