"""Tags of this application's templates."""
