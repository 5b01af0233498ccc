"""Alembic migrations of the crowd server's own database."""
