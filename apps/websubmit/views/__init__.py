"""The pages: for everybody, for members, for members' accounts, for staff."""
