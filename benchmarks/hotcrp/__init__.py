"""HotCRP's disguises at the published scale: removing an account and anonymising the conference, each beside hand-written SQL."""
