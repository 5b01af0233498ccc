"""The state of a project: what changes and what costs money. All SQL of the requester side."""
