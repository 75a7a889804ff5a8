"""This checkout and an earlier commit in turns: equal data, one kind of database, one operation of one person after the other."""
