"""Alembic environment: runs on the connection that `server.database.migrate` hands over."""

from alembic import context
from pairs_to_words.annotation.server.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
