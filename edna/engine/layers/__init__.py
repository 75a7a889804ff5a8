"""Works on opened records: disguises lie on top of each other, and what one knows of a row may stand in another's bag. Restores nothing."""
