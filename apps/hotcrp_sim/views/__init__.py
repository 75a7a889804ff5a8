"""The pages: for everybody, papers and reviews, the committee's, the chairs', one's account, what is disguised."""
